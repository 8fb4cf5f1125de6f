/**
 * Whether this process still owns the store that it has open (P69).
 *
 * The system's lock on the folder (folder.ts) may be lost without a word: any close of that file in
 * the owner's process ends it, and a file or a folder can be removed, moved, copied or replaced
 * under a living owner. So ownership is a name: the store is in a folder that is named for its
 * owner, and a process that takes the store over gives that folder another name.
 *
 *     owner, whatever it does with names     by a path through its own name: refused by the system
 *                                            from the moment at which that name is gone
 *     owner, before it answers anything      looks whether its name still leads to its folder, and
 *                                            the log's file to its file; that counts for LOOK_MS
 *     next owner                             renames, waits for TAKE_OVER_MS, and only then reads
 *
 * What if the owner stops for an hour? In the middle of a write: the next owner's log says where
 * the owner's file ended, so what is written later does not count (P70). After the write, before
 * the answer: the look comes after the write, and fails. After the look: then the next owner, who
 * waits, reads what was written. Both measure time by the machine's monotonic clock.
 */
import { type Clock, hasCode, type PercolatorError } from '../../base/index.ts';
import type { Disk, DiskFile } from './disk.ts';

/** For how long a look counts. Longer: a take-over takes longer. Shorter: more calls of `stat`. */
const LOOK_MS = 10;
/** How long the next owner waits before it reads; twice as long as it must. */
export const TAKE_OVER_MS: number = 2 * LOOK_MS;

export class Ownership {
  /** Called once, when this process finds that it is not the owner any more. */
  onLost: ((error: PercolatorError) => void) | undefined;
  readonly #disk: Disk;
  readonly #clock: Clock;
  /** The files that must stay in place, by name. */
  readonly #files = new Map<string, DiskFile>();
  /** The one that groups are written to; the others are looked at by `lookAtAll` only. */
  #newest: string | undefined;
  /** When the last look began that found everything in place. */
  #lookedMs = -Infinity;
  #lost: PercolatorError | undefined;

  constructor(disk: Disk, clock: Clock) {
    this.#disk = disk;
    this.#clock = clock;
  }

  add(name: string, file: DiskFile): void {
    this.#files.set(name, file);
    this.#newest = name;
  }

  remove(name: string): void {
    this.#files.delete(name);
  }

  /** Does nothing if the last look still counts. @throws STORE_CLOSED */
  look(): void {
    if (this.#lost !== undefined) throw this.#lost;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookAt(this.#newest === undefined ? [] : [this.#newest]);
    this.#lookedMs = nowMs;
  }

  /** For once a second: notices also what no reader or writer asks for. @throws STORE_CLOSED */
  lookAtAll(): void {
    if (this.#lost !== undefined) throw this.#lost;
    this.#lookAt([...this.#files.keys()]);
  }

  /** Takes note of an error of the disk that says so (disk.ts). */
  notice(error: unknown): void {
    if (this.#lost !== undefined || !hasCode(error, 'STORE_CLOSED')) return;
    this.#lost = error;
    this.onLost?.(error);
  }

  #lookAt(names: readonly string[]): void {
    const error = this.#disk.lost(
      names.flatMap((name) => {
        const file = this.#files.get(name);
        return file === undefined ? [] : [[name, file] as const];
      }),
    );
    if (error === undefined) return;
    this.notice(error);
    throw error;
  }
}
