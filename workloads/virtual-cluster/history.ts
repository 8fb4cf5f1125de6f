/**
 * The history of a sample of rows, for the judges of snapshot isolation and of notifications: what
 * transactions read and wrote there, what they were told, and every record that the tablet servers
 * ever held of these rows.
 *
 *     observer.run, transact, snapshot ──▶ recorded: reads and writes of sampled rows ─┐
 *     storage.observe ──▶ records and rollback records of sampled rows ───────────────┴──▶ judges
 *
 * A judge looks at one cell at a time, except that the cells of one transaction must agree; so the
 * history of some rows, with the parts of all transactions that concern them, is judged as exactly
 * as the whole would be. Judge when the cluster is at rest: a lock that is not yet resolved would
 * seem to be half a commit.
 *
 * Rows of a background count as written by one transaction before all others, and so do those of a
 * bulk load, which puts data and write record there at once, as no transaction does.
 */
import type {
  CommittedRun,
  Observer,
  Percolator,
  Reader,
  ScannedRow,
  ScanRange,
  Snapshot,
  Transaction,
} from '#engine';
import type { Mutation, Timestamp } from '../../engine/bigtable/index.ts';
import {
  type CellAddress,
  CELLS,
  columnOf,
  type CommitTimes,
  DATA,
  decodeWriteRecord,
  isOf,
  NOTIFY,
  notifyTable,
  ROLLBACK,
  WRITE,
} from '../../engine/transaction/index.ts';
import {
  historicCell,
  type HistoricRollback,
  type HistoricRecord,
  type HistoricScan,
  type HistoricTransaction,
  judgeNotifications,
  judgeSnapshotIsolation,
  type Violation,
} from '../verification/judges/index.ts';
import { formatCount } from '#results';
import type { VirtualCluster } from './cluster.ts';
import { compareKeys, positionOf } from '../verification/world/table.ts';
import { hashOf } from './tablets.ts';

/** A transaction in progress. */
interface SampledRecording {
  readonly process: string;
  readonly startTimestamp: Timestamp;
  readonly beganAt: number;
  outcome: HistoricTransaction['outcome'];
  commitTimestamp?: Timestamp;
  endedAt?: number;
  readonly reads: Map<string, string | undefined>;
  readonly writes: Map<string, string | undefined>;
  readonly scans: HistoricScan[];
  run?: HistoricTransaction['run'];
}

/** The methods of a transaction or of a snapshot that are recorded. */
interface Recordable extends Reader {
  readonly set?: Transaction['set'];
  readonly delete?: Transaction['delete'];
  readonly close?: Snapshot['close'];
}

/** Values are told apart by their beginnings: documents are long. */
const VALUE_CHARACTERS = 60;
/** Timestamps that are kept: thousands of machines may have transactions that wait for a core. */
const ASKED_KEPT = 1_000_000;

export class HistoryRecorder {
  readonly #cluster: VirtualCluster;
  /** One row of this many is in the sample. */
  readonly #share: number;
  /** When the rows of the background were committed. */
  background: CommitTimes | undefined;
  readonly #recordings = new Map<Timestamp, SampledRecording>();
  readonly #records = new Map<string, HistoricRecord>();
  readonly #rollbacks = new Map<string, HistoricRollback>();
  /** The sampled rows that were ever written, by table, in order. */
  readonly #rows = new Map<string, string[]>();
  /** What the background holds in the cells that were read. */
  readonly #loaded = new Map<string, string>();
  /** What bulk loads have put into sampled rows, by their start timestamps. */
  readonly #bulk = new Map<Timestamp, SampledRecording>();
  /** Transactions that saw two values in one cell; the judges see only the first. */
  readonly #misreads: Violation[] = [];
  /** When the last timestamps were asked for. */
  readonly #askedAt = new Map<Timestamp, number>();

  /** To be called before the databases are opened. */
  constructor(cluster: VirtualCluster, share: number) {
    this.#cluster = cluster;
    this.#share = share;
    cluster.storage.observe = this.#observe;
    cluster.watchTimestamp = this.#noteAsked;
  }

