/**
 * Converts a history with timestamps to the input of the snapshot-isolation judge
 * (workloads/verification/judges/history.ts).
 *
 *   1. For each transaction, as its line is read (`Collector.add`): operations become reads of the
 *      snapshot and the last write to each key. Reads of own writes are judged here, at once.
 *   2. Timestamps become positions (unknown.ts).
 *   3. Scans become reads.
 *   4. Unknown outcomes are decided by the reads that saw them (unknown.ts).
 *   5. The versions of each key are those that committed transactions wrote. The judge calls them
 *      records; a store judged from outside shows none, so they follow from the clients' reports.
 *
 * If reads tell versions instead of values, the value is the version: `v` and the commit timestamp.
 */
import type { HistoricRecord, HistoricValue, History } from '../../../verification/judges/index.ts';
import { BadLineError } from '../lines.ts';
import {
  type CellName,
  CellNames,
  compareKeys,
  type Draft,
  isInside,
  isWriter,
  type Key,
  type KeyRange,
  locksOnly,
  type OwnContradiction,
} from './cells.ts';
import type {
  ParsedOperation,
  RawTimestamp,
  ReadResult,
  ParsedScan,
  TimestampedTransaction,
} from './transaction.ts';
import { type DecidedOutcomes, decideUnknown, type Positions, positionsOf } from './unknown.ts';

export interface CollectedHistory extends DecidedOutcomes {
  /** Its timestamps are positions. */
  readonly history: History & { readonly transactions: readonly Draft[] };
  readonly positions: Positions;
  readonly own: readonly OwnContradiction[];
}

const OUTCOMES = { ok: 'committed', fail: 'failed', info: 'unknown' } as const;

export class Collector {
  readonly cells: CellNames = new CellNames();
  readonly drafts: Draft[] = [];
  /** The line of each transaction. */
  readonly lines: number[] = [];
  readonly starts: RawTimestamp[] = [];
  readonly commits: (RawTimestamp | undefined)[] = [];
  /**
   * Writes that their own transaction replaced, by cell and value: the index of the transaction.
   */
  readonly replaced: Map<string, number> = new Map<string, number>();
  /** Reads of own writes. */
  ownReads = 0;
  readonly #ownWritesSeen: boolean;
  readonly #processes = new Map<string, string>();
  /** For the transaction being added: the index of each cell in its writes. */
  readonly #written = new Map<CellName, number>();
  readonly #scans: PendingScan[] = [];
  readonly #own: OwnContradiction[] = [];
  /** Whether reads tell values or versions; undefined before the first one that found something. */
  #tells: 'value' | 'version' | undefined;
  /** Whether a read told that it found no version. */
  #toldNoVersion = false;
  /** The first line of a write without a value. */
  #lineWithoutValue: number | undefined;

  /**
   * @param ownWritesSeen whether transactions read their own writes, or always their snapshot
   */
  constructor({ ownWritesSeen }: { readonly ownWritesSeen: boolean }) {
    this.#ownWritesSeen = ownWritesSeen;
  }

  /** The first line of a write that has no value and needs one. */
  get lineWithoutValue(): number | undefined {
    return this.#areVersions ? undefined : this.#lineWithoutValue;
  }

