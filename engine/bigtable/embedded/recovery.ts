/**
 * Opening a log: finds the part of it that counts, and makes its index.
 *
 *     1. From the newest file back: each file's first group says where the log before it ended.
 *     2. The index as of the hint; without one, an empty index as of the oldest file.
 *     3. From there on, each group's records, in order.
 *
 * What is not intact ends the log, if no later group says that it was synced: then a power failure
 * may have torn it, before a caller heard that it is durable. If one says so, the disk has lost
 * what it once had, and the store is refused. (No later group vouches for the last group and for
 * what was synced with it: a loss there looks like a write that never finished, unless a hint was
 * written later, or the store was closed.)
 *
 * The last group, and what was not synced before it, may be in the system's memory alone: its sync
 * may have failed, or was not waited for. The caller gets their records, to write them again.
 */
import { entropySeed } from '../../base/index.ts';
import { type Disk, refused } from './disk.ts';
import {
  damaged,
  type FileRange,
  FORMATS_READ,
  type FoundGroup,
  GROUP_BYTES,
  GroupReader,
  type LogRecord,
  type Mark,
  nameOfLog,
  recordsOf,
  type StoredGroup,
} from './record.ts';
import { HINT_FILE, readEnd, readHint, shownByEnd } from './hint.ts';
import type { LogFile, LogState } from './log.ts';
import { newestOf } from './page.ts';
import { SortedIndex } from './sorted-index.ts';

export interface Recovered {
  /** Whether there was no store. */
  readonly isNew: boolean;
  /** The index without the last groups. */
  readonly index: SortedIndex;
  /** The state of the log before the last groups. */
  readonly log: LogState;
  /** The records of the last groups; undefined if all groups are certainly on the disk. */
  readonly last: readonly LogRecord[] | undefined;
  /** Whether the index comes from the hint. */
  readonly usesHint: boolean;
  /** Files that do not count. */
  readonly leftovers: readonly string[];
  /** Bytes by which the log has grown since the hint. */
  readonly replayedBytes: number;
  /** What follows the last group: a write that was cut off, or damage that looks like one. */
  readonly cutOff: readonly FileRange[];
}

/** A file of the log, as far as it counts. */
interface Segment {
  readonly file: number;
  readonly end: number;
  /** Whether the next file says where this one ends. */
  readonly isEnded: boolean;
}

/** A group, and where it begins. */
interface LastGroup {
  readonly at: Mark;
  readonly group: FoundGroup;
}

/** @throws STORE_DAMAGED; STORE_REFUSED if what is there is not a store of this format */
export function recover(disk: Disk): Recovered {
  const numbers = numbersOf(disk);
  if (numbers.length > 0) return new Recovery(disk, numbers).run();
  if (disk.names().includes(HINT_FILE)) {
    throw damaged(HINT_FILE, 0, 'there are no .log files next to it');
  }
  return newStore(0, []);
}

/** The numbers of the files of the log, oldest first. */
export function numbersOf(disk: Disk): readonly number[] {
  const numbers = disk.names().flatMap((name) => /^(\d{10})\.log$/.exec(name)?.[1] ?? []);
  return numbers.map(Number).toSorted((a, b) => a - b);
}

/** @param newest the number of the newest file, which does not count */
function newStore(newest: number, leftovers: readonly string[]): Recovered {
  const log = {
    // Always of ten digits: hints have it as text, and a simulation counts their bytes.
    store: 1e9 + (entropySeed() % 1e9),
    files: new Map<number, LogFile>(),
    end: { file: 0, offset: 0 },
    sequence: 0,
    oldest: 0,
    newest,
  };
  const none = { last: undefined, usesHint: false, replayedBytes: 0, cutOff: [] };
  return { isNew: true, index: new SortedIndex(), log, leftovers, ...none };
}

export function applyRecords(index: SortedIndex, records: Iterable<LogRecord>): void {
  for (const { kind, key, body, footprint, place } of records) {
    if (kind === 'value') continue;
    if (body.length === 0) index.delete(key);
    else index.set(key, { ...place, footprint, newest: newestOf(body) });
  }
}

class Recovery {
  readonly #disk: Disk;
  readonly #numbers: readonly number[];
  readonly #files = new Map<number, LogFile>();
  #index = new SortedIndex();
  #usesHint = false;
  #store = 0;
  /** The number of the last group; undefined if none is known. */
  #sequence: number | undefined;
  /** The number of the last group that the hint may show. */
  #shown = 0;
  #oldest = 0;
  #end: Mark = { file: 0, offset: 0 };
  #replayedBytes = 0;
  /** Groups that were found, may not be on the disk, and are not yet in the index; oldest first. */
  #last: LastGroup[] = [];

  constructor(disk: Disk, numbers: readonly number[]) {
    this.#disk = disk;
    this.#numbers = numbers;
  }

