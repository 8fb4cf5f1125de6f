/**
 * Opens what is left of a damaged store, for reading alone, as fsck asks for it.
 *
 *     recover ─┬─ succeeds ─▶ its index; the log is read once more, for damage where nothing is in use
 *              └─ refuses ──▶ every file: intact groups, and intact records between them ─▶ index
 *                             the hint, if it is legible: the rows that the log should have
 *
 * Damage becomes a gap (gaps.ts). A row whose newest page was there stays in the index, so that
 * reading it says STORE_DAMAGED and names it: the hint knows such rows, and so do damaged records
 * with legible keys. Of a gap without either it cannot be told what was in it: a row may be
 * missing, or as it was before. The damage says which of this holds.
 *
 * What follows the last group is ignored, as every opening ignores it. Nothing is written.
 */
import { hasCode } from '../../base/index.ts';
import { type Damage, TIMESTAMP_MAX } from '../bigtable.ts';
import { type Catalog, CATALOG_ROW, EMPTY_CATALOG, SalvagedCatalog } from './catalog.ts';
import { type Disk, reasonOf } from './disk.ts';
import { damageOf, emptyGap, type Gap, gapAt } from './gaps.ts';
import {
  bodyOf,
  damaged,
  type FileRange,
  type FoundGroup,
  GROUP_BYTES,
  GroupReader,
  isIntact,
  type LogRecord,
  type Mark,
  nameOfLog,
  recordsOf,
  withoutAdvice,
} from './record.ts';
import { type Hint, HINT_FILE, readHint, shownByEnd } from './hint.ts';
import { rowKeyOf, tableIdOf } from './keys.ts';
import type { Entry, Place } from './leaf.ts';
import type { LogFile } from './log.ts';
import { cellAt, placeAt } from './page.ts';
import { applyRecords, cutOffText, numbersOf, recover, type Recovered } from './recovery.ts';
import { NONE, SortedIndex } from './sorted-index.ts';

export interface Salvaged extends Recovered {
  readonly damage: readonly Damage[];
  /** Undefined: the one in the log. */
  readonly catalog: Catalog | undefined;
}

/**
 * @param disk whose files give zeroes where they cannot be read (disk.ts)
 * @throws what `recover` throws, if it is not damage, or if nothing can be read
 */
export function salvage(disk: Disk): Salvaged {
  try {
    return withDamage(disk, recover(disk));
  } catch (error) {
    const files = new Map<number, LogFile>();
    const damage = [...whyDamaged(error), ...openFiles(disk, files)];
    const found = damage.length > 0 ? new Salvage(files, damage).run(disk) : undefined;
    if (found !== undefined) return found;
    for (const { file } of files.values()) file.close();
    throw error;
  }
}

function whyDamaged(error: unknown): readonly Damage[] {
  if (!hasCode(error, 'STORE_DAMAGED')) return [];
  return [lost(`the store cannot be opened as it is: ${withoutAdvice(error.message)}`)];
}

function lost(sentence: string): Damage {
  return { severity: 'error', sentence };
}

/** Returns what is wrong with files that cannot be opened. */
function openFiles(disk: Disk, files: Map<number, LogFile>): readonly Damage[] {
  const damage: Damage[] = [];
  for (const number of numbersOf(disk)) {
    try {
      const file = disk.open(nameOfLog(number));
      files.set(number, { file, size: file.size() });
    } catch (error) {
      const what = `the store cannot be opened as it is, and ${nameOfLog(number)} is left out`;
      damage.push(lost(`${what}: ${reasonOf(error)}`));
    }
  }
  return damage;
}

/** A store that can be opened may be damaged in single rows, or where nothing is in use. */
function withDamage(disk: Disk, recovered: Recovered): Salvaged {
  const { isNew, index, log, cutOff, leftovers } = recovered;
  if (isNew && leftovers.length > 0) {
    throw damaged(leftovers[0] ?? '', 0, 'no file of the log has a whole group');
  }
  const catalog = storedCatalog(recovered);
  const gaps: Gap[] = [];
  for (const [file, { size }] of log.files) {
    const reader = readerOf(log.files, { file, from: 0, end: size });
    while (reader.offset < size) if (reader.next() === undefined) gaps.push(gapAt(reader));
  }
  const telling = {
    severity: 'warning',
    index,
    tables: namesIn(catalog),
    isKnown: () => true,
  } as const;
  const damage = [
    ...damageOf(gaps, telling),
    ...cutOff.map(cutOffDamage),
    ...(readHint(disk) === undefined && hasHint(disk) ? [HINT_DAMAGED] : []),
  ];
  return { ...recovered, damage, catalog: undefined };
}

