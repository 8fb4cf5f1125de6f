/**
 * Histories to which no judge may object: those of a database in which a commit is one step, with
 * clients that overlap, conflict, fail and die, and observers that eventually learn of every
 * change.
 *
 * The judges' tests spoil them, one thing at a time. Every value is written once.
 */
import type { Random } from '../../../../engine/base/index.ts';
import type {
  HistoricCell,
  HistoricRecord,
  HistoricRollback,
  HistoricTransaction,
  HistoricValue,
  History,
  ObserverRun,
} from '../history.ts';
import { acknowledgmentOf } from '../versions.ts';

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A history that can be spoilt. */
export interface Draft {
  transactions: (Writable<HistoricTransaction> & {
    reads: { cell: string; value?: string | undefined }[];
    writes: { cell: string; value?: string | undefined }[];
    locks: string[];
  })[];
  records: Writable<HistoricRecord>[];
  rollbacks: { cell: string; startTimestamp: number }[];
}

export interface IdealOptions {
  /**
   * How many transactions begin in the first part, runs of observers included. The runs that are
   * still due after it are added.
   */
  readonly transactions: number;
  /** The number of rows of table t, each with a column c and an observed column o. */
  readonly rows: number;
  /** The maximum number of transactions that are open at a time. */
  readonly clients: number;
  /** The maximum numbers of reads and writes of each transaction. */
  readonly readsMax: number;
  readonly writesMax: number;
}

/** The observers of ideal histories. */
export const IDEAL_OBSERVERS = [
  { name: 'counter', table: 't', column: 'o' },
  { name: 'indexer', table: 't', column: 'o' },
] as const;

export function idealHistory(random: Random, options: IdealOptions): History {
  const database = new IdealDatabase(random, options);
  const open: OpenTransaction[] = [];
  for (let begun = 0; begun < options.transactions || open.length > 0;) {
    const i = random.integer(0, options.clients - 1);
    const one = open[i];
    if (one !== undefined) {
      database.end(one);
      open.splice(i, 1);
    } else if (begun < options.transactions) {
      open.push(random.fraction() < 0.7 ? database.begin() : (database.run() ?? database.begin()));
      begun++;
    }
  }
  for (let run = database.run(); run !== undefined; run = database.run()) database.end(run);
  return database;
}

type OpenTransaction = Omit<HistoricTransaction, 'outcome'>;

class IdealDatabase implements History {
  readonly transactions: HistoricTransaction[] = [];
  readonly records: HistoricRecord[] = [];
  readonly rollbacks: HistoricRollback[] = [];
  readonly #random: Random;
  readonly #options: IdealOptions;
  readonly #values = new Map<HistoricCell, string | undefined>();
  readonly #committedAt = new Map<HistoricCell, number>();
  /**
   * Runs that are due, by cell, observer and kind, each with the commit for which it is due. An
   * entry is removed when a run of the same cell, observer and kind commits, unless that run's
   * snapshot is older than the commit.
   */
  readonly #due = new Map<string, { readonly run: ObserverRun; readonly since: number }>();
  /** The last timestamp or moment. */
  #last = 0;

  constructor(random: Random, options: IdealOptions) {
    this.#random = random;
    this.#options = options;
  }

