/**
 * `./run.sh bench:transport`: the client's CPU cost of a call to a Bigtable, for each path.
 *
 *     promise            the official client's own promises, over grpc-js
 *     stub               the official client's generated stub, over grpc-js
 *     remote, grpc-js    the engine's remote store over grpc-js, which it uses with TLS, and so with
 *                        Cloud Bigtable (here not encrypted)
 *     remote             the same over node:http2, which it uses without TLS
 *
 * Each path runs in a process of its own, because the official client keeps its loaded services for
 * all clients of a process, and on its own emulator, so that it finds no locks of another path.
 * Client CPU is that of the whole process, with garbage collection and threads, divided by
 * operations; server CPU is the emulator's.
 *
 * The paths `promise` and `stub` end with the client's answer; the store also checks its requests,
 * and makes a row of the answer.
 */
import { execaNode } from 'execa';
import { PercolatorError, openRemote, startEmulator } from '#engine';
import { integer, measureChecked, runExperiment, type Sizes } from '#harness';
import { counted, UsageError } from '#results';
import { describeStore } from '../../harness/stores/index.ts';
import { findingsOf, type PathCost } from './findings.ts';
import { FAMILIES, type PathName, PATHS, INSTANCE, TABLE } from './paths.ts';
import type { TransportCost, TransportTask } from './transport-process.ts';

const PROGRAM = new URL('transport-process.ts', import.meta.url);

const SIZES: Sizes<{ readonly operations: number }> = {
  smoke: { operations: 200 },
  quick: { operations: 40_000 },
  standard: { operations: 1_000_000 },
  full: { operations: 4_000_000 },
};
/** Unmeasured operations of each kind, after which all code is compiled. */
const WARM_UP_MAX = 10_000;
const KINDS = 2;
/** A guess, for the plan. */
const OPERATIONS_PER_SECOND = 4_000;

type Size = Pick<TransportTask, 'operations' | 'concurrency'>;

await runExperiment(
  {
    script: 'bench:transport',
    subject: { kicker: 'The remote store', title: 'What a call of a Bigtable costs its client' },
    description:
      'Measures the CPU time of client and server for a conditional mutation and a read on the ' +
      'official emulator, through the official client and through the remote store of the engine.',
    sizes: SIZES,
    options: {
      operations: integer({
        description: 'measured operations of each kind on each path',
        min: 100,
        max: 10_000_000,
      }),
      concurrency: integer({
        description: 'operations in flight',
        default: 64,
        min: 1,
        max: 10_000,
      }),
    },
    examples: [
      {
        command: './run.sh bench:transport --concurrency 1',
        does: 'one operation at a time',
      },
    ],
    plan: ({ operations }) => ({
      about: `${PATHS.length} paths, ${counted(operations, 'mutations')} and as many reads on each`,
      seconds:
        PATHS.length * (4 + (KINDS * (operations + warmUpOf(operations))) / OPERATIONS_PER_SECOND),
      store: describeStore('emulator'),
      limitations: [
        'Client and server share the cores of one machine, and the network between them is the loopback interface.',
        'Each path is measured once; there is no random choice and no seed.',
      ],
    }),
  },
  async (size, { keep, progress, signal }) => {
    progress.phase('measuring', PATHS.length, 'paths');
    const costs: PathCost[] = [];
    for (const path of PATHS) {
      const measure = () => costOf(path, size, signal);
      costs.push({ path, ...(await measureChecked({ keep, signal }, measure)) });
      progress.update(costs.length);
      keep(findingsOf(costs));
    }
    return findingsOf(costs);
  },
);

function warmUpOf(operations: number): number {
  return Math.min(WARM_UP_MAX, operations);
}

async function costOf(
  path: PathName,
  { operations, concurrency }: Size,
  signal: AbortSignal,
): Promise<TransportCost> {
  await using emulator = await startEmulator({ environment: process.env }).catch(explain);
  const { address, pid: serverPid } = emulator;
  {
    await using store = await openRemote({ ...INSTANCE, plainAddress: address });
    await store.createTable(TABLE, { families: FAMILIES });
  }
  const warmUp = warmUpOf(operations);
  const task: TransportTask = { operations, warmUp, concurrency, path, address, serverPid };
  const { stdout } = await execaNode(PROGRAM, [JSON.stringify(task)], {
    cancelSignal: signal,
    stderr: 'inherit',
  });
  return JSON.parse(stdout) as TransportCost;
}

function explain(error: unknown): never {
  if (!(error instanceof PercolatorError)) throw error;
  throw new UsageError(`${error.message}.`, { cause: error });
}
