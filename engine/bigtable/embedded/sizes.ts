/**
 * The sizes that decide when a file of the log ends, when the log is cleaned and indexed, and how
 * much of it stays in memory. Tests have smaller ones.
 */
export interface Sizes {
  /**
   * A file of the log is ended at this size, or at a sixteenth of the data if that is more, up to 2
   * GiB. Larger: more garbage stays until the oldest file is cleaned. Smaller: more open files.
   */
  readonly fileBytes: number;
  /**
   * The log may have three times the bytes of its data, and this many more. Larger: a small store
   * takes more disk. Smaller: more is written again.
   */
  readonly garbageBytes: number;
  /**
   * The log is also cleaned while it has more files, because each opening that writes begins one.
   * Data above 32 GiB, which fills 16 files of 2 GiB, may have more in proportion.
   */
  readonly files: number;
  /**
   * The log may grow by this much, or by the size of the index if that is more, before the index is
   * written. Larger: opening a store that was not closed reads more. Smaller: more is written.
   */
  readonly hintBytes: number;
  /**
   * Leaves of the index that are written at a time. Larger: a group waits longer for the sync.
   * Smaller: more syncs.
   */
  readonly hintLeaves: number;
  /** Memory for the newest part of the log, as far as it was written or read. */
  readonly recentBytes: number;
  /** Memory for records of the older log that were read from the disk more than once lately. */
  readonly readBytes: number;
}

export const SIZES: Sizes = {
  fileBytes: 32 * 2 ** 20,
  garbageBytes: 64 * 2 ** 20,
  files: 64,
  hintBytes: 32 * 2 ** 20,
  hintLeaves: 64,
  recentBytes: 64e6,
  readBytes: 64 * 2 ** 20,
};
