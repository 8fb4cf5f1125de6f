/**
 * Recording: runs transactions and observers of a workload, and records what each saw, asked for
 * and was told, as the judges want it (workloads/verification/judges/history.ts).
 *
 *     body reads and writes ─▶ sink.began(all; outcome unknown) ─▶ commit ─▶ sink.ended(outcome)
 *
 * A process that dies between the two calls of the sink leaves a transaction whose outcome is
 * unknown, which is the truth. A process that dies before the first call has sent none of the
 * transaction's writes, and leaves nothing.
 *
 * A run of an observer begins and commits inside the engine; visible here are its body, and that it
 * committed. Its beginning is given as that of the process: not later than the true one, which is
 * all that the real-time order needs. The end of a run that loses is not reported, so it stays
 * unknown.
 */
import {
  type CellAddress,
  type CommittedRun,
  type ErrorCode,
  isRetryable,
  type LockOptions,
  type Observer,
  type Percolator,
  PercolatorError,
  type Reader,
  type ScannedRow,
  type ScanRange,
  textOf as decoded,
  type Timestamp,
  type Transaction,
} from '#engine';
import {
  historicCell,
  type HistoricScan,
  type HistoricTransaction,
  type HistoricValue,
  insideOf,
  type Violation,
} from '../judges/index.ts';
import type { WorkloadClient, Work, Workload } from './workload.ts';

export interface RecordedTransaction extends HistoricTransaction {
  readonly workload: string;
  /** When its commit was asked for, on the clock of `beganAt`; absent if it never was. */
  readonly sentAt?: number | undefined;
  /** For a run of an observer: when its body began. `beganAt` is much earlier. */
  readonly ranAt?: number | undefined;
  /** What it failed with, or what left its outcome unknown; absent if no error was heard of. */
  readonly code?: ErrorCode | undefined;
}

/** What is learned at the end of the transaction with this `startTimestamp`. */
export type TransactionEnd = Pick<
  RecordedTransaction,
  'startTimestamp' | 'outcome' | 'commitTimestamp' | 'endedAt' | 'code'
>;

export interface Sink {
  /** Called before the commit is sent; for a transaction that failed earlier, the only call. */
  began(transaction: RecordedTransaction): void;
  ended(ending: TransactionEnd): void;
  /** Something that no history shows: a transaction that did not read its own writes. */
  violation(violation: Violation): void;
}

export interface Recorder {
  readonly sink: Sink;
  /** The name of one life of one process. */
  readonly process: string;
  /** Milliseconds on a clock that all processes share. */
  readonly nowMs: () => number;
}

/** A client whose transactions are recorded as those of `workload`. */
export function recordingClient(
  percolator: Pick<Percolator, 'begin'>,
  workload: string,
  recorder: Recorder,
): WorkloadClient {
  const { sink, process, nowMs } = recorder;
  return {
    process,
    nowMs,
    attempt: async (body) => {
      const beganAt = nowMs();
      const transaction = await percolator.begin();
      const work = new RecordedWork(transaction, sink);
      const soFar = (outcome: HistoricTransaction['outcome']): RecordedTransaction => ({
        workload,
        process,
        beganAt,
        outcome,
        ...work.soFar(),
      });
      try {
        await body(work);
      } catch (error) {
        transaction.discard();
        if (!isRetryable(error)) throw error;
        sink.began({ ...soFar('failed'), endedAt: nowMs(), code: codeOf(error) });
        return;
      }
      sink.began({ ...soFar('unknown'), sentAt: nowMs() });
      sink.ended(await commit(transaction, nowMs));
    },
  };
}

/**
 * Reads a snapshot of the past, recorded as such. Resolves with the result of `body`, or undefined
 * if the snapshot could not be read.
 */
export async function lookBack<T>(
  percolator: Percolator,
  timestamp: Timestamp,
  { workload, recorder }: { readonly workload: string; readonly recorder: Recorder },
  body: (reader: Reader) => Promise<T>,
): Promise<T | undefined> {
  const { sink, process, nowMs } = recorder;
  const beganAt = nowMs();
  try {
    await using snapshot = await percolator.snapshot(timestamp);
    const reader = new RecordedReader(snapshot, sink);
    const found = await body(reader);
    const times = { beganAt, endedAt: nowMs() };
    sink.began({
      workload,
      process,
      ...times,
      outcome: 'committed',
      past: true,
      ...reader.soFar(),
    });
    return found;
  } catch (error) {
    if (!isRetryable(error)) throw error;
    // A live transaction kept its lock for too long, or the snapshot was given up.
    return undefined;
  }
}