function hasHint(disk: Disk): boolean {
  return disk.names().includes(HINT_FILE);
}

const HINT_DAMAGED: Damage = {
  severity: 'warning',
  sentence: `the file ${HINT_FILE} cannot be used, so it is not known whether the log has lost its end; it is made again`,
};

/** @throws STORE_DAMAGED if it cannot be read */
function storedCatalog({ index, log }: Recovered): Catalog {
  const place = index.get(CATALOG_ROW);
  if (place === undefined) return EMPTY_CATALOG; // There is none, or it is in the last groups.
  const page = recordAt(log.files, place);
  const catalog = page && catalogIn(page, (value) => recordAt(log.files, value));
  if (catalog !== undefined) return catalog;
  throw damaged(nameOfLog(place.file), place.offset, 'the list of tables has the wrong checksum');
}

function namesIn({ tables }: Catalog): ReadonlyMap<number, string> {
  return new Map(tables.map(({ id, name }) => [id, name]));
}

function cutOffDamage(range: FileRange): Damage {
  return { severity: 'warning', sentence: cutOffText(range) };
}

function readerOf(files: ReadonlyMap<number, LogFile>, range: FileRange): GroupReader {
  const { file } = files.get(range.file) as LogFile;
  return new GroupReader(range, (target, offset) => {
    target.fill(0, file.read(target, offset));
  });
}

/** A file of the log, as far as it counts. */
interface Part extends FileRange {
  readonly isLast: boolean;
}

class Salvage {
  readonly #files: ReadonlyMap<number, LogFile>;
  readonly #damage: Damage[];
  readonly #index = new SortedIndex();
  readonly #catalog = new SalvagedCatalog();
  readonly #gaps: Gap[] = [];
  #hint: Hint | undefined;
  /** The number of the last group that must be there. */
  #shown = 0;
  #store: number | undefined;
  /** Where the newest catalog is that is intact. */
  #catalogAt: Mark = { file: 0, offset: 0 };
  /** Of the last group that is intact. */
  #sequence: number | undefined;
  #oldest = 0;
  #end: Mark = { file: 0, offset: 0 };

  constructor(files: ReadonlyMap<number, LogFile>, damage: readonly Damage[]) {
    this.#files = files;
    this.#damage = [...damage];
  }