  begin(): OpenTransaction {
    const { readsMax, writesMax } = this.#options;
    const beganAt = ++this.#last;
    const startTimestamp = ++this.#last;
    const process = `client ${this.#random.integer(1, 4)}`;
    const reads = this.#some(readsMax).map((cell) => ({ cell, value: this.#values.get(cell) }));
    const written = this.#some(writesMax);
    const locks = written.filter(() => this.#random.fraction() < 0.15);
    const writes = written
      .filter((cell) => !locks.includes(cell))
      .map((cell) => this.#write(cell, startTimestamp));
    const weak = this.#random.fraction() < 0.1 && written.length > 0 ? [this.#cell('o')] : [];
    return { process, startTimestamp, beganAt, reads, writes, locks, weak };
  }

  /** A run of an observer that is due, if there is one. */
  run(): OpenTransaction | undefined {
    const [first] = this.#due.values();
    if (first === undefined) return undefined;
    const { run } = first;
    const open = this.begin();
    const reads = [{ cell: run.cell, value: this.#values.get(run.cell) }];
    // Writes to observed cells would make further runs due, without end.
    const writes = open.writes.filter(({ cell }) => cell.endsWith(':c'));
    return { ...open, reads, writes, locks: [], weak: [], run };
  }

  /**
   * Commits `open`, unless another transaction has committed one of the same cells meanwhile, or
   * another run has done the same work. The client may die, before or after the commit.
   */
  end(open: OpenTransaction): void {
    const { startTimestamp, writes, locks } = open;
    const acknowledgment = acknowledgmentOf(open);
    const cells = [...writes.map(({ cell }) => cell), ...locks];
    if (acknowledgment !== undefined) cells.push(acknowledgment);
    const died = this.#random.fraction() < 0.05;
    const endedAt = died ? undefined : this.#last + 2; // After the commit timestamp.
    const isLate = cells.some((cell) => (this.#committedAt.get(cell) ?? 0) > startTimestamp);
    if (isLate || (died && this.#random.fraction() < 0.5) || this.#isDone(open)) {
      for (const cell of cells) this.rollbacks.push({ cell, startTimestamp });
      this.transactions.push({ ...open, outcome: died ? 'unknown' : 'failed', endedAt });
    } else {
      const commitTimestamp = cells.length === 0 ? undefined : this.#commit(open, cells);
      if (commitTimestamp === undefined && !died) this.#seen(open);
      const known = died ? undefined : commitTimestamp;
      const outcome = died ? 'unknown' : 'committed';
      this.transactions.push({ ...open, outcome, commitTimestamp: known, endedAt });
    }
    this.#last += 2;
  }

  #commit(open: OpenTransaction, cells: readonly HistoricCell[]): number {
    const { startTimestamp, writes, locks } = open;
    const commitTimestamp = ++this.#last;
    this.#seen(open);
    const deleted = new Set(writes.filter((one) => one.value === undefined).map((one) => one.cell));
    for (const cell of cells) {
      const change = deleted.has(cell) ? 'delete' : 'put';
      const operation = locks.includes(cell) ? 'touch' : change;
      this.records.push({ cell, startTimestamp, commitTimestamp, operation });
      this.#committedAt.set(cell, commitTimestamp);
    }
    for (const { cell, value } of writes) {
      this.#values.set(cell, value);
      if (cell.endsWith(':o')) this.#notify(cell, false, commitTimestamp);
    }
    for (const cell of open.weak ?? []) this.#notify(cell, true, commitTimestamp);
    return commitTimestamp;
  }

  #notify(cell: HistoricCell, weak: boolean, since: number): void {
    for (const { name } of IDEAL_OBSERVERS) {
      this.#due.set(`${cell} ${name} ${weak}`, { run: { observer: name, cell, weak }, since });
    }
  }

  /** Whether this is a run, and another run has done the same work meanwhile. */
  #isDone({ run }: OpenTransaction): boolean {
    return run !== undefined && !this.#due.has(`${run.cell} ${run.observer} ${run.weak}`);
  }

  #seen({ run, startTimestamp }: OpenTransaction): void {
    if (run === undefined) return;
    const name = `${run.cell} ${run.observer} ${run.weak}`;
    if ((this.#due.get(name)?.since ?? 0) <= startTimestamp) this.#due.delete(name);
  }

  #write(cell: HistoricCell, startTimestamp: number): HistoricValue {
    const value = this.#random.fraction() < 0.1 ? undefined : `${cell} by ${startTimestamp}`;
    return { cell, value };
  }

  #some(max: number): readonly HistoricCell[] {
    const length = this.#random.integer(0, max);
    const cells = Array.from({ length }, () => this.#cell(this.#random.pick(['c', 'c', 'o'])));
    return [...new Set(cells)];
  }

  #cell(column: string): HistoricCell {
    return `t/${this.#random.integer(1, this.#options.rows)}:${column}`;
  }
}
