/**
 * Ends a process of tests that would never end, and says so. A thread looks, because what stands
 * still or loops in the main thread lets no timer fire:
 *
 *   1. The process works, and its event loop makes no turn: a test loops without waiting.
 *   2. The process has lived for far too long: after its tests, something keeps it alive.
 *
 * A test that waits forever, while timers fire, is ended before that by the limit of the runner.
 */
import { Worker } from 'node:worker_threads';
import { systemClock } from '../base/index.ts';

interface WatchLimits {
  /**
   * Processor time without a turn of the event loop. Not time by the clock: a process that is
   * stopped, or on a busy machine, is not stuck. Default: 120,000, ten times what any test takes.
   */
  readonly cpuMsMax?: number | undefined;
  /** Time by the clock, from now. Default: two hours, more than thirty times the longest file. */
  readonly msMax?: number | undefined;
}

const BEAT_MS = 500;

let isWatched = false;

/** Kills this process once it has passed a limit; later calls of the process do nothing. */
export function watchTests({ cpuMsMax = 120_000, msMax = 7_200_000 }: WatchLimits = {}): void {
  if (isWatched) return;
  isWatched = true;
  const beats = new Int32Array(new SharedArrayBuffer(4));
  void (async () => {
    for (;;) {
      Atomics.add(beats, 0, 1);
      await systemClock.sleep(BEAT_MS, undefined, { background: true });
    }
  })();
  new Worker(WATCHER, { eval: true, workerData: { beats, cpuMsMax, msMax } }).unref();
}

const WATCHER = `
  const { beats, cpuMsMax, msMax } = require('node:worker_threads').workerData;
  const cpuMs = () => (({ user, system }) => (user + system) / 1000)(process.cpuUsage());
  const beganMs = performance.now();
  let [last, sinceMs] = [Atomics.load(beats, 0), cpuMs()];
  const end = (sentence) => {
    require('node:fs').writeSync(2, sentence + ': its process is killed.\\n');
    process.kill(process.pid, 'SIGKILL');
  };
  setInterval(() => {
    const beat = Atomics.load(beats, 0);
    if (beat !== last) [last, sinceMs] = [beat, cpuMs()];
    if (cpuMs() - sinceMs >= cpuMsMax) end('A test loops without waiting for anything');
    if (performance.now() - beganMs >= msMax) end('A file of tests does not end');
  }, ${BEAT_MS});
`;
