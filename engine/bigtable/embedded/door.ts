/**
 * The door of a store: one at a time goes through, to commit a group or to open the store, in any process.
 *
 * Two writers are kept apart by lmdb itself. But whoever opens an lmdb environment says anew, to all who have it open, which
 * transaction was the last one: what it read in the file a moment before (`mti_txnid` in mdb_env_open2). If
 * somebody commits in that moment, the next transaction begins before that commit and takes its place: an acknowledged
 * commit is gone, and the pages of both are mixed up. So nobody may commit while somebody opens.
 *
 *     commit   door ──▶ lmdb's write transaction ──▶ fsync ──▶ door
 *     open     door ──▶ lmdb's open ─────────────────────────▶ door
 *
 * The door is a write transaction of another environment, in which nothing is ever written: its lock is shared
 * by processes, and given on by the system when its holder is killed. That opening it has the same flaw does no harm.
 * Who waits for it keeps a thread of Node's pool; so of one process only one waits or is inside, whatever
 * the number of its stores.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { open, type RootDatabase } from 'lmdb';

const FOLDER = 'door';
/** Of Node's pool: one keeps the door while the other one commits. */
const THREADS_MIN = 2;

/** When everybody of this thread who came before has left. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * @param folder that of the store, which must exist
 * @param readOnly leaves the folder as it is: undefined if nobody has ever opened the store to write
 * @throws if Node's pool is too small to write
 */
export function openDoor(
  folder: string,
  { readOnly }: { readonly readOnly: boolean },
): Door | undefined {
  const path = join(folder, FOLDER);
  if (readOnly && !existsSync(path)) return undefined;
  if (!readOnly) checkThreads();
  return new Door(open({ path, noSubdir: false, overlappingSync: false, noSync: true }));
}

/** With too few, the first commit would wait for ever. Whatever is not a number means one thread, to libuv. */
function checkThreads(): void {
  const { UV_THREADPOOL_SIZE: size } = process.env;
  if (size === undefined || Number.parseInt(size, 10) >= THREADS_MIN) return;
  throw new Error(`UV_THREADPOOL_SIZE is ${size}, and must be at least ${THREADS_MIN}`);
}

export class Door {
  readonly #root: RootDatabase;

  constructor(root: RootDatabase) {
    this.#root = root;
  }

  /** Runs `action` while nobody else is inside. Resolves, or rejects, as `action` does. */
  pass<T>(action: () => Promise<T>): Promise<T> {
    return this.#enter(async () => {
      let outcome: PromiseSettledResult<T> | undefined;
      await this.#root.transaction(async () => {
        [outcome] = await Promise.allSettled([action()]);
      });
      if (outcome?.status === 'fulfilled') return outcome.value;
      throw outcome?.reason;
    });
  }

  /** The same in one go, for worker threads: one that exited inside would leave the door shut. */
  passAtOnce<T>(action: () => T): Promise<T> {
    return this.#enter(() => this.#root.transaction(action));
  }

  #enter<T>(passing: () => Promise<T>): Promise<T> {
    const passed = turn.then(passing);
    turn = passed.catch(() => {}); // The next one does not care.
    return passed;
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}
