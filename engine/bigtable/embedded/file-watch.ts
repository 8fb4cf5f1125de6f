/**
 * Hears of what other processes commit: the operating system says when the store's file is written.
 *
 *     another process's commit ─▶ data.mdb is written ─▶ inotify, kqueue ... ─▶ the listeners
 *
 * It costs nothing while nobody writes, which no polling does. It promises nothing: a system may have no
 * watches left, or a file system that does not tell, and a commit is told of some microseconds before
 * readers see it. Whoever listens looks now and then all the same.
 */
import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';

/** What lmdb calls the file of its pages. */
const DATA_FILE = 'data.mdb';

export class FileWatch {
  readonly #file: string;
  readonly #listeners = new Set<() => void>();
  /** There as long as somebody listens, if the system can. */
  #watcher: FSWatcher | undefined;

  constructor(folder: string) {
    this.#file = join(folder, DATA_FILE);
  }

  /** Returns what ends the telling. */
  listen(listener: () => void): () => void {
    const tell = (): void => listener(); // So that one function may listen twice.
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
      return undefined; // Without it others are heard of when somebody looks.
    }
  }
}
