/**
 * `./run.sh bench:transport`: the client's CPU cost of a call to a Bigtable, for each path.
 *
 *     promise            the official client's own promises, over grpc-js
 *     stub               the official client's generated stub, over grpc-js
 *     remote, grpc-js    the engine's remote store as with TLS, and so with Cloud Bigtable
 *     remote             the same without TLS: our own class under the official client, over http2
 *
 * Each path runs in a process of its own with its own emulator, because the official client keeps
 * its loaded modules for all clients of a process. Client CPU is that of the whole process, with
 * garbage collection and threads, divided by operations; server CPU is the emulator's.
 *
 * The paths `promise` and `stub` end with the client's answer; the store also checks its requests,
 * and makes a row of the answer.
 */
import { execaNode } from 'execa';
import { PercolatorError, openRemote, startEmulator } from '#engine';
import { integer, runCommand, startProgress } from '#harness';
import { UsageError } from '#results';
import { ENGINE_OPTIONS } from '../../harness/engine-settings.ts';
import { FAMILIES, type PathName, PATHS, PLACE, TABLE } from './paths.ts';
import type { OperationCost, TransportCost, TransportTask } from './transport-process.ts';

const PROGRAM = new URL('transport-process.ts', import.meta.url);

type Size = Pick<TransportTask, 'operations' | 'concurrency'>;

const WIDTHS = [18, 24, 24] as const;
const HEAD = [
  columns('', 'conditional mutation', 'read of one cell'),
  columns('path', ...(['client server  rate/s', 'client server  rate/s'] as const)),
];

await runCommand(
  {
    script: 'bench:transport',
    description:
      'Measures the CPU time of client and server for a conditional mutation and a read on the ' +
      'official emulator, for each path through the official client.',
    options: {
      operations: integer({
        description: 'measured operations of each kind on each path',
        default: 40_000,
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
    ignoredInFiles: Object.keys(ENGINE_OPTIONS), // The calls do not use the engine.
    examples: [{ command: './run.sh bench:transport', does: 'Takes about a minute.' }],
  },
  async (size, { signal }) => {
    const progress = startProgress({ stream: process.stderr });
    progress.phase('measuring', PATHS.length, 'paths');
    const lines: string[] = [];
    for (const [i, path] of PATHS.entries()) {
      lines.push(lineOf(path, await costOf(path, size, signal)));
      progress.update(i + 1);
    }
    progress.end();
    process.stdout.write(`${[...HEAD, ...lines].join('\n')}\n`);
  },
);

async function costOf(path: PathName, size: Size, signal: AbortSignal): Promise<TransportCost> {
  await using emulator = await startEmulator({ environment: process.env }).catch(explain);
  const { address, pid: serverPid } = emulator;
  {
    await using store = await openRemote({ ...PLACE, plainAddress: address });
    await store.createTable(TABLE, { families: FAMILIES });
  }
  const task: TransportTask = { ...size, path, address, serverPid };
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

function lineOf(path: PathName, { prewrite, read }: TransportCost): string {
  return columns(path, numbers(prewrite), numbers(read));
}

function numbers({ clientUs, serverUs, perSecond }: OperationCost): string {
  const server = serverUs === null ? '?' : serverUs.toFixed(0);
  return `${clientUs.toFixed(0).padStart(4)}us ${server.padStart(4)}us ${perSecond.toFixed(0).padStart(7)}`;
}

function columns(...texts: readonly [string, string, string]): string {
  return texts
    .map((text, i) => text.padEnd(WIDTHS[i] ?? 0))
    .join('  ')
    .trimEnd();
}
