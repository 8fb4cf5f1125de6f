/**
 * `--figure costs`: what the calibration of this machine needs and bench:micro does not measure. The
 * only figure here that takes real time: real operations and real workloads on the embedded store.
 */
import type { Measuring } from '#harness';
import type { FindingsParts, ResultTable } from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import { measureOperations, type OperationCost, type OperationsPlan } from './operations.ts';
import {
  type OwnCost,
  ownCostsOfBrokerage,
  ownCostsOfCrawl,
  type WorkloadsPlan,
} from './workloads.ts';
import { openYardstick } from './yardstick.ts';

export type MeasuredCostsPlan = OperationsPlan & WorkloadsPlan;

export async function measureCosts(
  plan: MeasuredCostsPlan,
  { progress, signal, work }: Measuring,
): Promise<FindingsParts> {
  await using cleanup = new AsyncDisposableStack();
  progress.phase('opening stores', 0);
  const yardstick = await openYardstick(work, plan.rows, cleanup);
  progress.phase('operations', plan.rounds, 'rounds');
  const operations = await measureOperations(work, plan, {
    yardstick,
    signal,
    onRound: (round) => progress.update(round),
  });
  progress.phase('the clustering of figure 7', 0);
  const crawl = await ownCostsOfCrawl(work, plan, yardstick);
  signal.throwIfAborted();
  progress.phase('the brokerage of figure 9', 0);
  const brokerage = await ownCostsOfBrokerage(work, plan, yardstick);
  return findingsOf(operations, [...crawl, ...brokerage]);
}

function findingsOf(operations: readonly OperationCost[], own: readonly OwnCost[]): FindingsParts {
  const total = own.reduce((sum, { reads }) => sum + reads, 0);
  return {
    headline: `The code of the workloads themselves takes the time of ${own.map(({ what, reads }) => `${reads.toFixed(1)} raw reads (${what})`).join(', ')}.`,
    check: {
      passed: total > 0,
      detail: 'every operation was answered with what was written, and no transaction failed',
    },
    tables: [costsTable(operations, own)],
    charts: [],
    targets: [],
  };
}

function costsTable(operations: readonly OperationCost[], own: readonly OwnCost[]): ResultTable {
  return {
    name: 'costs',
    title: 'Processor time on this machine',
    caption:
      'Lower quartiles of the rounds, on the embedded store. Raw reads are those of bench:micro, measured in between: a machine that ' +
      'is busy with something else slows both alike. Own code: what a profile of the workload shows of its own functions.',
    columns: ['of', 'in flight', 'µs', 'raw reads', 'of the main thread', 'groups of the log'],
    rows: [
      ...operations.map(({ what, inFlight, us, reads, mainReads, groups }) => [
        what,
        String(inFlight),
        rounded(us, 4),
        rounded(reads, 4),
        rounded(mainReads, 4),
        rounded(groups, 4),
      ]),
      ...own.map(({ what, reads }) => [what, '', null, rounded(reads, 4), null, null]),
    ],
  };
}