  get #areVersions(): boolean {
    return this.#tells === undefined ? this.#toldNoVersion : this.#tells === 'version';
  }

  /** @throws BadLineError if the transaction contradicts earlier ones, or itself */
  add(given: TimestampedTransaction, line: number): void {
    const { process, outcome, begin = 0, end, start, commit } = given;
    const draft: Draft = {
      process: this.#interned(process),
      startTimestamp: 0,
      outcome: OUTCOMES[outcome],
      beganAt: begin,
      endedAt: end,
      reads: [],
      writes: [],
      locks: [],
    };
    this.#written.clear();
    const to = { index: this.drafts.length, line, draft, written: this.#written };
    for (const operation of given.operations) this.#addOperation(operation, to);
    this.drafts.push(trimmed(draft));
    this.lines.push(line);
    this.starts.push(start);
    this.commits.push(isWriter(draft) ? commit : undefined);
  }

  /** @param strict whether real time counts. Called once, at the end. */
  finish(strict: boolean): CollectedHistory {
    const { drafts, starts, commits } = this;
    const positions = positionsOf(starts, commits, (i) => drafts[i]?.beganAt);
    for (const [i, draft] of drafts.entries()) draft.startTimestamp = positions.starts[i] ?? 0;
    const versions = this.#areVersions;
    if (versions) this.#valuesAreVersions();
    const missed = addMissed(this.#scans, drafts, this.cells);
    const decided = decideUnknown(drafts, { positions, strict, versions });
    for (const draft of drafts) {
      // Real time promises nothing about a transaction that has not committed.
      if (!strict || draft.outcome !== 'committed') draft.endedAt = undefined;
    }
    const records = recordsOf(drafts, decided.commits);
    const history = { transactions: drafts, records, rollbacks: [] };
    return { ...decided, history, positions, own: [...this.#own, ...missed] };
  }

  #addOperation(operation: ParsedOperation, to: TransactionInProgress): void {
    switch (operation.kind) {
      case 'read':
        this.#addRead(operation.key, operation.seen, to);
        break;
      case 'write':
        if (operation.value === undefined) this.#lineWithoutValue ??= to.line;
        this.#addWrite(operation.key, operation.value ?? '', to);
        break;
      case 'delete':
        this.#addWrite(operation.key, undefined, to);
        break;
      case 'lock':
        to.draft.locks.push(this.cells.of(operation.key));
        break;
      case 'scan':
        this.#addScan(operation, to);
    }
  }

  #addRead(key: Key, seen: ReadResult, { index, draft, written }: TransactionInProgress): void {
    this.#checkKind(seen);
    const cell = this.cells.of(key);
    const { version = null } = seen;
    const value = version === null ? seen.value : `v${version}`;
    const own = this.#ownWritesSeen ? written.get(cell) : undefined;
    if (own === undefined && seen.version !== 'own') {
      draft.reads.push({ cell, value });
      return;
    }
    this.ownReads++;
    const write = draft.writes[written.get(cell) ?? -1];
    if (own !== undefined && write !== undefined && isOwnWrite(seen, write)) return;
    const before = write && { ...write }; // A later write of the transaction may change `write`.
    this.#own.push({ claim: 'own write not read', transaction: index, cell, value, before });
  }

  #addWrite(
    key: Key,
    value: string | undefined,
    { index, draft, written }: TransactionInProgress,
  ): void {
    const cell = this.cells.of(key);
    const before = written.get(cell);
    const replaced = before === undefined ? undefined : draft.writes[before];
    if (replaced === undefined) {
      written.set(cell, draft.writes.length);
      draft.writes.push({ cell, value });
    } else {
      if (replaced.value !== undefined) this.replaced.set(`${cell} ${replaced.value}`, index);
      replaced.value = value;
    }
  }

  #addScan({ from, to, limit, rows }: ParsedScan, adding: TransactionInProgress): void {
    const { index: transaction, draft, written } = adding;
    const returned = new Set<CellName>();
    let through: Key | undefined;
    for (const { key, seen } of rows) {
      if (!isInside({ from, to }, key)) {
        throw new BadLineError(
          `a scan must have rows of its range only, but has ${JSON.stringify(key)}`,
        );
      }
      const cell = this.cells.of(key);
      if (returned.has(cell)) {
        const claim = 'row returned twice';
        this.#own.push({ claim, transaction, cell, value: seen.value, before: undefined });
      }
      returned.add(cell);
      if (through === undefined || compareKeys(key, through) > 0) through = key;
      this.#addRead(key, seen, adding);
    }
    const isCut = limit !== undefined && rows.length >= limit;
    const own = new Map<CellName, string | undefined>();
    if (this.#ownWritesSeen) {
      for (const [cell, i] of written) own.set(cell, draft.writes[i]?.value);
    }
    const range = isCut ? { from, to, through } : { from, to };
    this.#scans.push({ transaction, range, returned, own });
  }

  #checkKind({ value, version }: ReadResult): void {
    if (version === null) this.#toldNoVersion = true;
    if ((value ?? version ?? null) === null) return; // There was no value, in either kind.
    const tells = version === undefined ? 'value' : 'version';
    this.#tells ??= tells;
    if (this.#tells === tells) return;
    throw new BadLineError(
      `the reads of a file must all have a "value" or all a "version", but this one has a "${tells}"`,
    );
  }

  #valuesAreVersions(): void {
    for (const [i, { writes }] of this.drafts.entries()) {
      const version = this.commits[i] === undefined ? `?${i}` : `v${this.commits[i]}`;
      for (const write of writes) if (write.value !== undefined) write.value = version;
    }
  }

  /** Whether a scan of the transaction went over the cell. */
  isScanned(transaction: number, cell: CellName): boolean {
    const key = JSON.parse(cell) as Key;
    return this.#scans.some(
      ({ transaction: scanner, range }) => scanner === transaction && isInside(range, key),
    );
  }

  #interned(process: string): string {
    const known = this.#processes.get(process);
    if (known === undefined) this.#processes.set(process, process);
    return known ?? process;
  }
}