/** The workload's observers for a worker, with each run recorded. */
export function recordingObservers(
  { name: workload, observers }: Pick<Workload, 'name' | 'observers'>,
  { sink, process, nowMs }: Recorder,
): readonly Observer[] {
  const beganAt = nowMs();
  return observers.map((observer) => ({
    ...observer,
    run: async (transaction, { row }): Promise<void> => {
      const { name, table, column, weak } = observer;
      const ranAt = nowMs();
      const work = new RecordedWork(transaction, sink);
      await observer.run(work, row);
      const run = { observer: name, cell: historicCell({ table, row, column }), weak };
      const times = { beganAt, ranAt, sentAt: nowMs() };
      sink.began({ workload, process, ...times, outcome: 'unknown', ...work.soFar(), run });
    },
  }));
}

/** The option `onCommitted` of the worker: without it no run is ever known to have committed. */
export function recordingCommits({ sink, nowMs }: Recorder): (run: CommittedRun) => void {
  return ({ startTimestamp, commitTimestamp }) => {
    sink.ended(committed(startTimestamp, commitTimestamp, nowMs()));
  };
}

async function commit(transaction: Transaction, nowMs: () => number): Promise<TransactionEnd> {
  const { startTimestamp } = transaction;
  try {
    return committed(startTimestamp, await transaction.commit(), nowMs());
  } catch (error) {
    if (error instanceof PercolatorError && error.code === 'COMMIT_UNKNOWN') {
      return { startTimestamp, outcome: 'unknown', code: error.code };
    }
    if (!isRetryable(error)) throw error;
    return { startTimestamp, outcome: 'failed', endedAt: nowMs(), code: codeOf(error) };
  }
}

function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof PercolatorError ? error.code : undefined;
}

/**
 * A transaction that wrote nothing commits at its start timestamp, which is not a commit timestamp.
 */
function committed(
  startTimestamp: Timestamp,
  committedAt: Timestamp,
  endedAt: number,
): TransactionEnd {
  const commitTimestamp = committedAt === startTimestamp ? undefined : committedAt;
  return { startTimestamp, outcome: 'committed', commitTimestamp, endedAt };
}

type Content = Pick<
  HistoricTransaction,
  'startTimestamp' | 'reads' | 'scans' | 'writes' | 'locks' | 'shared' | 'weak'
>;

/** Passes every read on to the snapshot, and remembers what it saw. */
class RecordedReader implements Reader {
  readonly startTimestamp: Timestamp;
  protected readonly sink: Pick<Sink, 'violation'>;
  readonly #reader: Reader;
  readonly #reads = new Map<string, string | undefined>();
  readonly #scans: HistoricScan[] = [];

  constructor(reader: Reader, sink: Pick<Sink, 'violation'>) {
    this.#reader = reader;
    this.sink = sink;
    this.startTimestamp = reader.startTimestamp;
  }

  async get(cell: CellAddress): Promise<Uint8Array | undefined> {
    const [value] = await this.getMany([cell]);
    return value;
  }

