/**
 * `npm run bench:oracle`: the timestamps per second of one oracle, each for a different caller that
 * awaits it. The paper's oracle: "around 2 million timestamps per second from a single machine"
 * (section 2.3).
 *
 * 1. One server process, as in production: it serves timestamps from memory under a lease, and its
 *    ranges are durable.
 * 2. For each number of client processes: connect, warm up, and let all callers ask, await and ask
 *    again. A client has one request in flight at a time; its callers' later requests wait for the
 *    next one (section 2.3).
 * 3. The same with few callers: the latency of a timestamp when no caller waits for others.
 *
 * Every caller checks that its timestamps increase. Latency is that of every 64th caller, from
 * request to answer.
 *
 * Exit codes: 0 at any speed; 1 if a timestamp was wrong; 2 for a mistake on the command line.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execaNode } from 'execa';
import { defaultRunFolder, recordFindings, type Run } from '#results';
import { integer, integerList, number, outputFolder, runCommand, startProgress } from '#harness';
import { ENGINE_OPTIONS } from '../../harness/engine-settings.ts';
import { parametersOf } from '../../harness/parameters.ts';
import { AIM_PER_SECOND, foundIn, PAPER_PER_SECOND, targetOf, whole } from './findings.ts';
import { type Load, measurePoint, type Point } from './measure.ts';
import type { Serving } from './messages.ts';

const SERVER = new URL('server-process.ts', import.meta.url);
const FEW_CALLERS = 100;
const LIMITATIONS = [
  'Server and clients share the cores of one machine, and the network between them is the loopback interface.',
  'Each point is measured once; there is no random choice and no seed.',
];

const specification = {
  name: 'npm run bench:oracle --',
  description:
    'Measures how many timestamps per second an oracle process serves to callers in client processes, ' +
    'and how long each caller waits.',
  options: {
    clients: integerList({
      description: 'numbers of client processes, one point each',
      default: [1, 2, 3, 4],
      min: 1,
      max: 64,
    }),
    callers: integer({
      description: 'callers of all clients together, each with one request at a time',
      default: 60_000,
      min: 1,
      max: 10_000_000,
    }),
    seconds: number({
      description: 'measured time per point',
      default: 5,
      min: 0.1,
      max: 3_600,
      unit: 'seconds',
    }),
    warmUp: number({
      description: 'warm-up before that',
      default: 2,
      min: 0.1,
      max: 3_600,
      unit: 'seconds',
    }),
    out: outputFolder({
      description: 'new folder for the record, the charts and the report',
      default: () => defaultRunFolder('oracle'),
      defaultText: 'results/runs/oracle-<UTC time>',
      isNew: true,
    }),
  },
  // This benchmark has only an oracle, no database.
  ignoredInFiles: Object.keys(ENGINE_OPTIONS),
  examples: [
    { command: 'npm run bench:oracle', does: 'one to four clients, less than a minute' },
    { command: 'npm run bench:oracle -- --clients 2 --seconds 30', does: 'two clients, longer' },
  ],
} as const;

await runCommand(specification, async (options, { signal, commandLine }) => {
  const header = {
    kicker: 'Percolator paper, section 2.3',
    title: 'Timestamps per second',
    experiment: 'oracle',
    profile: 'custom',
    commandLine,
    parameters: parametersOf(options),
    seed: 0,
    repeats: 1,
    store: {
      name: 'embedded',
      durability: 'a range of timestamps is on disk (fsync) before the oracle serves one of them',
    },
    limitations: LIMITATIONS,
  } as const;
  const points: Point[] = [];
  const { run, page } = await recordFindings(options.out, header, signal, async () => {
    points.push(...(await measureAll(loadsOf(options), signal)));
    const [few, ...others] = points.toReversed();
    if (few === undefined) throw new Error('nothing was measured');
    return foundIn(others.toReversed(), few);
  });
  process.stdout.write(`${linesOf(points, run).join('\n')}\n\nReport: ${page}\n`);
});

interface LoadOptions {
  readonly clients: readonly number[];
  readonly callers: number;
  readonly seconds: number;
  readonly warmUp: number;
}

/** The loads of all points; the one with few callers is the last. */
function loadsOf({ clients, callers, seconds, warmUp }: LoadOptions): readonly Load[] {
  const timing = { seconds, warmUpSeconds: warmUp };
  return [
    ...clients.map((count) => ({ clients: count, callers, ...timing })),
    { clients: 1, callers: FEW_CALLERS, ...timing },
  ];
}

async function measureAll(loads: readonly Load[], signal: AbortSignal): Promise<readonly Point[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-oracle-'));
  const server = execaNode(SERVER, [folder], {
    ipc: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    reject: false,
  });
  const progress = startProgress();
  try {
    const { address } = (await server.getOneMessage()) as unknown as Serving;
    progress.phase('measuring', loads.length, 'points');
    const points: Point[] = [];
    for (const load of loads) {
      points.push(await measurePoint(address, load, signal));
      progress.update(points.length);
    }
    return points;
  } finally {
    progress.end();
    server.kill();
    await server;
    await rm(folder, { recursive: true, force: true });
  }
}

function linesOf(points: readonly Point[], { record }: Run): readonly string[] {
  const { cpuModel, cores, nodeVersion } = record.environment;
  const best = Math.max(...points.map(({ perSecond }) => perSecond));
  return [
    'clients   callers          timestamps/s   of the paper   CPU of clients   latency p50        p99      p99.9',
    ...points.map(lineOf),
    'The paper: around 2 million per second from a single machine, latency not stated.',
    'Latency is that of every 64th caller. Server and clients share the machine.',
    `machine: ${cpuModel}, ${cores} cores, Node ${nodeVersion}`,
    targetOf(points).met
      ? `Met: at least ${whole(AIM_PER_SECOND)} timestamps per second.`
      : `NOT met: ${whole(AIM_PER_SECOND)} timestamps per second; the highest rate was ${whole(best)}.`,
  ];
}

function lineOf({ load, perSecond, clientCpuNs, p50Ms, p99Ms, p999Ms }: Point): string {
  return [
    String(load.clients).padStart(7),
    whole(load.callers).padStart(10),
    whole(perSecond).padStart(22),
    `${(perSecond / PAPER_PER_SECOND).toFixed(2)} ×`.padStart(15),
    `${whole(clientCpuNs)} ns each`.padStart(17),
    `${p50Ms.toFixed(2)} ms`.padStart(14),
    `${p99Ms.toFixed(2)} ms`.padStart(11),
    `${p999Ms.toFixed(2)} ms`.padStart(11),
  ].join('');
}
