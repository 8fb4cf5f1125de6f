/**
 * The child's half of a process of an experiment: every program of one is a call of `serve`.
 *
 *     await serve(async (options: Options) => {
 *       const percolator = await openPercolator({ ... });
 *       const worker = percolator.startWorker([clusteringObserver]);   // The observers, by name.
 *       return { ready: ..., onMessage: ..., stop: async () => { ... } };
 *     });
 *
 * It ends in one of four ways:
 *
 * - asked by its parent: `stop`, and then there is nothing left to keep it;
 * - its parent is gone, however that came about: the system closes the channel, and it kills itself. Not
 *   by `exit`, which may wait for a storage; whatever it was doing, the engine survives `kill -9`;
 * - killed by its parent, which has been interrupted or has failed;
 * - by itself, with an error on stderr: its parent names it and ends the run.
 *
 * A ctrl-C at the terminal reaches the whole group. It is the parent's to handle, which may still want to
 * know what was measured.
 */
import process from 'node:process';
import type { LeavingMessage, ReadyMessage, StopMessage } from './member.ts';

export interface Served<To> {
  /** Told to the parent with "ready". */
  readonly ready?: unknown;
  readonly onMessage?: ((message: To) => void) | undefined;
  /** Ends everything that was begun, so that nothing keeps the process. */
  stop(): Promise<void>;
}

/**
 * `start` gets what the parent has given to `Member`, whatever that is: the two are one program in two files.
 * Resolves when the parent has been told that this process is ready.
 */
export async function serve<To = never>(
  start: (options: never) => Promise<Served<To>>,
): Promise<void> {
  process.on('SIGINT', () => {});
  process.on('disconnect', killSelf);
  if (!process.connected) killSelf(); // It left before we could listen.
  const served = await start(JSON.parse(process.argv[2] ?? '') as never);
  process.on('message', (message: To | StopMessage) => {
    if (isStop(message)) void leave(served);
    else served.onMessage?.(message);
  });
  tellParent({ kind: 'ready', value: served.ready } satisfies ReadyMessage);
}

/** Harmless if there is no parent any more. */
export function tellParent(message: unknown): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

async function leave<To>(served: Served<To>): Promise<void> {
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
