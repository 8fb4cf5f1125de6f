/**
 * The contract of the storage: what Percolator needs of a Bigtable.
 *
 * Data is a sorted map: (table, row, family, qualifier, timestamp) → value. Every operation below
 * can be made of Bigtable's public API, so the engine runs on any storage that speaks it:
 *
 *     readRow(s), readRange   ReadRows with Interleave(Chain(column, time range, versions), ...)
 *     checkAndMutateRow       CheckAndMutateRow: if any of these cells exists then A, else B
 *     checkAndMutateRows      many of those in one call (section 2.5); the public API has no such
 *                             RPC, so there it becomes parallel calls (`manifest.conditionalBatch`)
 *     mutateRows              MutateRows: blind, each row atomic
 *     sampleRowKeys           SampleRowKeys: where tablets begin
 *     createTable ...         table admin
 *
 * What an implementation promises, and what breaks if it lies:
 *
 * 1. One row is atomic. A check and its mutations are one step, and a read of one row never sees
 *    half of a mutation. Otherwise two transactions lock one cell, or a reader misses both the lock
 *    and the write record (protocol.md P20).
 * 2. A read that begins after a mutation has resolved sees it, in every process. Otherwise a reader
 *    whose start timestamp is after a writer's commit timestamp may miss the writer's lock.
 * 3. There is no atomicity across rows, and the rows of one `mutateRows` may be applied in any
 *    order. The engine relies on more only where `manifest.ordered` promises it.
 * 4. A rejected mutation was not applied, unless it was rejected with `STORE_IN_DOUBT`, after which
 *    the caller must look. No conditional mutation is silently retried: one that is sent twice
 *    finds its own effect (P12). Reads, blind mutations (promise 5), and the making and dropping of
 *    tables may be retried. A network may deliver a copy of a request after the request itself,
 *    also of one that was refused, and the copy may be applied (P1, P11).
 * 5. Cells with one (row, family, qualifier, timestamp) replace one another, so a mutation with
 *    explicit timestamps may be repeated. Mutations of one row apply in the order given. What a
 *    caller gives stays as it is until the call has ended: an implementation does not copy it.
 * 6. A resolved mutation survives as long as `manifest.durability` says. A provisional one may be
 *    lost earlier, but then everything that was applied after it is lost with it, in all rows, and
 *    no process that was told of it goes on.
 *
 * Empty filters are legal, because code that builds filters and mutations from data produces them:
 * an empty list of filters, or a filter with an empty range (`from` above `to`), passes nothing, so
 * a check finds nothing and a read no row; a row without mutations stays unchanged. Only two
 * things are refused: a conditional mutation without any mutations, because its caller must have
 * meant a read, and an erase with an empty range.
 *
 * Row keys and qualifiers are strings of well-formed Unicode; their order is the order of their
 * UTF-8 bytes. Timestamps are whole numbers from 0 to 2^53 - 1. An implementation on Bigtable
 * stores timestamp t as 1000 t microseconds, because Bigtable keeps only whole milliseconds (P38).
 */
import { unreachable } from '../base/index.ts';

/** A cell's version: timestamps come from the timestamp oracle, never from a wall clock. */
export type Timestamp = number;

/** The largest timestamp; as the end of a range it means "no end". */
export const TIMESTAMP_MAX: Timestamp = Number.MAX_SAFE_INTEGER;

export interface Cell {
  readonly family: string;
  readonly qualifier: string;
  readonly timestamp: Timestamp;
  /** Not a copy: changing it may change what other callers read. */
  readonly value: Uint8Array;
}

export interface Row {
  readonly key: string;
  /**
   * In the order of the filters of the read, then by qualifier, then newest first. A cell that
   * passes two filters comes twice.
   */
  readonly cells: readonly Cell[];
}

/**
 * Chooses versions of one column, or of every column of a family. Filters of one list that differ
 * only in what follows the last colon of their qualifiers may be read as one range of columns.
 */
export interface CellFilter {
  readonly family: string;
  /** Absent: every qualifier of the family. */
  readonly qualifier?: string | undefined;
  /** Only qualifiers that end with this; excludes `qualifier`. A scan of columns, not a seek. */
  readonly suffix?: string | undefined;
  /** Oldest timestamp wanted, inclusive. Default 0. */
  readonly from?: Timestamp | undefined;
  /** Newest timestamp wanted, inclusive, as the paper writes its ranges. Default: no end. */
  readonly to?: Timestamp | undefined;
  /** How many versions of each column, newest first. Default: all; each one costs. */
  readonly versions?: number | undefined;
}