  async getMany(cells: readonly CellAddress[]): Promise<readonly (Uint8Array | undefined)[]> {
    const values = await this.#reader.getMany(cells);
    cells.forEach((cell, i) => this.#remember(historicCell(cell), values[i]));
    return values;
  }

  /** A scan that is not read to its end says nothing about the rows it did not return. */
  async *scan(range: ScanRange): AsyncGenerator<ScannedRow> {
    const { table, start, end, columns } = range;
    const returned = new Set<string>();
    for await (const scanned of this.#reader.scan(range)) {
      for (const [column, value] of scanned.values) {
        const cell = historicCell({ table, row: scanned.row, column });
        returned.add(cell);
        this.#remember(cell, value);
      }
      yield scanned;
    }
    this.scanned(range, returned);
    this.#scans.push({ table, start, end, columns, returned: [...returned] });
  }

  soFar(): Content {
    const { startTimestamp } = this;
    const reads = valuesOf(this.#reads);
    return { startTimestamp, reads, scans: this.#scans, writes: [], locks: [] };
  }

  /** Whether the transaction has written the cell before; then it must read its own write. */
  protected isOwn(_cell: string, _value: string | undefined): boolean {
    return false;
  }

  /** @param returned receives own writes, since the scan does not show what was there before */
  protected scanned(_range: ScanRange, _returned: Set<string>): void {
    // Snapshots have no own writes.
  }

  /** The first read of a cell counts, unless it read an own write; later ones must equal it. */
  #remember(cell: string, found: Uint8Array | undefined): void {
    const value = found && textOf(found);
    if (this.isOwn(cell, value)) return;
    const first = this.#reads.has(cell) ? this.#reads.get(cell) : value;
    this.#reads.set(cell, first);
    if (first === value) return;
    const what = `read ${first ?? 'nothing'} from ${cell} and then ${value ?? 'nothing'}`;
    const message = `the transaction of ${this.startTimestamp} ${what}`;
    this.sink.violation({ claim: 'transactions: two reads of a cell differ', message });
  }
}

/** Also passes every write on to the transaction, and remembers the last one of each cell. */
class RecordedWork extends RecordedReader implements Work {
  readonly #transaction: Transaction;
  readonly #writes = new Map<string, WrittenCell>();
  readonly #locks = new Set<string>();
  readonly #shared = new Set<string>();
  readonly #weak = new Set<string>();

  constructor(transaction: Transaction, sink: Pick<Sink, 'violation'>) {
    super(transaction, sink);
    this.#transaction = transaction;
  }

  set(cell: CellAddress, value: Uint8Array | string): void {
    this.#transaction.set(cell, value);
    this.#writes.set(historicCell(cell), { cell, value: textOf(value) });
  }

  delete(cell: CellAddress): void {
    this.#transaction.delete(cell);
    this.#writes.set(historicCell(cell), { cell, value: undefined });
  }

  async lock(cell: CellAddress, options: LockOptions = {}): Promise<void> {
    await this.#transaction.lock(cell, options);
    (options.shared === true ? this.#shared : this.#locks).add(historicCell(cell));
  }

  notifyWeakly(cell: CellAddress): void {
    this.#transaction.notifyWeakly(cell);
    this.#weak.add(historicCell(cell));
  }

  override soFar(): Content {
    return {
      ...super.soFar(),
      writes: [...this.#writes].map(([cell, { value }]) => ({ cell, value })),
      locks: [...this.#locks].filter((cell) => !this.#writes.has(cell)),
      shared: [...this.#shared].filter((cell) => !this.#writes.has(cell) && !this.#locks.has(cell)),
      weak: [...this.#weak],
    };
  }

  protected override isOwn(cell: string, value: string | undefined): boolean {
    const own = this.#writes.get(cell);
    if (own === undefined) return false;
    if (own.value !== value) this.#misread(cell, own.value, value);
    return true;
  }

  protected override scanned(range: ScanRange, returned: Set<string>): void {
    const isInside = insideOf(range);
    for (const [name, { cell, value }] of this.#writes) {
      const isExpected = value !== undefined && cell.table === range.table;
      const place = { row: cell.row, column: cell.column };
      if (isExpected && !returned.has(name) && isInside(place)) this.#misread(name, value);
      returned.add(name);
    }
  }

  #misread(cell: string, wrote: string | undefined, read?: string): void {
    const what = `wrote ${wrote ?? 'nothing'} to ${cell} and then read ${read ?? 'nothing'}`;
    const message = `the transaction of ${this.startTimestamp} ${what}`;
    this.sink.violation({ claim: 'transactions: own write not read', message });
  }
}

interface WrittenCell {
  readonly cell: CellAddress;
  /** Absent: the cell was deleted. */
  readonly value: string | undefined;
}

function valuesOf(values: ReadonlyMap<string, string | undefined>): readonly HistoricValue[] {
  return [...values].map(([cell, value]) => ({ cell, value }));
}

function textOf(value: Uint8Array | string): string {
  return typeof value === 'string' ? value : decoded(value);
}
