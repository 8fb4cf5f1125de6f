/**
 * The worker of bench:notify-latency as a process: reports when its observer ran, and its CPU time
 * while idle.
 */
import { type Observer, systemClock, unreachable } from '#engine';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { openDatabase, serve, tellParent } from '../../harness/processes/index.ts';
import { settingsOf } from '../../harness/engine-settings.ts';
import {
  COLUMN,
  type CpuReport,
  type NotifyOptions,
  type RunsReport,
  TABLE,
  type ToWorker,
} from './measure.ts';

/** Runs in flight of all scanners together; 64 is a worker's default. */
const RUNS_IN_FLIGHT = 64;

await serve<ToWorker>(async ({ place, engine }: NotifyOptions) => {
  const { percolator, rangeLocks, close } = await openDatabase(place, settingsOf(engine));
  const runs = new Map<number, number>();
  const observer: Observer = {
    name: 'noting',
    table: TABLE,
    column: COLUMN,
    run: async (_, { row }) => {
      const n = Number(row);
      if (!runs.has(n)) runs.set(n, monotonicUs()); // A run that loses a conflict is repeated.
    },
  };
  const concurrency = Math.ceil(RUNS_IN_FLIGHT / engine.scanners);
  // A single scanner meets no others.
  const options = engine.scanners > 1 ? { concurrency, rangeLocks } : { concurrency };
  const workers = Array.from({ length: engine.scanners }, () =>
    percolator.startWorker([observer], options),
  );

  const answer = async (message: ToWorker): Promise<void> => {
    switch (message.kind) {
      case 'report observed':
        await Promise.all(workers.map((worker) => worker.idle()));
        tellParent({ kind: 'observed', runs: [...runs] } satisfies RunsReport);
        runs.clear();
        return;
      case 'measure cpu':
        tellParent(await measureCpu(message.seconds));
        return;
      default:
        unreachable(message);
    }
  };
  const stop = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await close();
  };
  return { onMessage: (message) => void answer(message), stop };
});

async function measureCpu(seconds: number): Promise<CpuReport> {
  const beganMs = systemClock.monotonicMs();
  const before = process.cpuUsage();
  await systemClock.sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  const tookMs = systemClock.monotonicMs() - beganMs;
  return { kind: 'cpu', percent: (100 * (user + system)) / 1000 / tookMs };
}
