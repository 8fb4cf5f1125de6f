/**
 * The log: numbered files, to whose end groups of records are written, one at a time, and synced.
 *
 *     0000000007.log  group │ group │ group        0000000008.log  group │ group │ (next)
 *     oldest ─────────────────────────────▶ order ───────────────────────────▶ newest
 *
 * A file belongs to one opening of the store: the next opening, and the next group after a failure,
 * begin a new file. The first group there says where the group before it ends, so what may have
 * been written after that, and not synced, does not count. Nothing is ever written again in place.
 *
 * A group that may be lost in a power failure is not synced on its own, unless too much waits
 * (UNSYNCED_BYTES_MAX): the sync of a later one makes durable all that is before it. Each group
 * says how much before it was not yet synced: what a power failure tears there ends the log, even
 * if a later group is whole. The first group of a file is always synced.
 *
 * What if the process dies while a group is written? The group's checksum is wrong, and it was not
 * acknowledged. What the callers of a group that failed are told is in `append`.
 */
import {
  type Clock,
  type ErrorCode,
  hasCode,
  PercolatorError,
  systemClock,
} from '../../base/index.ts';
import { codeOf, type Disk, type DiskFile, reasonOf } from './disk.ts';
import { Ownership } from './folder.ts';
import type { Place } from './leaf.ts';
import { ReadAhead, Recent, RecentlyRead } from './log-memory.ts';
import { bodyOf, damaged, type GroupHeader, isIntact, type Mark, nameOfLog } from './record.ts';

/** The data takes about this many files, unless it is small or very large. */
const FILES_FOR_DATA = 16;
/** No group begins at or after this offset, so that offsets inside the last one fit in 32 bits. */
const FILE_BYTES_MAX = 2 ** 31;
/** Bytes that may wait for a sync. The next opening after a kill writes all of them again. */
const UNSYNCED_BYTES_MAX = 2 ** 20;

export interface LogFile {
  readonly file: DiskFile;
  /** Bytes that count. */
  size: number;
}

/** What the hint says of the log. */
export interface HintHeader {
  readonly store: number;
  /** Up to where the log was synced when the writing began, and the last group before there. */
  readonly mark: Mark;
  readonly sequence: number;
  readonly oldest: number;
}

/** What recovery has found. */
export interface LogState {
  readonly store: number;
  readonly files: Map<number, LogFile>;
  /** Where the last group ends that is certainly on the disk, and its number. */
  readonly end: Mark;
  readonly sequence: number;
  readonly oldest: number;
  /** The number of the newest file, even if that file does not count. */
  readonly newest: number;
}

export class Log {
  readonly sizes: Sizes;
  /** A part of a file, while the cleaner works on it: its records are read from these bytes. */
  held: { readonly at: Mark; readonly bytes: Buffer } | undefined;
  readonly ownership: Ownership;
  readonly #disk: Disk;
  readonly #recent: Recent;
  readonly #recentlyRead: RecentlyRead;
  readonly #readAhead = new ReadAhead();
  readonly #files: Map<number, LogFile>;
  readonly #store: number;
  #end: Mark;
  #sequence: number;
  /** The end of the last group that is certainly on the disk, and its number. */
  #synced: Mark;
  #syncedSequence: number;
  #oldest: number;
  #newest: number;
  /** Whether the next group may follow in the newest file: it is this opening's, and unfailed. */
  #isWriting = false;
  #bytes = 0;
  #written = 0;