interface TransactionInProgress {
  readonly index: number;
  readonly line: number;
  readonly draft: Draft;
  /** The index of each cell in its writes. */
  readonly written: Map<CellName, number>;
}

const NONE: never[] = [];

/** Grown arrays keep spare capacity, which is too much for a million transactions. */
function trimmed(draft: Draft): Draft {
  const { reads, writes, locks } = draft;
  draft.reads = reads.slice();
  draft.writes = writes.slice();
  draft.locks = locks.length === 0 ? NONE : locks.slice();
  return draft;
}

function isOwnWrite({ value, version = null }: ReadResult, write: HistoricValue): boolean {
  if (version === null) return value === write.value;
  return version === 'own' && write.value !== undefined;
}

/** Records in commit order, which saves the judge the sorting. */
function recordsOf(drafts: readonly Draft[], commits: Float64Array): readonly HistoricRecord[] {
  const order = new Uint32Array(drafts.keys()).filter((i) => commits[i] !== 0);
  order.sort((a, b) => (commits[a] ?? 0) - (commits[b] ?? 0));
  const records: HistoricRecord[] = [];
  for (const i of order) {
    const draft = drafts[i];
    const commitTimestamp = commits[i] ?? 0;
    if (draft === undefined) continue;
    const { startTimestamp, writes, outcome } = draft;
    if (outcome === 'committed') draft.commitTimestamp = commitTimestamp;
    for (const { cell, value } of writes) {
      const operation = value === undefined ? 'delete' : 'put';
      records.push({ cell, startTimestamp, commitTimestamp, operation });
    }
    for (const cell of locksOnly(draft)) {
      records.push({ cell, startTimestamp, commitTimestamp, operation: 'touch' });
    }
  }
  return records;
}

/*
 * Converts scans to reads. The rows that a scan returned are reads of those keys; every other key
 * of its range that occurs anywhere in the history is a read as absent. So the judge of reads finds
 * rows that a scan has missed (phantoms), without knowing scans.
 */

interface PendingScan {
  /** The index of its transaction. */
  readonly transaction: number;
  readonly range: KeyRange;
  readonly returned: ReadonlySet<CellName>;
  /** Writes of the transaction before the scan. */
  readonly own: ReadonlyMap<CellName, string | undefined>;
}

/**
 * Adds the reads of the keys that the scans did not return.
 * @returns own writes that they should have returned
 */
function addMissed(
  scans: readonly PendingScan[],
  drafts: readonly Draft[],
  cells: CellNames,
): readonly OwnContradiction[] {
  const contradictions: OwnContradiction[] = [];
  for (const { transaction, range, returned, own } of scans) {
    for (const cell of cells.between(range)) {
      if (returned.has(cell)) continue;
      if (!own.has(cell)) {
        drafts[transaction]?.reads.push({ cell, value: undefined });
      } else if (own.get(cell) !== undefined) {
        const claim = 'own write not read';
        const before = { cell, value: own.get(cell) };
        contradictions.push({ claim, transaction, cell, value: undefined, before });
      }
    }
  }
  return contradictions;
}
