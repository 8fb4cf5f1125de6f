/**
 * The history of a sample of rows, for the judges of snapshot isolation and of notifications: what
 * transactions read and wrote there, what they were told, and every record that the tablet servers
 * ever held of these rows.
 *
 *     observer.run, transact ──▶ recorded: reads and writes of sampled rows ─┐
 *     storage.observe ──▶ records and markers of sampled rows ──────────────┴──▶ judges
 *
 * A judge looks at one cell at a time, except that the cells of one transaction must agree; so the
 * history of some rows, with the parts of all transactions that concern them, is judged as exactly
 * as the whole would be. Judge when the cluster is at rest: a lock that is not yet resolved would
 * seem to be half a commit.
 *
 * Rows of a background count as written by one transaction, before all others.
 */
import type { CommittedRun, Observer, Percolator, Transaction } from '#engine';
import type { Mutation, Timestamp } from '../../engine/bigtable/index.ts';
import {
  type CellAddress,
  CELLS,
  columnOf,
  decodeWriteRecord,
  isOf,
  type Moment,
  NOTIFY,
  notifyTable,
  ROLLBACK,
  WRITE,
} from '../../engine/transaction/index.ts';
import {
  historicCell,
  type HistoricMarker,
  type HistoricRecord,
  type HistoricTransaction,
  judgeNotifications,
  judgeSnapshotIsolation,
  type Violation,
} from '../verification/judges/index.ts';
import type { Cluster } from './cluster.ts';

/** A transaction in progress. */
interface Recording {
  readonly process: string;
  readonly startTimestamp: Timestamp;
  readonly beganAt: number;
  outcome: HistoricTransaction['outcome'];
  commitTimestamp?: Timestamp;
  endedAt?: number;
  readonly reads: Map<string, string | undefined>;
  readonly writes: Map<string, string | undefined>;
  run?: HistoricTransaction['run'];
}

/** Values are told apart by their beginnings: documents are long. */
const VALUE_CHARACTERS = 60;
/** Timestamps whose transactions may still wait for a core before they begin: of thousands of machines. */
const ASKED_KEPT = 1_000_000;

export class HistoryRecorder {
  readonly #cluster: Cluster;
  /** One row of so many is in the sample. */
  readonly #share: number;
  /** When the rows that are not touched were committed. */
  background: Moment | undefined;
  readonly #recordings = new Map<Timestamp, Recording>();
  readonly #records = new Map<string, HistoricRecord>();
  readonly #markers = new Map<string, HistoricMarker>();
  /** What the background holds in the cells that were read. */
  readonly #loaded = new Map<string, string>();
  /** When the last timestamps were asked for. */
  readonly #askedAt = new Map<Timestamp, number>();

  /** Before the databases are opened. */
  constructor(cluster: Cluster, share: number) {
    this.#cluster = cluster;
    this.#share = share;
    cluster.storage.observe = this.#observe;
    cluster.watchTimestamp = this.#noteAsked;
  }