  run(): Recovered {
    try {
      for (const number of this.#numbers) {
        const file = this.#disk.open(nameOfLog(number));
        this.#files.set(number, { file, size: file.size() });
      }
      return this.#recover();
    } catch (error) {
      for (const { file } of this.#files.values()) file.close();
      throw error;
    }
  }

  #recover(): Recovered {
    const segments = this.#segments();
    const base = this.#end;
    this.#useHint(segments);
    const shownByIndex = this.#shown;
    const newest = segments.at(-1)?.file ?? 0;
    this.#shown = Math.max(shownByIndex, shownByEnd(this.#disk, this.#store, newest));
    if (segments.length === 0) return this.#unfinished();
    for (const segment of segments) this.#replay(segment);
    if ((this.#sequence ?? 0) < this.#shown) {
      const { file, offset } = this.#end;
      const isShownByIndex = (this.#sequence ?? 0) < shownByIndex;
      const before = isShownByIndex ? 'its index does' : 'it did when the store was closed';
      throw damaged(nameOfLog(file), offset, `the log ends before ${before}`);
    }
    if (base.file > 0 && base.file >= this.#oldest) {
      throw damaged(nameOfLog(base.file), 0, 'the file is missing');
    }
    const isNeeded = (file: number): boolean =>
      file >= this.#oldest && segments.some((segment) => segment.file === file);
    const leftovers = this.#numbers.filter((file) => !isNeeded(file) || file > this.#end.file);
    const cutOff = this.#cutOff();
    for (const file of leftovers) {
      this.#files.get(file)?.file.close();
      this.#files.delete(file);
    }
    return { ...this.#result(segments), leftovers: leftovers.map(nameOfLog), cutOff };
  }

  /** No group at all is intact: the store was never finished, or it has lost everything. */
  #unfinished(): Recovered {
    const newest = this.#numbers.at(-1) as number;
    for (const [file, { file: opened, size }] of this.#files) {
      if (size > GROUP_BYTES || readEnd(this.#disk) !== undefined) {
        throw damaged(nameOfLog(file), 0, 'its first group is not intact');
      }
      this.#files.delete(file); // `run` closes those that are left.
      opened.close();
    }
    return newStore(newest, this.#numbers.map(nameOfLog));
  }

  /** What is there after the last group. */
  #cutOff(): readonly FileRange[] {
    const { file: last, offset } = this.#end;
    const after = [...this.#files].filter(([file]) => file >= last);
    const ranges = after.map(([file, { size }]) => {
      return { file, from: file === last ? offset : 0, end: size };
    });
    return ranges.filter(({ from, end }) => from < end);
  }

  #result(segments: readonly Segment[]): Omit<Recovered, 'leftovers' | 'cutOff'> {
    const [first] = this.#last;
    const end = first === undefined ? this.#end : startOf(first);
    for (const [file, known] of this.#files) {
      const segment = segments.find((one) => one.file === file);
      if (file === end.file) known.size = end.offset;
      else known.size = file > end.file ? 0 : (segment?.end ?? 0);
    }
    return {
      isNew: false,
      index: this.#index,
      log: {
        store: this.#store,
        files: this.#files,
        end,
        sequence: (this.#sequence ?? 0) - this.#last.length,
        oldest: this.#oldest,
        newest: this.#numbers.at(-1) as number,
      },
      last: first === undefined ? undefined : this.#last.flatMap((one) => [...recordsAt(one)]),
      usesHint: this.#usesHint,
      replayedBytes: this.#replayedBytes,
    };
  }

  /** What counts of each file, oldest first. */
  #segments(): readonly Segment[] {
    const segments: Segment[] = [];
    let limit: Mark | undefined;
    for (const file of this.#numbers.toReversed()) {
      if (limit !== undefined && file < limit.file) break; // Left over, or one is missing.
      const first = this.#firstGroup(file, limit);
      if (first === undefined) continue;
      const { size } = this.#files.get(file) as LogFile;
      const end = limit?.offset ?? size;
      if (end > size) throw damaged(nameOfLog(file), size, 'the file ends too early');
      segments.unshift({ file, end, isEnded: limit !== undefined });
      limit = first.base;
    }
    this.#end = limit ?? this.#end;
    return segments;
  }

  /**
   * The header of a file's first group; undefined if the file does not count. In the newest file
   * the whole group must be intact: it may be the last group of the file before, written again.
   *
   * A file was given up if a later file goes on from a file before it. If the given-up file's first
   * group is intact, the later file goes on from the same place as that group: an opening that
   * finds this group last writes it again, from there. A torn group need not fit: an opening
   * ignores it, and may write the group before it again.
   */
  #firstGroup(file: number, limit: Mark | undefined): StoredGroup | undefined {
    const { size } = this.#files.get(file) as LogFile;
    const reader = this.#reader({ file, from: 0, end: size });
    const isGivenUp = limit !== undefined && file > limit.file;
    const first = limit === undefined || isGivenUp ? reader.next() : reader.header();
    if (first === undefined) {
      // Its first group was never finished, unless more follows.
      if (isGivenUp || (limit === undefined && !reader.wasSynced(0))) return undefined;
      throw damaged(nameOfLog(file), 0, 'its first group is not intact');
    }
    if (!FORMATS_READ.includes(first.format)) throw refused(wrongFormat(first.format));
    if (limit === undefined) this.#store = first.store;
    if (isGivenUp && (first.base.file !== limit.file || first.base.offset !== limit.offset)) {
      throw damaged(nameOfLog(file), 0, 'it does not fit the files next to it');
    }
    return isGivenUp ? undefined : first;
  }

  #useHint(segments: readonly Segment[]): void {
    const hint = readHint(this.#disk);
    if (hint === undefined || (segments.length > 0 && hint.store !== this.#store)) return;
    const { mark } = hint;
    const segment = segments.find(({ file }) => file === mark.file);
    if (mark.file > (segments.at(-1)?.file ?? 0) || mark.offset > (segment?.end ?? Infinity)) {
      throw damaged(nameOfLog(mark.file), segment?.end ?? 0, 'the log ends before its index does');
    }
    if (segment === undefined) return; // That file was cleaned away; the others hold everything.
    this.#usesHint = true;
    this.#index = hint.index;
    this.#shown = hint.shown;
    this.#sequence = hint.sequence;
    this.#oldest = hint.oldest;
    this.#end = mark;
  }

  /** Applies the groups of a segment, each when a later one says that it was synced. */
  #replay({ file, end, isEnded }: Segment): void {
    if (this.#end.file > file) return; // Before the hint.
    const from = this.#end.file === file ? this.#end.offset : 0;
    const reader = this.#reader({ file, from, end });
    for (;;) {
      const at = { file, offset: reader.offset };
      const group = reader.next();
      if (group === undefined || !this.#isNext(group, at)) {
        const isLost = at.offset < end && (isEnded || reader.wasSynced(at.offset));
        if (isLost) throw damaged(nameOfLog(file), at.offset, whatIsWrongWith(group));
        return;
      }
      this.#last.push({ at, group });
      const isShown = group.sequence <= this.#shown; // The hint was written when it was synced.
      this.#applyBefore({ file, offset: isShown ? reader.offset : at.offset - group.unsynced });
      this.#sequence = group.sequence;
      this.#oldest = group.oldest;
      this.#replayedBytes += GROUP_BYTES + group.length;
      this.#end = { file, offset: reader.offset };
    }
  }

  #isNext({ store, sequence, base }: FoundGroup, at: Mark): boolean {
    if (at.offset > 0 && (base.file !== at.file || base.offset !== at.offset)) return false;
    return store === this.#store && sequence === (this.#sequence ?? sequence - 1) + 1;
  }

  /** Applies the groups that begin before the mark: they were on the disk. */
  #applyBefore({ file, offset }: Mark): void {
    const isSynced = ({ at }: LastGroup): boolean => at.file < file || at.offset < offset;
    while (this.#last[0] !== undefined && isSynced(this.#last[0])) {
      applyRecords(this.#index, recordsAt(this.#last.shift() as LastGroup));
    }
  }

  #reader(range: FileRange): GroupReader {
    const known = this.#files.get(range.file) as LogFile;
    return new GroupReader(range, (target, offset) => {
      const read = known.file.read(target, offset);
      if (read === target.length) return;
      throw damaged(nameOfLog(range.file), offset + read, 'the file ends too early');
    });
  }
}

/** The one sentence about what follows the last group. */
export function cutOffText({ file, from, end }: FileRange): string {
  const bytes = end - from;
  return `the last ${bytes === 1 ? 'byte' : `${bytes} bytes`} of ${nameOfLog(file)} are no whole group: a write that was cut off, or damage`;
}

/**
 * Where the log ends without this group. Without the first group of a file, it ends in the file
 * before: no group may depend on a file that has nothing else, because a power cut may still empty
 * that file.
 */
function startOf({ at, group }: LastGroup): Mark {
  return at.offset === 0 ? group.base : at;
}

/** @param group is not the next one; undefined if it is not intact */
function whatIsWrongWith(group: FoundGroup | undefined): string {
  return group === undefined
    ? 'a group is not intact'
    : 'a group does not follow the one before it';
}

function wrongFormat(format: number): string {
  return `it has format ${format}, and this version reads ${FORMATS_READ.join(' and ')}; use the version that wrote it`;
}

function* recordsAt({ at, group }: LastGroup): Generator<LogRecord> {
  yield* recordsOf(group.records, { file: at.file, offset: at.offset + GROUP_BYTES });
}
