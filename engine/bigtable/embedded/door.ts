/**
 * The door of a store: in all processes together, one caller at a time passes it, to commit a group
 * or to open the store.
 *
 * lmdb itself keeps two writers apart. But opening an lmdb environment republishes, to all
 * processes that have it open, the id of the last transaction, as read from the file a moment
 * before (`mti_txnid` in mdb_env_open2). If another process commits in that moment, the next
 * transaction begins before that commit and overwrites it: an acknowledged commit is lost, and the
 * pages of both are mixed up. So no process may commit while another opens.
 *
 *     commit   door ──▶ lmdb's write transaction ──▶ fsync ──▶ door
 *     open     door ──▶ lmdb's open ─────────────────────────▶ door
 *
 * The door is a write transaction of another environment, in which nothing is ever written: its
 * lock is shared by processes, and the system passes it on when its holder is killed. Opening that
 * environment has the same flaw, which does no harm there. A waiter occupies a pool thread, so at
 * most one caller per process waits for or holds the door, whatever the number of its stores.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { open, type RootDatabase } from 'lmdb';

const FOLDER = 'door';
/** In Node's pool: one thread holds the door while the other one commits. */
const THREADS_MIN = 2;

/** Resolves when all earlier callers of this thread have left. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * @param folder the store's folder, which must exist
 * @param readOnly leaves the folder unchanged: undefined if the store was never opened to write
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

/**
 * With too few, the first commit would wait forever. libuv takes any value that is not a number for
 * a pool of one thread.
 */
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

  /** Runs `action` while no other caller is inside. Resolves, or rejects, as `action` does. */
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

  /**
   * The same, synchronously, for worker threads: one that exited inside would leave the door shut.
   */
  passAtOnce<T>(action: () => T): Promise<T> {
    return this.#enter(() => this.#root.transaction(action));
  }

  #enter<T>(passing: () => Promise<T>): Promise<T> {
    const passed = turn.then(passing);
    turn = passed.catch(() => {}); // The next caller ignores its error.
    return passed;
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}
