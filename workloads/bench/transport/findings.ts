/** The findings of `./run.sh bench:transport`, for the report. */
import {
  type FindingsParts,
  higherIsBetter,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { PathName } from './paths.ts';
import type { OperationCost, TransportCost } from './transport-process.ts';

export interface PathCost extends TransportCost {
  readonly path: PathName;
}

const KINDS = [
  ['conditional mutation', ({ prewrite }: PathCost): OperationCost => prewrite],
  ['read of one cell', ({ read }: PathCost): OperationCost => read],
] as const;

export function findingsOf(costs: readonly PathCost[]): FindingsParts {
  const [first] = costs;
  const ours = costs.at(-1);
  if (first === undefined || ours === undefined) throw new Error('nothing was measured');
  const ratio = first.prewrite.clientUs / ours.prewrite.clientUs;
  // An interrupted run may have one path alone.
  const compared =
    first === ours ? '' : `, and ${ratio.toFixed(1)} times as much on the path “${first.path}”`;
  return {
    headline:
      `A conditional mutation costs the client ${ours.prewrite.clientUs.toFixed(0)} µs of processor time on the path ` +
      `“${ours.path}”${compared}.`,
    // A failed operation ends the process, and then there are no numbers.
    check: { passed: true, detail: 'every operation was answered without an error' },
    tables: [tableOf(costs)],
    charts: [chartOf(costs)],
    targets: [],
  };
}

function tableOf(costs: readonly PathCost[]): ResultTable {
  return {
    name: 'paths',
    title: 'Processor time of a call',
    caption:
      'Microseconds of all threads of the process, per operation; empty where the server’s time could not be measured. Paths: promise is the official client, stub its generated stub, remote the engine’s store without TLS; remote, grpc-js is the same store over grpc-js, which it uses with TLS.',
    columns: ['path', 'operation', 'client, µs', 'server, µs', 'operations/s'],
    rows: costs.flatMap((cost) =>
      KINDS.map(([kind, of]) => {
        const { clientUs, serverUs, perSecond } = of(cost);
        const server = serverUs === null ? null : rounded(serverUs);
        return [cost.path, kind, rounded(clientUs), server, Math.round(perSecond)];
      }),
    ),
    metrics: {
      rowNames: 2,
      columns: [lowerIsBetter('client, µs', 'µs'), higherIsBetter('operations/s', 'per second')],
    },
  };
}

function chartOf(costs: readonly PathCost[]): ResultChart {
  const ticks = costs.map(({ path: label }, i) => ({ at: i + 1, label }));
  const looks = ['percolator', 'other'] as const;
  return {
    name: 'client-cpu',
    title: 'What a call costs its client',
    caption: 'Processor time of the client, per operation; less is better.',
    x: { title: 'Path', scale: 'linear', ticks },
    y: { title: 'Microseconds', scale: 'linear', ticks: [] },
    series: KINDS.map(([name, of], k) => ({
      name,
      look: looks[k] ?? 'other',
      isLine: false,
      points: costs.map((cost, i) => ({ x: i + 1, y: of(cost).clientUs, low: null, high: null })),
    })),
  };
}
