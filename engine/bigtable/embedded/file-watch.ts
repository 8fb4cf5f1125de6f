/**
 * Notices commits of other processes: the operating system reports writes to the store's file.
 *
 *     another process's commit ─▶ data.mdb is written ─▶ inotify, kqueue ... ─▶ the listeners
 *
 * Unlike polling, it costs nothing while no process writes. It promises nothing: a system may have
 * no watches left, a file system may report nothing, and a commit is reported some microseconds
 * before readers see it. So listeners must still look now and then.
 */
import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';

/** lmdb's name for the file of its pages. */
const DATA_FILE = 'data.mdb';

export class FileWatch {
  readonly #file: string;
  readonly #listeners = new Set<() => void>();
  /** Defined while there are listeners, if the system supports it. */
  #watcher: FSWatcher | undefined;

  constructor(folder: string) {
    this.#file = join(folder, DATA_FILE);
  }

  /** Returns the function that ends the listening. */
  listen(listener: () => void): () => void {
    const tell = (): void => listener(); // Lets one function listen twice.
    this.#listeners.add(tell);
    this.#watcher ??= this.#watch();
    return () => {
      this.#listeners.delete(tell);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #watch(): FSWatcher | undefined {
    try {
      // A watch does not keep the process alive.
      const watcher = watch(this.#file, { persistent: false }, () => {
        for (const tell of this.#listeners) tell();
      });
      return watcher.on('error', () => {
        watcher.close();
      });
    } catch {
      return undefined; // Without a watch, other commits are found by looking.
    }
  }
}
