/**
 * The writer of bench:notify-latency as a process: writes observed cells on schedule, and reports
 * when each was committed.
 */
import { dueUs, generate, type Schedule } from '../../harness/load/schedule.ts';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { openDatabase, serve, tellParent } from '../../harness/processes/index.ts';
import { settingsOf } from '../../harness/engine-settings.ts';
import {
  cellOf,
  type NotifyOptions,
  type WriteMessage,
  type WritesReport,
  type WriteTimes,
} from './measure.ts';

/** Lead time before the first write, so that the start does not count as lateness. */
const AHEAD_US = 10_000;

await serve<WriteMessage>(async ({ place, engine }: NotifyOptions) => {
  const { percolator, close } = await openDatabase(place, settingsOf(engine));
  const stopping = new AbortController();

  const write = async ({ first, writes, perSecond }: WriteMessage): Promise<void> => {
    const schedule: Schedule = {
      first,
      warmupDocuments: 0,
      warmupPerSecond: perSecond,
      documents: writes,
      perSecond,
    };
    const startUs = monotonicUs() + AHEAD_US;
    const commits: Promise<WriteTimes>[] = [];
    const commit = async (i: number): Promise<WriteTimes> => {
      const n = first + i;
      await percolator.transact(async (transaction) => transaction.set(cellOf(n), String(n)));
      return { n, scheduledUs: startUs + dueUs(schedule, i), committedUs: monotonicUs() };
    };
    const announce = (end: number): void => {
      while (commits.length < end) commits.push(commit(commits.length));
    };
    const { lagP99Ms } = await generate(schedule, startUs, announce, stopping.signal);
    const times = await Promise.all(commits);
    tellParent({ kind: 'written', times, lagP99Ms } satisfies WritesReport);
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    await close();
  };
  return { onMessage: (message) => void write(message), stop };
});