  /** Undefined if no group is intact. */
  run(disk: Disk): Salvaged | undefined {
    this.#identify(disk);
    for (const part of this.#parts()) this.#read(part);
    if (this.#sequence === undefined || this.#store === undefined) return undefined;
    if (this.#hint !== undefined) this.#mergeHint(this.#hint);
    const ids = new Set(Array.from(entriesOf(this.#index), ([key]) => tableIdOf(key)));
    if (Math.max(...ids) >= this.#catalog.catalog.nextId) this.#catalog.lose();
    this.#tellGaps();
    this.#tellCatalog();
    return {
      isNew: false,
      index: this.#index,
      log: {
        store: this.#store,
        files: new Map(this.#files),
        end: this.#end,
        sequence: this.#sequence,
        oldest: this.#oldest,
        newest: this.#end.file,
      },
      last: undefined,
      usesHint: this.#hint !== undefined,
      leftovers: [],
      replayedBytes: 0,
      cutOff: [],
      damage: this.#damage,
      catalog: this.#catalog.catalog,
    };
  }

  /** Files of other stores may be among those of this one: most files say which one it is. */
  #identify(disk: Disk): void {
    const stores = [...this.#files.keys()].flatMap((file) => this.#storeOf(file) ?? []);
    const counts = [...Map.groupBy(stores, (store) => store)];
    const [most] = counts.toSorted(([, a], [, b]) => b.length - a.length);
    const hint = readHint(disk);
    this.#store = most?.[0] ?? hint?.store;
    if (hint?.store === this.#store) this.#hint = hint;
    const newest = Math.max(0, ...this.#files.keys());
    const atEnd = this.#store === undefined ? 0 : shownByEnd(disk, this.#store, newest);
    this.#shown = Math.max(this.#hint?.shown ?? 0, atEnd);
    if (this.#hint !== undefined || !hasHint(disk)) return;
    this.#damage.push(lost(`the file ${HINT_FILE} cannot be used: it would tell what is lost`));
  }

  #storeOf(file: number): number | undefined {
    const reader = this.#wholeFile(file);
    const first = reader.header();
    if (first !== undefined) return first.store;
    reader.skip();
    return reader.header()?.store;
  }

  #wholeFile(file: number): GroupReader {
    const { size } = this.#files.get(file) as LogFile;
    return readerOf(this.#files, { file, from: 0, end: size });
  }

  /** What counts of each file, oldest first, as in `Recovery`. */
  #parts(): readonly Part[] {
    const parts: Part[] = [];
    let next: Mark | undefined;
    for (const file of [...this.#files.keys()].toReversed()) {
      if (next !== undefined && file > next.file) continue; // It was given up.
      if (next !== undefined && file < next.file) this.#addMissing(next);
      const { size } = this.#files.get(file) as LogFile;
      const end = next?.file === file ? next.offset : size;
      if (end > size) this.#gaps.push(emptyGap(file, { from: size, to: end }, TOO_SHORT));
      parts.unshift({ file, from: 0, end: Math.min(end, size), isLast: parts.length === 0 });
      const first = this.#wholeFile(file).header();
      next = first?.store === this.#store ? first?.base : undefined;
    }
    if (next !== undefined && next.file > 0) this.#addMissing(next);
    return parts;
  }

  #addMissing({ file, offset }: Mark): void {
    this.#gaps.push(emptyGap(file, { from: 0, to: offset }, 'the file is missing'));
  }

  #read({ isLast, ...range }: Part): void {
    const reader = readerOf(this.#files, range);
    while (reader.offset < range.end) {
      const from = reader.offset;
      const group = reader.next();
      if (group === undefined) {
        const isCutOff = isLast && (this.#sequence ?? 0) >= this.#shown && !reader.wasSynced(from);
        if (isCutOff) {
          this.#damage.push(cutOffDamage({ ...range, from }));
          return;
        }
        const gap = gapAt(reader);
        this.#gaps.push(gap);
        this.#take(gap.intact);
        for (const record of gap.lost) this.#lose(record);
      } else if (group.store === this.#store) this.#takeGroup(group, range.file);
      else {
        const place = { from, to: reader.offset };
        this.#gaps.push(emptyGap(range.file, place, 'a group is of another store'));
      }
    }
  }

  #takeGroup({ sequence, oldest, offset, records }: FoundGroup, file: number): void {
    this.#sequence = sequence;
    this.#oldest = Math.max(this.#oldest, oldest);
    const first = { file, offset: offset + GROUP_BYTES };
    this.#end = { file, offset: first.offset + records.length };
    this.#take(recordsOf(records, first));
  }

  #take(records: Iterable<LogRecord>): void {
    for (const record of records) {
      if (!isOfCatalog(record.key)) applyRecords(this.#index, [record]);
      else if (record.kind === 'value') this.#catalog.addDamaged(record.body);
      else this.#takeCatalog(record);
    }
  }

  #takeCatalog({ body: page, place }: LogRecord): void {
    const catalog = catalogIn(page, (value) => recordAt(this.#files, value));
    this.#catalogAt = place;
    if (catalog === undefined) this.#catalog.lose();
    else this.#catalog.add(catalog);
  }

  /** The row stays in the index, at a place that cannot be read. */
  #lose({ kind, key, body, place, footprint }: LogRecord): void {
    if (isOfCatalog(key)) {
      this.#catalog.lose();
      this.#catalog.addDamaged(body);
    } else if (kind === 'page') {
      this.#index.set(key, { ...place, footprint, newest: TIMESTAMP_MAX });
    }
  }

  /** What the hint shows, and the log does not, is lost; and what it does not show is gone. */
  #mergeHint({ index: shown, mark }: Hint): void {
    for (const [key, entry] of entriesOf(shown)) {
      const isCatalog = isOfCatalog(key);
      const found = isCatalog ? this.#catalogAt : this.#index.get(key);
      if (found !== undefined && !isBefore(found, entry)) continue;
      if (isCatalog) this.#catalog.lose();
      else this.#index.set(key, { ...entry, newest: TIMESTAMP_MAX });
    }
    const gone = [...entriesOf(this.#index)].filter(([key, entry]) => {
      return isBefore(entry, mark) && shown.get(key) === undefined;
    });
    for (const [key] of gone) this.#index.delete(key);
  }

  #tellGaps(): void {
    const { mark } = this.#hint ?? {};
    const tables = namesIn(this.#catalog.catalog);
    const isKnown = ({ file, to }: Gap): boolean =>
      mark !== undefined && !isBefore(mark, { file, offset: to });
    const needed = this.#gaps.filter(({ file }) => file >= this.#oldest);
    const gaps = needed.toSorted((a, b) => a.file - b.file || a.from - b.from);
    const telling = { severity: 'error', index: this.#index, tables, isKnown } as const;
    this.#damage.push(...damageOf(gaps, telling));
  }

  #tellCatalog(): void {
    const catalog = this.#catalog;
    if (catalog.isNewest) return;
    const { tables } = catalog.catalog;
    const names = tables.map(({ name }) => name);
    const found =
      names.length === 0 ? 'no table of it can be told' : `legible are ${names.join(', ')}`;
    const sentences = [
      `the list of tables is damaged: ${found}`,
      ...catalog.doubtful.map(
        ({ name }) => `the name of table ${name} is from damaged bytes, and may be a wrong one`,
      ),
      ...this.#namelessRows(new Set(tables.map(({ id }) => id))),
    ];
    for (const sentence of sentences) this.#damage.push({ ...lost(sentence), hidesTables: true });
  }

  #namelessRows(ids: ReadonlySet<number>): readonly string[] {
    const rows = new Map<number, Set<string>>();
    for (const [key] of entriesOf(this.#index)) {
      const id = tableIdOf(key);
      if (ids.has(id)) continue;
      rows.set(id, (rows.get(id) ?? new Set()).add(rowKeyOf(key).toString('latin1')));
    }
    return Array.from(rows, ([id, keys]) => {
      return `a table (id ${id}) has lost its name, so its ${keys.size} rows cannot be read`;
    });
  }
}

const TOO_SHORT = 'the file ends too early';

function isOfCatalog(key: Buffer): boolean {
  return key.subarray(0, CATALOG_ROW.length).equals(CATALOG_ROW);
}

/** The only value of the only page of the catalog's row. */
function catalogIn(
  page: Buffer,
  valueAt: (place: Place) => Buffer | undefined,
): Catalog | undefined {
  const { keyEnd, isPlace, end } = cellAt(page, 0);
  const text = isPlace ? valueAt(placeAt(page, keyEnd)) : page.subarray(keyEnd, end);
  return text && (JSON.parse(text.toString()) as Catalog);
}

/** The body of a record; undefined if it is not intact. */
function recordAt(files: ReadonlyMap<number, LogFile>, place: Place): Buffer | undefined {
  const known = files.get(place.file);
  const record = Buffer.alloc(place.length);
  if (known === undefined || known.file.read(record, place.offset) < place.length) return undefined;
  return isIntact(record, place) ? bodyOf(record, 0, record.length) : undefined;
}

function* entriesOf(index: SortedIndex): Generator<readonly [key: Buffer, entry: Entry]> {
  for (let at = index.ceiling(Buffer.alloc(0)); at !== NONE; at = index.next(at)) {
    yield [index.key(at), index.entry(at)];
  }
}

function isBefore(a: Mark, b: Mark): boolean {
  return a.file < b.file || (a.file === b.file && a.offset < b.offset);
}
