/**
 * Handles a process that exits while a group commits.
 *
 * lmdb's thread takes the writer lock and waits for this thread to run the group. Node's exit waits
 * for lmdb's thread. So `process.exit`, or an uncaught exception, would never end the process, and
 * the lock it holds would stop every other process on the store:
 *
 *     this thread    exit ──▶ waits for the threads of the pool ─┐
 *     lmdb's thread  has the writer lock ──▶ waits for the group ◀┘
 *
 * While a group is in flight the process therefore ends without waiting, as by `kill -9`, which the
 * store survives (no caller has been answered yet), but with its exit code: it becomes another
 * program that does nothing but exit with that code. The system ends all threads on the way, and
 * gives the lock to the next writer.
 *
 * This is the only file of the storage that touches the process. No layer above could do this: only
 * the storage knows that the lock is held. A worker thread is left alone: its exit and its
 * termination were tried at that very moment, and neither waits nor keeps the lock.
 */
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/** Groups in flight in all stores of this process. */
let committing = 0;

/** Runs `commit`. If the process exits before it has settled, the exit does not wait for lmdb. */
export async function withHardExit<T>(commit: () => Promise<T>): Promise<T> {
  if (!isMainThread) return commit();
  if (committing++ === 0) process.prependListener('exit', exitHard);
  try {
    return await commit();
  } finally {
    if (--committing === 0) process.off('exit', exitHard);
  }
}

/** Runs first, so that no other listener prevents it, and runs the others itself. */
function exitHard(code: number): void {
  // A listener that exits would not return here.
  process.exit = (given) => endWith(given ?? process.exitCode);
  try {
    for (const listener of process.rawListeners('exit')) {
      if (listener !== exitHard) listener.call(process, code);
    }
  } finally {
    endWith(process.exitCode ?? code); // As in Node's own exit, a listener's code counts.
  }
}

function endWith(code: number | string | null | undefined): never {
  // Node certainly exists; a shell would be faster, but may be missing in a container.
  const { execPath } = process;
  const program = `process.exitCode = ${Number(code ?? 0)}`;
  try {
    process.execve?.(execPath, [execPath, '--eval', program], environmentForOthers());
  } catch {
    // Not supported by this system, or not permitted.
  }
  process.kill(process.pid, 'SIGKILL');
  throw new Error('killed');
}

/**
 * Omits the variables that Node itself would obey: preloaded modules, coverage, a channel to the
 * parent.
 */
function environmentForOthers(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('NODE_')),
  );
}
