/**
 * The child's half of a process in an experiment: each of its programs is a call of `serve`.
 *
 *     await serve(async (options: Options) => {
 *       const percolator = await openPercolator({ ... });
 *       const worker = percolator.startWorker([clusteringObserver]);
 *       return { ready: ..., onMessage: ..., stop: async () => { ... } };
 *     });
 *
 * The process ends in one of four ways:
 *
 * - Its parent asks it to: `stop` runs, and then no open handle keeps it alive.
 * - Its parent is gone for any reason: the system closes the channel, and the process kills itself.
 *   It does not call `exit`, which may wait for a storage; the engine survives `kill -9` at any
 *   point.
 * - Its parent kills it, because the parent was interrupted or has failed.
 * - It fails with an error on stderr: its parent names it and ends the run.
 *
 * A ctrl-C at the terminal reaches the whole group. Only the parent handles it, because it may
 * still want the measurements.
 */
import process from 'node:process';
import { isRetryable, systemClock } from '#engine';
import { monotonicMs } from '../load/monotonic-clock.ts';
import type { LeavingMessage, ReadyMessage, StopMessage } from './crew.ts';

export interface ServedProcess<To> {
  /** Sent to the parent with "ready". */
  readonly ready?: unknown;
  readonly onMessage?: ((message: To) => void) | undefined;
  /** Ends all work and closes all handles, so that nothing keeps the process alive. */
  stop(): Promise<void>;
}

/**
 * `start` receives the options that the parent passed to `Member`, unchecked: parent and child are
 * one program in two files. Resolves when the parent has been told that this process is ready.
 */
export async function serve<To = never>(
  start: (options: never) => Promise<ServedProcess<To>>,
): Promise<void> {
  process.on('SIGINT', () => {});
  process.on('disconnect', killSelf);
  if (!process.connected) killSelf(); // The parent left before this process could listen.
  const served = await start(JSON.parse(process.argv[2] ?? '') as never);
  process.on('message', (message: To | StopMessage) => {
    if (isStop(message)) void leave(served);
    else served.onMessage?.(message);
  });
  tellParent({ kind: 'ready', value: served.ready } satisfies ReadyMessage);
}

/** Harmless if the parent is gone. */
export function tellParent(message: unknown): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

async function leave<To>(served: ServedProcess<To>): Promise<void> {
  await served.stop();
  process.off('disconnect', killSelf);
  const { user, system } = process.cpuUsage();
  const last = { kind: 'leaving', cpuSeconds: (user + system) / 1e6 } satisfies LeavingMessage;
  process.send?.(last, undefined, undefined, () => {
    if (process.connected) process.disconnect();
  });
}

function isStop(message: unknown): message is StopMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'stop';
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

const REST_MS = 50;

/**
 * Makes the call until it succeeds, as a user would whose store does not answer for a moment.
 * Rejects with its last error if that can never succeed, or if `forMs` milliseconds have passed
 * since the first call.
 */
export async function patiently<T>(forMs: number, call: () => Promise<T>): Promise<T> {
  const untilMs = monotonicMs() + forMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isRetryable(error) || monotonicMs() > untilMs) throw error;
      await systemClock.sleep(REST_MS);
    }
  }
}