  constructor(disk: Disk, state: LogState, sizes: Sizes, clock: Clock = systemClock) {
    this.sizes = sizes;
    this.ownership = new Ownership(disk, clock);
    this.#disk = disk;
    this.#recent = new Recent(sizes.recentBytes);
    this.#recentlyRead = new RecentlyRead(sizes.readBytes);
    this.#files = state.files;
    this.#store = state.store;
    this.#end = state.end;
    this.#sequence = state.sequence;
    this.#synced = state.end;
    this.#syncedSequence = state.sequence;
    this.#oldest = state.oldest;
    this.#newest = state.newest;
    for (const [number, { file, size }] of state.files) {
      this.#bytes += size;
      this.ownership.add(nameOfLog(number), file);
    }
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes that this opening has written. */
  get written(): number {
    return this.#written;
  }

  /** Where the last group ends. */
  get end(): Mark {
    return this.#end;
  }

  /** Whether every group is on the disk. */
  get isSynced(): boolean {
    return this.#sequence === this.#syncedSequence;
  }

  /** The oldest file that is needed. */
  get oldest(): number {
    return this.#oldest;
  }

  get files(): number {
    return this.#files.size;
  }

  /**
   * With more files the log is cleaned. Data that fills files of the largest size may have more.
   */
  filesMax(dataBytes: number): number {
    const largest = FILES_FOR_DATA * FILE_BYTES_MAX;
    return this.sizes.files * Math.max(1, dataBytes / largest);
  }

  /** Where the next group begins. @param dataBytes all that is in use, for the size of the files */
  next(dataBytes: number): Mark {
    const wanted = Math.max(this.sizes.fileBytes, dataBytes / FILES_FOR_DATA);
    const fileBytes = Math.min(wanted, FILE_BYTES_MAX);
    if (this.#isWriting && this.#end.offset < fileBytes) return this.#end;
    return { file: this.#newest + 1, offset: 0 };
  }

  /**
   * The header of the next group.
   * @param at where it will be written
   * @param oldest the oldest file that is needed after it
   */
  header(at: Mark, oldest: number): GroupHeader {
    const unsynced = at.offset === 0 ? 0 : at.offset - this.#synced.offset;
    return { store: this.#store, sequence: this.#sequence + 1, base: this.#end, oldest, unsynced };
  }

  /**
   * Writes the next group, and syncs it unless it `mayWait` and nothing else demands a sync. A
   * group that `isCopy` repeats earlier groups, which stay until it counts.
   * @throws STORE_UNAVAILABLE, STORE_FULL or STORE_REFUSED if the group will never count;
   * STORE_IN_DOUBT if it may count, in case the process ends before the next group is written. In
   * all cases, once the next group is written, the groups that waited for a sync do not count any
   * more: so the next group must hold all that they held. From a process that is not the owner any
   * more: STORE_CLOSED if the group will never count, STORE_IN_DOUBT if the next owner may have
   * read it.
   */
  async append(
    group: Buffer,
    at: Mark,
    { mayWait = false, isCopy = false }: { mayWait?: boolean; isCopy?: boolean } = {},
  ): Promise<void> {
    const end = { file: at.file, offset: at.offset + group.length };
    const isWaiting =
      mayWait && at.offset > 0 && end.offset - this.#synced.offset <= UNSYNCED_BYTES_MAX;
    try {
      this.ownership.look();
      if (at.offset === 0) await this.#syncEnd();
      const { file } = at.offset === 0 ? this.#create(at.file) : this.#file(at.file);
      await file.write(group, at.offset);
    } catch (cause) {
      this.ownership.notice(cause);
      this.#giveUp();
      this.#erase(at);
      throw failed(codeOf(cause), 'nothing was applied', cause);
    }
    try {
      if (!isWaiting) await this.#file(at.file).file.sync();
      if (at.offset === 0) await this.#disk.sync();
      this.ownership.look(); // After the sync: see folder.ts.
    } catch (cause) {
      this.ownership.notice(cause);
      this.#giveUp();
      // What a copy repeats is still there; without this, each failed opening would leave a copy.
      if (isCopy) this.#erase(at);
      throw failed('STORE_IN_DOUBT', 'whether it was applied is not known', cause);
    }
    this.#recent.add(group, at);
    if (at.offset === 0) this.#shorten(this.#end, at.file);
    this.#end = end;
    this.#file(at.file).size = end.offset;
    this.#bytes += group.length;
    this.#written += group.length;
    this.#sequence++;
    this.#isWriting = true;
    if (!isWaiting) this.#markSynced();
  }

  /** The body of the record at this place; do not change it, and do not keep it. */
  readBody(place: Place): Buffer {
    const recent = this.#recent.find(place);
    const start = this.#recent.startOf(place);
    if (recent?.isLoaded === false) return bodyOf(recent.bytes, start, place.length);
    const read = this.#recentlyRead.find(place);
    if (read !== undefined) return bodyOf(read.bytes, read.start, place.length);
    const held = this.#heldRecord(place);
    if (held !== undefined) return bodyOf(held, 0, held.length);
    const piece = recent ?? this.#recent.load(place, this.#readPiece);
    const record =
      piece?.bytes.subarray(start, start + place.length) ??
      this.#readAhead.find(place, this.#readPiece) ??
      this.#readRecord(place);
    if (!isIntact(record, place)) {
      this.ownership.look();
      throw damaged(nameOfLog(place.file), place.offset, 'a record has the wrong checksum');
    }
    if (piece === undefined) this.#recentlyRead.add(place, record);
    return bodyOf(record, 0, record.length);
  }

  /** Fills `target` with what was written from `mark` on. */
  readFile(target: Buffer, { file, offset }: Mark): void {
    const name = nameOfLog(file);
    const known = this.#files.get(file);
    if (known === undefined) throw damaged(name, offset, 'the file is missing');
    let read: number;
    try {
      read = known.file.read(target, offset);
    } catch (cause) {
      throw new PercolatorError('STORE_UNAVAILABLE', `${name} cannot be read: ${reasonOf(cause)}`, {
        cause,
      });
    }
    if (read === target.length) return;
    this.ownership.look(); // The next owner may have shortened it.
    throw damaged(name, offset + read, 'the file ends too early');
  }

  size(file: number): number {
    return this.#files.get(file)?.size ?? 0;
  }

  /** The file after this one. */
  after(file: number): number {
    let next = file + 1;
    while (next < this.#newest && !this.#files.has(next)) next++;
    return next;
  }

  /** Removes the files before `oldest`: the last group says that they are not needed. */
  removeBefore(oldest: number): void {
    this.#oldest = oldest;
    for (const [number, { size }] of this.#files) {
      if (number >= oldest) return;
      this.#bytes -= size;
      this.#remove(number);
    }
  }

  /** What a hint says of the log. */
  hint(): HintHeader {
    const [mark, sequence] = [this.#synced, this.#syncedSequence];
    return { store: this.#store, mark, sequence, oldest: this.#oldest };
  }

  /** Whether the record is in a group that waits for a sync, or waited for one that failed. */
  isUnsynced({ file, offset }: Pick<Place, 'file' | 'offset'>): boolean {
    return file === this.#synced.file && offset >= this.#synced.offset;
  }

  /** @throws the first error, after it has tried to close every file */
  close(): void {
    const errors: unknown[] = [];
    for (const { file } of this.#files.values()) {
      try {
        file.close();
      } catch (error) {
        errors.push(error);
      }
    }
    this.#files.clear();
    if (errors.length > 0) throw errors[0];
  }

  /** A record of a group whose checksum was right. */
  #heldRecord({ file, offset, length }: Place): Buffer | undefined {
    const { held } = this;
    if (held === undefined || held.at.file !== file) return undefined;
    const start = offset - held.at.offset;
    const end = start + length;
    return start >= 0 && end <= held.bytes.length ? held.bytes.subarray(start, end) : undefined;
  }

  #readRecord(place: Place): Buffer {
    const record = Buffer.allocUnsafe(place.length);
    this.readFile(record, place);
    return record;
  }

  /** No bytes if some cannot be read: each record is then read on its own, and fails on its own. */
  readonly #readPiece = ({ file, offset }: Mark, bytesMax: number): Buffer => {
    const length = Math.max(0, Math.min(bytesMax, this.size(file) - offset));
    const bytes = Buffer.allocUnsafeSlow(length);
    try {
      return bytes.subarray(0, this.#files.get(file)?.file.read(bytes, offset));
    } catch {
      return bytes.subarray(0, 0);
    }
  };

  /** Before a new file begins, syncs what waits for a sync. */
  async #syncEnd(): Promise<void> {
    if (this.isSynced) return;
    await this.#file(this.#end.file).file.sync();
    this.#markSynced();
  }

  #markSynced(): void {
    this.#synced = this.#end;
    this.#syncedSequence = this.#sequence;
  }

  #file(number: number): LogFile {
    return this.#files.get(number) as LogFile;
  }

  /** Of the files that may be in doubt only the newest stays, however often the disk fails. */
  #create(number: number): LogFile {
    this.ownership.lookAtAll(); // The next group builds on them.
    const inDoubt = [...this.#files.keys()].filter((file) => file > this.#end.file);
    for (const file of inDoubt.slice(0, -1)) this.#remove(file);
    this.#newest = number;
    const made = { file: this.#disk.create(nameOfLog(number)), size: 0 };
    this.#files.set(number, made);
    this.ownership.add(nameOfLog(number), made.file);
    return made;
  }

  /**
   * After a failure: the next group begins a new file, and says that what is left of the failed one
   * does not count. A failed sync may have lost what waited for it, and no later sync would tell.
   *
   * A group that is in doubt stays where it is, unless it is a copy. If this process ends now, the
   * next process that may write finds it, and writes it again. If it were erased, that process
   * would serve the store without it, and a later power failure, which may undo what was not
   * synced, could bring it back.
   */
  #giveUp(): void {
    this.#isWriting = false;
    this.#end = this.#synced;
    this.#sequence = this.#syncedSequence;
  }

  /** Erases what was written of a group that will not count, if the disk lets us. */
  #erase({ file, offset }: Mark): void {
    if (offset === 0) this.#remove(file);
    else ignoringErrors(() => this.#file(file).file.truncate(offset));
  }

  /** What follows `end` in its file, and the files up to the `next` one, no longer count. */
  #shorten({ file, offset }: Mark, next: number): void {
    for (const one of this.#files.keys()) if (one > file && one < next) this.#remove(one);
    const known = this.#files.get(file);
    if (known === undefined) return;
    // Not to `offset`: until the index knows the new group, it names rows of groups that waited.
    ignoringErrors(() => known.file.truncate(known.size));
    this.#bytes -= known.size - offset;
    known.size = offset;
  }

  #remove(number: number): void {
    const known = this.#files.get(number);
    if (known === undefined) return;
    this.#files.delete(number);
    this.ownership.remove(nameOfLog(number));
    ignoringErrors(() => known.file.close());
    ignoringErrors(() => this.#disk.remove(nameOfLog(number)));
  }
}

function ignoringErrors(action: () => void): void {
  try {
    action();
  } catch {
    // Harmless: a group says, or the next one will say, that what stays does not count.
  }
}

function failed(code: ErrorCode, what: string, cause: unknown): PercolatorError {
  if (code !== 'STORE_IN_DOUBT' && hasCode(cause, 'STORE_CLOSED')) return cause;
  const message = `the embedded store failed to commit (${reasonOf(cause)}); ${what}`;
  return new PercolatorError(code, message, { cause });
}

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