  /** The same observer, recorded. Pass `committed` to its worker as well. */
  observer(process: string, observer: Observer): Observer {
    return {
      ...observer,
      run: (transaction, cell) => {
        const recording = this.#begin(process, transaction);
        if (this.#isSampled(cell)) {
          recording.run = { observer: observer.name, cell: historicCell(cell), weak: false };
        }
        return observer.run(this.#recorded(transaction, recording), cell);
      },
    };
  }

  readonly committed = ({ startTimestamp, commitTimestamp }: CommittedRun): void => {
    this.#end(this.#recordings.get(startTimestamp), commitTimestamp);
  };

  /** `percolator.transact`, recorded. */
  async transact(
    process: string,
    percolator: Percolator,
    body: (transaction: Transaction) => Promise<void>,
  ): Promise<void> {
    let last: Recording | undefined;
    await percolator.transact(async (transaction) => {
      last = this.#begin(process, transaction);
      await body(this.#recorded(transaction, last));
    });
    this.#end(last);
  }

  /** How many transactions are in the sample. */
  get transactions(): number {
    return this.#recordings.size;
  }

  /** What the judges have found, now that the cluster is at rest. */
  judge(observers: readonly Observer[]): readonly Violation[] {
    const left = observers.flatMap((observer) => this.#marksOf(observer));
    const history = {
      transactions: [...this.#recordings.values(), ...this.#loadedTransaction()].map(historic),
      records: [...this.#records.values()],
      markers: [...this.#markers.values()],
    };
    return [
      ...judgeSnapshotIsolation(history),
      ...judgeNotifications(history, { observers, left }),
    ];
  }

  #begin(process: string, { startTimestamp }: Transaction): Recording {
    const { nowUs } = this.#cluster.loop;
    const recording: Recording = {
      process,
      startTimestamp,
      beganAt: this.#askedAt.get(startTimestamp) ?? nowUs,
      outcome: 'unknown',
      reads: new Map(),
      writes: new Map(),
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

  #end(recording: Recording | undefined, commitTimestamp?: Timestamp): void {
    if (recording === undefined) return;
    recording.outcome = 'committed';
    recording.endedAt = this.#cluster.loop.nowUs;
    if (commitTimestamp !== undefined) recording.commitTimestamp = commitTimestamp;
  }

  /** The transaction, whose reads and writes of sampled rows are recorded. */
  #recorded(transaction: Transaction, recording: Recording): Transaction {
    const get: Transaction['get'] = async (cell) => {
      const value = await transaction.get(cell);
      this.#read(recording, cell, value);
      return value;
    };
    const set: Transaction['set'] = (cell, value) => {
      this.#written(recording, cell, textOf(value));
      transaction.set(cell, value);
    };
    return new Proxy(transaction, {
      get: (target, name) => {
        if (name === 'get') return get;
        if (name === 'set') return set;
        if (!KNOWN.has(name)) throw new Error(`${String(name)} is not recorded`);
        return target[name as keyof Transaction];
      },
    });
  }

  #read(recording: Recording, cell: CellAddress, value: Uint8Array | undefined): void {
    if (!this.#isSampled(cell)) return;
    this.#recordings.set(recording.startTimestamp, recording);
    const name = historicCell(cell);
    const isOwn = recording.writes.has(name);
    if (!isOwn && !recording.reads.has(name)) recording.reads.set(name, textOf(value));
    this.#noteLoaded(cell, name);
  }

  /** The row's background, from before anything was written there. */
  #noteLoaded(cell: CellAddress, name: string): void {
    const moment = this.background;
    if (moment === undefined || this.#loaded.has(name)) return;
    const cells = this.#cluster.storage.table(cell.table).background?.(cell.row);
    const data = cells?.find(({ timestamp }) => timestamp === moment.startTimestamp);
    if (data === undefined) return;
    this.#loaded.set(name, textOf(data.value) ?? '');
    const { startTimestamp, commitTimestamp } = moment;
    const record = { cell: name, startTimestamp, commitTimestamp, operation: 'put' } as const;
    this.#records.set(`${name}@${commitTimestamp}`, record);
  }

  #written(recording: Recording, cell: CellAddress, value: string | undefined): void {
    if (!this.#isSampled(cell)) return;
    this.#recordings.set(recording.startTimestamp, recording);
    recording.writes.set(historicCell(cell), value);
  }

  #loadedTransaction(): readonly Recording[] {
    const moment = this.background;
    if (moment === undefined || this.#loaded.size === 0) return [];
    const { startTimestamp, commitTimestamp } = moment;
    const empty = { process: 'the load', beganAt: 0, endedAt: 0, outcome: 'committed' } as const;
    const cells = { reads: new Map<string, string>(), writes: this.#loaded };
    return [{ ...empty, startTimestamp, commitTimestamp, ...cells }];
  }

  readonly #observe = (table: string, row: string, mutations: readonly Mutation[]): void => {
    if (!this.#isSampled({ table, row })) return;
    for (const mutation of mutations) {
      if (mutation.kind !== 'set' || mutation.family !== CELLS) continue;
      const cell = historicCell({ table, row, column: columnOf(mutation) });
      const name = `${cell}@${mutation.timestamp}`;
      if (isOf(WRITE, mutation)) {
        const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(mutation);
        this.#records.set(name, { cell, startTimestamp, commitTimestamp, operation });
      } else if (isOf(ROLLBACK, mutation)) {
        this.#markers.set(name, { cell, startTimestamp: mutation.timestamp });
      }
    }
  };

  #marksOf({ table, column }: Observer): readonly string[] {
    const marks = [{ family: NOTIFY, qualifier: column }];
    const data = this.#cluster.storage.table(notifyTable(table));
    const rows = data.readRange({ limit: Infinity }, marks).map(({ key }) => key);
    return rows
      .filter((row) => this.#isSampled({ table, row }))
      .map((row) => historicCell({ table, row, column }));
  }

  #isSampled({ row }: { readonly table: string; readonly row: string }): boolean {
    let hash = 7;
    for (let i = 0; i < row.length; i++) hash = Math.imul(hash ^ row.charCodeAt(i), 0x01000193);
    return (hash >>> 8) % this.#share === 0;
  }
}

/** What observers and bodies use of a transaction besides reads and writes. */
const KNOWN: ReadonlySet<string | symbol> = new Set(['startTimestamp']);

function textOf(value: string | Uint8Array | undefined): string | undefined {
  if (value === undefined || typeof value === 'string') return value?.slice(0, VALUE_CHARACTERS);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString(
    'latin1',
    0,
    VALUE_CHARACTERS,
  );
}

function historic({ reads, writes, commitTimestamp, ...rest }: Recording): HistoricTransaction {
  // If it wrote no row of the sample, the sample cannot show that it was committed.
  const hasRecord = writes.size > 0 || rest.run !== undefined;
  const committed = commitTimestamp !== undefined && hasRecord ? { commitTimestamp } : {};
  const values = (map: ReadonlyMap<string, string | undefined>) =>
    [...map].map(([cell, value]) => ({ cell, value }));
  return { ...rest, ...committed, reads: values(reads), writes: values(writes), locks: [] };
}