/** Rows from `start` (inclusive) to `end` (exclusive); if one is absent, that of the table. */
export interface RowRange {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

/** Which rows of a range are read: those that come first, from one of its ends. */
export interface RangeRead extends RowRange {
  /** The most rows: a whole number above 0, or Infinity. */
  readonly limit: number;
  /** Whether the rows come in the opposite order, so that the last row is first. Default false. */
  readonly reverse?: boolean | undefined;
}

export type Mutation =
  | {
      readonly kind: 'set';
      readonly family: string;
      readonly qualifier: string;
      readonly timestamp: Timestamp;
      readonly value: Uint8Array;
    }
  | {
      /** Erases the versions of one column from `from` to `to`, both inclusive. */
      readonly kind: 'erase';
      readonly family: string;
      readonly qualifier: string;
      readonly from: Timestamp;
      readonly to: Timestamp;
    };

/** The mutations of one row, applied in order and all at once. */
export interface RowMutation {
  readonly table: string;
  readonly row: string;
  readonly mutations: readonly Mutation[];
  readonly provisional?: Provisional;
  readonly essential?: Essential;
  readonly silent?: Silent;
}

/**
 * Whether listeners (`onChange`) need not hear of it, because its sender tells those who wait for
 * it. Default false. A store may tell them all the same.
 */
export type Silent = boolean | undefined;

/**
 * Whether readers wait for the mutation, and it is small: a range of timestamps, what resolves a
 * lock. Default false. A store that knows how may keep room for those on a full disk (P78); other
 * stores ignore it.
 */
export type Essential = boolean | undefined;

/**
 * Whether a power failure may undo the mutation, together with everything that was applied after it
 * (promise 6, P67). Default false. For mutations that matter only if a later one survives, such as
 * a prewrite, whose transaction a later mutation commits; and for those that any process can do
 * again. It saves a store that has one log the wait for its disk; other stores ignore it.
 */
export type Provisional = boolean | undefined;

/**
 * If any cell passes one of `anyOf`, apply `ifFound`, else `ifNotFound`; one of the two may be
 * empty. Every check of the protocol is phrased as "does an offending cell exist", because
 * Bigtable's Condition filter, which could say "and", is not atomic with its branches.
 */
export interface ConditionalRowMutation {
  readonly table: string;
  readonly row: string;
  readonly anyOf: readonly CellFilter[];
  readonly ifFound?: readonly Mutation[] | undefined;
  readonly ifNotFound?: readonly Mutation[] | undefined;
  readonly provisional?: Provisional;
  readonly essential?: Essential;
}

export interface TableSchema {
  readonly families: readonly string[];
  /** Row keys at which tablets begin; the first tablet begins at the start of the table. */
  readonly splits?: readonly string[] | undefined;
}

/** The capabilities of an implementation beyond the contract. */
export interface Manifest {
  /** A name for reports: `embedded`, `emulator`, ... */
  readonly name: string;
  /** `checkAndMutateRows` is one call, not many: the paper's own change to Bigtable. */
  readonly conditionalBatch: boolean;
  /**
   * Mutations that a caller sends in one turn of the event loop are applied in the order sent. None
   * is applied without all earlier ones of that turn, also where one is in doubt, except those that
   * are refused for what they say: a table or a column family that is not there, or an invalid
   * argument (a key that is too long). No copy of a refused mutation arrives later. The engine then
   * sends notifications and the commit of the primary back to back.
   */
  readonly ordered: boolean;
  /** Splits given at creation come back from `sampleRowKeys`. */
  readonly splits: boolean;
  /**
   * An erase also hides what is set later within its range, until the storage compacts the row; and
   * an erase must name one timestamp (`from` equals `to`) or all up to one (`from` is 0). The
   * protocol sets no cell below one of its erases (P63). Default false.
   */
  readonly tombstones?: boolean | undefined;
  /** A check names its columns; whole families and suffixes are refused. Default false. */
  readonly checksColumns?: boolean | undefined;
  /**
   * The most bytes that the qualifiers of the filters of one check have together, unless it checks
   * one column alone. The prewrite of a row of many cells is then several checks (P16). Default: no
   * limit.
   */
  readonly checkBytesMax?: number | undefined;
  /**
   * Operations of many callers share calls (batching.ts), so rows are best asked for together.
   * Default false.
   */
  readonly batches?: boolean | undefined;
  /**
   * `readRange` passes over rows that have no cell as new as the `from` of its filters without
   * reading them. Collectors then look at what has changed since their last cycle (P68). Default
   * false.
   */
  readonly skipsOldRows?: boolean | undefined;
  /**
   * The longest time, in milliseconds after a call was sent, at which a server that stood still may
   * apply it, even if its caller no longer waits. Collectors wait for at least as long (P66). A cut
   * network is not covered: it may deliver the call later (open-hbase.ts). Absent: the storage does
   * not know, and the collectors' own default must do.
   */
  readonly messageLifetimeMs?: number | undefined;
  /** One sentence: what a resolved mutation survives. */
  readonly durability: string;
}

/** Bytes of a store that are not what was written there. */
export interface Damage {
  /** `error`: the store can only be opened with `salvage`. `warning`: it can be used. */
  readonly severity: 'error' | 'warning';
  /** Where they are, and what that costs, as far as it can be told. */
  readonly sentence: string;
  /** Whether a table may be missing from `listTables`, or be called wrongly. */
  readonly hidesTables?: boolean | undefined;
}

/**
 * @param tables where cells were set, and not only erased, by mutations that are not `silent`;
 *   undefined if the storage does not know
 */
export type ChangeListener = (tables?: ReadonlySet<string>) => void;

export interface Bigtable extends AsyncDisposable {
  readonly manifest: Manifest;

