/**
 * One path of `npm run bench:transport`, in a process of its own. Told what to do by one argument of JSON; prints
 * what it measured as a line of JSON.
 *
 * Rows are prewritten at rising timestamps: the first time they are locked, afterwards the lock is found.
 * Half of the measured prewrites find one.
 */
import { closedLoop } from '../../harness/load/closed-loop.ts';
import { processorTime, since } from '../../harness/processor-time.ts';
import { openPath, type Path, type PathName } from './paths.ts';

export interface TransportTask {
  readonly path: PathName;
  readonly address: string;
  readonly serverPid: number;
  readonly operations: number;
  readonly concurrency: number;
}

/** Microseconds of CPU for one operation, and operations in a second. */
export interface OperationCost {
  readonly clientUs: number;
  readonly serverUs: number | null;
  readonly perSecond: number;
}

export interface TransportCost {
  readonly prewrite: OperationCost;
  readonly read: OperationCost;
}

const WARM_UP = 10_000;

const task = JSON.parse(process.argv[2] ?? '') as TransportTask;
await using path = await openPath(task.path, task.address);
const cost: TransportCost = { prewrite: await prewrites(path), read: await reads(path) };
process.stdout.write(`${JSON.stringify(cost)}\n`);

function prewrites(on: Path): Promise<OperationCost> {
  const rows = WARM_UP + task.operations / 2;
  return measure((i) => on.prewrite(`row-${i % rows}`, i + 1));
}

function reads(on: Path): Promise<OperationCost> {
  return measure((i) => on.read(`row-${i % WARM_UP}`, 1_000_000));
}

async function measure(operate: (operation: number) => Promise<unknown>): Promise<OperationCost> {
  const { concurrency, operations, serverPid } = task;
  const { signal } = new AbortController();
  const run = async (operation: number): Promise<void> => {
    await operate(operation);
  };
  await closedLoop(run, { first: 0, operations: WARM_UP, concurrency, signal });
  const servers = { serverPid, servicePids: [] };
  const before = processorTime(servers);
  const startedMs = performance.now();
  await closedLoop(run, { first: WARM_UP, operations, concurrency, signal });
  const seconds = (performance.now() - startedMs) / 1000;
  const { clientUs, serverUs } = since(before, processorTime(servers));
  return {
    clientUs: clientUs / operations,
    serverUs: serverUs === null ? null : serverUs / operations,
    perSecond: operations / seconds,
  };
}
