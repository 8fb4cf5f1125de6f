/**
 * One path of `./run.sh bench:transport`, in a process of its own. It takes its task as one JSON
 * argument, and prints its measurements as a line of JSON.
 *
 * It prewrites rows at rising timestamps: the first prewrite locks a row, later ones find the lock.
 * Half of the measured prewrites find a lock.
 */
import { closedLoop } from '../../harness/load/closed-loop.ts';
import { processorTime, since } from '../../harness/processes/processor-time.ts';
import { openPath, type Path, type PathName } from './paths.ts';

export interface TransportTask {
  readonly path: PathName;
  readonly address: string;
  readonly serverPid: number;
  readonly operations: number;
  /** Operations before those that are measured. */
  readonly warmUp: number;
  readonly concurrency: number;
}

/** CPU microseconds per operation, null if they are not known, and operations per second. */
export interface OperationCost {
  readonly clientUs: number;
  readonly serverUs: number | null;
  readonly perSecond: number;
}

export interface TransportCost {
  readonly prewrite: OperationCost;
  readonly read: OperationCost;
}

const task = JSON.parse(process.argv[2] ?? '') as TransportTask;
await using path = await openPath(task.path, task.address);
const cost: TransportCost = { prewrite: await prewrites(path), read: await reads(path) };
process.stdout.write(`${JSON.stringify(cost)}\n`);

function prewrites(on: Path): Promise<OperationCost> {
  const rows = task.warmUp + Math.ceil(task.operations / 2);
  return measure((i) => on.prewrite(`row-${i % rows}`, i + 1));
}

function reads(on: Path): Promise<OperationCost> {
  return measure((i) => on.read(`row-${i % task.warmUp}`, 1_000_000));
}

async function measure(operate: (operation: number) => Promise<unknown>): Promise<OperationCost> {
  const { concurrency, operations, serverPid } = task;
  const { signal } = new AbortController();
  const run = async (operation: number): Promise<void> => {
    await operate(operation);
  };
  await closedLoop(run, { first: 0, operations: task.warmUp, concurrency, signal });
  const servers = { serverPids: [serverPid], servicePids: [] };
  const before = processorTime(servers);
  const startedMs = performance.now();
  await closedLoop(run, { first: task.warmUp, operations, concurrency, signal });
  const seconds = (performance.now() - startedMs) / 1000;
  const { clientUs, serverUs } = since(before, processorTime(servers));
  return {
    clientUs: clientUs / operations,
    serverUs: serverUs === null ? null : serverUs / operations,
    perSecond: operations / seconds,
  };
}