  /** The same observer, recorded. Pass `committed` to its worker as well. */
  observer(process: string, observer: Observer): Observer {
    return {
      ...observer,
      run: (transaction, cell, change) => {
        const recording = this.#begin(process, transaction);
        if (this.#isSampled(cell)) {
          recording.run = { observer: observer.name, cell: historicCell(cell), weak: false };
        }
        return observer.run(this.#recorded(transaction, recording), cell, change);
      },
    };
  }

  readonly committed = ({ startTimestamp, commitTimestamp }: CommittedRun): void => {
    this.#end(this.#recordings.get(startTimestamp), commitTimestamp);
  };

  /** The same database, whose transactions and snapshots are recorded. */
  database(process: string, percolator: Percolator): Percolator {
    const transact: Percolator['transact'] = async (body, options) => {
      let last: SampledRecording | undefined;
      const result = await percolator.transact((transaction) => {
        last = this.#begin(process, transaction);
        return body(this.#recorded(transaction, last));
      }, options);
      this.#end(last);
      return result;
    };
    const snapshot: Percolator['snapshot'] = async (...given) => {
      const opened = await percolator.snapshot(...given);
      return this.#recorded<Snapshot>(opened, this.#begin(process, opened));
    };
    return withOwn(percolator, { transact, snapshot });
  }

  /** How many transactions are in the sample. */
  get transactions(): number {
    return this.#recordings.size;
  }

  /** What the judges have found, now that the cluster is at rest. */
  judge(observers: readonly Observer[]): readonly Violation[] {
    const left = observers.flatMap((observer) => this.#notificationsOf(observer));
    const history = {
      transactions: [...this.#recordings.values(), ...this.#loadedTransactions()].map(historic),
      records: [...this.#records.values()],
      rollbacks: [...this.#rollbacks.values()],
    };
    return [
      ...this.#misreads,
      ...judgeSnapshotIsolation(history),
      ...judgeNotifications(history, { observers, left }),
    ];
  }

  #begin(process: string, { startTimestamp }: Reader): SampledRecording {
    const { nowUs } = this.#cluster.loop;
    const recording: SampledRecording = {
      process,
      startTimestamp,
      beganAt: this.#askedAt.get(startTimestamp) ?? nowUs,
      outcome: 'unknown',
      reads: new Map(),
      writes: new Map(),
      scans: [],
    };
    return recording;
  }

  readonly #noteAsked = (timestamp: Timestamp, askedUs: number): void => {
    this.#askedAt.set(timestamp, askedUs);
    if (this.#askedAt.size <= 2 * ASKED_KEPT) return;
    let left = ASKED_KEPT;
    for (const old of this.#askedAt.keys()) {
      if (left-- === 0) break;
      this.#askedAt.delete(old);
    }
  };

  #end(recording: SampledRecording | undefined, commitTimestamp?: Timestamp): void {
    if (recording === undefined) return;
    recording.outcome = 'committed';
    recording.endedAt = this.#cluster.loop.nowUs;
    if (commitTimestamp !== undefined) recording.commitTimestamp = commitTimestamp;
  }

  /** The transaction or snapshot, whose reads and writes of sampled rows are recorded. */
  #recorded<T extends Recordable>(target: T, recording: SampledRecording): T {
    const close = async (): Promise<void> => {
      await target.close?.();
      this.#end(recording);
    };
    const own: Omit<Recordable, 'startTimestamp'> & AsyncDisposable = {
      get: async (cell) => {
        const value = await target.get(cell);
        this.#read(recording, cell, value);
        return value;
      },
      getMany: async (cells) => {
        const values = await target.getMany(cells);
        for (const [i, cell] of cells.entries()) this.#read(recording, cell, values[i]);
        return values;
      },
      scan: (range) => this.#scanned(recording, range, target.scan(range)),
      set: (cell, value) => {
        this.#written(recording, cell, textOf(value));
        target.set?.(cell, value);
      },
      delete: (cell) => {
        this.#written(recording, cell, undefined);
        target.delete?.(cell);
      },
      close,
      [Symbol.asyncDispose]: close,
    };
    return new Proxy(target, {
      get: (_, name) => {
        const value = own[name as keyof typeof own];
        if (value === undefined && !KNOWN.has(name)) {
          throw new Error(`${String(name)} is not recorded`);
        }
        return value ?? target[name as keyof T];
      },
    });
  }

  /** A scan that its reader ends early says nothing of the rows after that. */
  async *#scanned(
    recording: SampledRecording,
    range: ScanRange,
    rows: AsyncIterable<ScannedRow>,
  ): AsyncGenerator<ScannedRow> {
    const { table, start, end, columns } = range;
    const returned: string[] = [];
    for await (const scanned of rows) {
      const { row, values } = scanned;
      for (const [column, value] of values) {
        const cell = { table, row, column };
        if (this.#isSampled(cell)) returned.push(historicCell(cell));
        this.#read(recording, cell, value);
      }
      yield scanned;
    }
    // The scan says nothing about cells that its transaction has written.
    const own = [...recording.writes.keys()];
    recording.scans.push({ table, start, end, columns, returned: [...returned, ...own] });
    // It may have lost the only sampled row that it should have returned.
    if (this.#holdsSampled(range)) this.#recordings.set(recording.startTimestamp, recording);
  }

  /** Whether a sampled row lies in the range: all are known, prewritten or loaded in bulk. */
  #holdsSampled({ table, start = '', end }: ScanRange): boolean {
    const rows = this.#rows.get(table) ?? [];
    const first = rows[positionOf(rows, start)];
    return first !== undefined && (end === undefined || compareKeys(first, end) < 0);
  }

  #noteRow(table: string, row: string): void {
    const rows = this.#rows.get(table) ?? [];
    this.#rows.set(table, rows);
    const position = positionOf(rows, row);
    if (rows[position] !== row) rows.splice(position, 0, row);
  }

  #read(recording: SampledRecording, cell: CellAddress, value: Uint8Array | undefined): void {
    if (!this.#isSampled(cell)) return;
    this.#recordings.set(recording.startTimestamp, recording);
    const name = historicCell(cell);
    if (!recording.writes.has(name)) this.#noteRead(recording, name, textOf(value));
    this.#noteLoaded(cell, name);
  }

  #noteRead(
    { startTimestamp, reads }: SampledRecording,
    cell: string,
    value: string | undefined,
  ): void {
    const first = reads.get(cell);
    if (!reads.has(cell)) reads.set(cell, value);
    else if (first !== value) {
      const what = `read ${first ?? 'nothing'} from ${cell} and then ${value ?? 'nothing'}`;
      const message = `the transaction of ${startTimestamp} ${what}`;
      this.#misreads.push({ claim: 'transactions: two reads of a cell differ', message });
    }
  }

  /** Notes what the background, which is older than all writes, holds in the cell. */
  #noteLoaded(cell: CellAddress, name: string): void {
    const times = this.background;
    if (times === undefined || this.#loaded.has(name)) return;
    const cells = this.#cluster.storage.table(cell.table).background?.(cell.row);
    const data = cells?.find(({ timestamp }) => timestamp === times.startTimestamp);
    if (data === undefined) return;
    this.#loaded.set(name, textOf(data.value) ?? '');
    const { startTimestamp, commitTimestamp } = times;
    const record = { cell: name, startTimestamp, commitTimestamp, operation: 'put' } as const;
    this.#records.set(`${name}@${commitTimestamp}`, record);
  }

  #written(recording: SampledRecording, cell: CellAddress, value: string | undefined): void {
    if (!this.#isSampled(cell)) return;
    this.#recordings.set(recording.startTimestamp, recording);
    recording.writes.set(historicCell(cell), value);
  }

  #loadedTransactions(): readonly SampledRecording[] {
    const times = this.background;
    const bulk = [...this.#bulk.values()];
    if (times === undefined || this.#loaded.size === 0) return bulk;
    return [...bulk, { ...loading(times), writes: this.#loaded }];
  }

  /** Data and record at once are those of a bulk load. */
  #noteBulk(column: string, record: HistoricRecord, mutations: readonly Mutation[]): void {
    const { cell, startTimestamp } = record;
    const data = mutations.find(
      (one) =>
        one.kind === 'set' &&
        isOf(DATA, one) &&
        one.timestamp === startTimestamp &&
        columnOf(one) === column,
    );
    if (data?.kind !== 'set') return;
    const load = this.#bulk.get(startTimestamp) ?? loading(record);
    this.#bulk.set(startTimestamp, load);
    load.writes.set(cell, textOf(data.value));
  }

  readonly #observe = (table: string, row: string, mutations: readonly Mutation[]): void => {
    if (!this.#isSampled({ table, row })) return;
    this.#noteRow(table, row);
    for (const mutation of mutations) {
      if (mutation.kind !== 'set' || mutation.family !== CELLS) continue;
      const cell = historicCell({ table, row, column: columnOf(mutation) });
      const name = `${cell}@${mutation.timestamp}`;
      if (isOf(WRITE, mutation)) {
        const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(mutation);
        const record = { cell, startTimestamp, commitTimestamp, operation };
        this.#records.set(name, record);
        this.#noteBulk(columnOf(mutation), record, mutations);
      } else if (isOf(ROLLBACK, mutation)) {
        this.#rollbacks.set(name, { cell, startTimestamp: mutation.timestamp });
      }
    }
  };

  #notificationsOf({ table, column }: Observer): readonly string[] {
    const notifications = [{ family: NOTIFY, qualifier: column }];
    const data = this.#cluster.storage.table(notifyTable(table));
    const rows = data.readRange({ limit: Infinity }, notifications).map(({ key }) => key);
    return rows
      .filter((row) => this.#isSampled({ table, row }))
      .map((row) => historicCell({ table, row, column }));
  }

  #isSampled({ row }: { readonly table: string; readonly row: string }): boolean {
    return hashOf(row) % this.#share === 0;
  }
}

/** For the check of a run: how many transactions were judged, and for what. */
export function judgedWords(transactions: number, has: { readonly observers: boolean }): string {
  if (transactions === 0) return 'no history was judged, because no cluster came to rest';
  const judged = `the ${formatCount(transactions)} transactions that touched a sample of rows satisfy snapshot isolation`;
  return has.observers ? `${judged}, and every change in it was observed` : judged;
}

/** What readers and bodies use besides what is recorded. */
const KNOWN: ReadonlySet<string | symbol> = new Set(['startTimestamp', 'then']);

/** The object with some methods in place of its own; the others work on the object itself. */
function withOwn<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(own as T, {
    get: (_, name) => {
      const value: unknown = own[name as keyof T] ?? target[name as keyof T];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The load as a transaction, before all others. */
function loading({ startTimestamp, commitTimestamp }: CommitTimes): SampledRecording {
  const empty = { process: 'the load', beganAt: 0, endedAt: 0, outcome: 'committed' } as const;
  const nothing = { reads: new Map(), writes: new Map(), scans: [] };
  return { ...empty, startTimestamp, commitTimestamp, ...nothing };
}

function textOf(value: string | Uint8Array | undefined): string | undefined {
  if (value === undefined || typeof value === 'string') return value?.slice(0, VALUE_CHARACTERS);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString(
    'latin1',
    0,
    VALUE_CHARACTERS,
  );
}

function historic({
  reads,
  writes,
  commitTimestamp,
  ...rest
}: SampledRecording): HistoricTransaction {
  // If the transaction wrote no row of the sample, the sample cannot show its commit.
  const hasRecord = writes.size > 0 || rest.run !== undefined;
  const committed = commitTimestamp !== undefined && hasRecord ? { commitTimestamp } : {};
  const values = (map: ReadonlyMap<string, string | undefined>) =>
    [...map].map(([cell, value]) => ({ cell, value }));
  return { ...rest, ...committed, reads: values(reads), writes: values(writes), locks: [] };
}