  /**
   * One row, read atomically; undefined if no cell passes a filter.
   * @throws TABLE_NOT_FOUND, FAMILY_NOT_FOUND, INVALID_ARGUMENT, STORE_UNAVAILABLE, STORE_REFUSED,
   *   STORE_CLOSED
   * @throws TABLE_MISMATCH if a remote storage could lose cells of the table: it has a GC rule; in
   *   HBase, it has attributes other than the engine's, or lacks the coprocessor
   */
  readRow(table: string, row: string, filters: readonly CellFilter[]): Promise<Row | undefined>;

  /** Several rows, each read atomically, in the order asked for; absent rows are undefined. */
  readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]>;

  /**
   * At most `range.limit` rows that have a cell passing a filter, in key order or its reverse, each
   * read atomically. `restOf` (reading.ts) says where to read on.
   */
  readRange(
    table: string,
    range: RangeRead,
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]>;

  /**
   * Resolves to whether a cell passed: whether `ifFound` was applied.
   * @throws what `readRow` throws, READ_ONLY, STORE_IN_DOUBT
   */
  checkAndMutateRow(conditional: ConditionalRowMutation): Promise<boolean>;

  /**
   * Each conditional mutation on its own, in any order; not atomic together. A failed one is
   * answered with its error instead of a boolean, so the call itself never rejects.
   */
  checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]>;

  /**
   * Blind mutations, each row atomic. Rejects with the first failure; the other rows may be
   * applied.
   * @throws what `checkAndMutateRow` throws
   */
  mutateRows(rows: readonly RowMutation[]): Promise<void>;

  /**
   * Row keys at which a section begins, in order, without the first section's. A scan may begin at
   * any of them; the sizes of sections may differ.
   */
  sampleRowKeys(table: string): Promise<readonly string[]>;

  /**
   * Creates the table; does nothing if it exists with the same families and, if `manifest.splits`,
   * the same splits.
   * @throws TABLE_MISMATCH if it exists with others
   */
  createTable(table: string, schema: TableSchema): Promise<void>;
  /** The names of all tables, in any order. */
  listTables(): Promise<readonly string[]>;
  /** Drops the table and its data; does nothing if there is none. */
  dropTable(table: string): Promise<void>;

  /**
   * Calls `listener` when any process may have changed some cell, and the change can be seen; the
   * returned function ends that. A hint to look, not a promise: it may come late, in vain, or
   * never. A storage that does not learn of other writers has no such method.
   */
  readonly onChange?: ((listener: ChangeListener) => () => void) | undefined;

  /**
   * Ends what is left in flight: resolves when each mutation of which a caller, in any process, was
   * told something before this call, or whose process has died, is visible, or never will be. One
   * whose caller still waits may be applied later: it may as well have been sent later. After a
   * fence, a collector need not wait for late messages (P84). A storage that cannot end what is in
   * flight has no such method.
   * @throws STORE_UNAVAILABLE, STORE_IN_DOUBT, STORE_CLOSED: then nothing is certain
   */
  readonly fence?: (() => Promise<void>) | undefined;

  /** What a store that was opened with `salvage` has lost. Absent: it is not known. */
  readonly damage?: readonly Damage[] | undefined;

  /** Waits for calls in flight, then refuses everything. Closing twice is harmless. */
  close(): Promise<void>;
}

/*
 * What a commit survives on each store: one sentence, which the manifest and all reports repeat.
 */

type Store =
  | { readonly kind: 'embedded'; readonly fsync?: boolean | undefined }
  | { readonly kind: 'emulator' | 'cloud' | 'hbase' };

export function durabilityOf(store: Store): string {
  switch (store.kind) {
    case 'embedded':
      return (store.fsync ?? true)
        ? 'every commit is on disk (fsync, in groups) before it is answered'
        : 'a commit survives kill -9 of the process, not a power failure (no fsync)';
    case 'emulator':
      return 'nothing survives the emulator, which keeps everything in memory';
    case 'cloud':
      return 'every commit is stored by Cloud Bigtable before it is answered';
    case 'hbase':
      return (
        'every commit is in the log of a region server, on as many machines as HDFS replicates to: ' +
        "it survives killed processes and, if the cluster's hbase.wal.hsync is on, a power failure of all machines; without HDFS nothing is promised"
      );
    default:
      return unreachable(store);
  }
}
