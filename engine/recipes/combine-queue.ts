/**
 * A combine queue: counters, sums and sets that many transactions change, without conflicts.
 *
 *     add(key, 5) ─▶ <key> NUL <start timestamp>: delta = 5 ─ ▶ combine ─▶ combiner ─▶ <key>: total
 *
 * Two transactions that increment one cell conflict, so a counter that all write takes one
 * transaction at a time. Here each writes a row of its own, which no other writes: its name is the
 * transaction's start timestamp. A weak notification wakes the combiner, which adds what it finds
 * to the total and deletes it, in one transaction. One run may combine the deltas of hundreds.
 *
 * `read` adds what was not combined yet: a snapshot sees each delta once, in the total or as a row,
 * because both change in one commit.
 *
 * Why is nothing lost, or added twice? Runs may overlap. Two that find the same row both delete it,
 * and of these one loses. A row that a run does not see was committed after the run began, and its
 * own notification starts another.
 *
 * What it costs: a row written and deleted for each addition, and until they are collected, deleted
 * rows that a scan of the key passes over. So run a collector. An addition is not read back by the
 * transaction that makes it, except by `read`.
 */
import { PercolatorError } from '../base/index.ts';
import type { Observer } from '../observer/index.ts';
import { check, COUNT } from '../base/options.ts';
import { cellName, type Reader, type Transaction } from '../transaction/index.ts';
import type { Codec } from '../typed/index.ts';
import { cellOf, inBytes, notify, ownOf, read, type TypedColumn } from './columns.ts';
import { pairRow, readPairs } from './pairs.ts';

export interface CombineQueueOptions<T> {
  /** Its table lists `combine` under `observedColumns`. */
  readonly table: string;
  readonly codec: Codec<T>;
  /** In any order and grouping it must give the same, as a sum does. */
  readonly combine: (a: T, b: T) => T;
  /**
   * Deltas of one run of the combiner. Default 1,000. Too small: more runs. Too large: long
   * transactions, which conflict with more others.
   */
  readonly deltasMax?: number | undefined;
}

/**
 * What each transaction has added so far, encoded, by the cell of its delta: the caller may use its
 * value again. It is one map for all queues, because two of them may have one table.
 */
const ADDED = new WeakMap<Transaction, Map<string, Uint8Array | string>>();

export class CombineQueue<T> {
  readonly total: TypedColumn<T>;
  readonly #deltas: TypedColumn<T>;
  readonly #wake: { readonly table: string; readonly name: string };
  readonly #combine: (a: T, b: T) => T;
  readonly #deltasMax: number;

  constructor({ table, codec, combine, deltasMax = 1_000 }: CombineQueueOptions<T>) {
    check('deltasMax', deltasMax, COUNT);
    const column = (name: string): TypedColumn<T> => ({
      table,
      name,
      encode: (value) => codec.encode(value),
      decode: (bytes) => codec.decode(bytes),
    });
    this.total = column('total');
    this.#deltas = column('delta');
    this.#wake = { table, name: 'combine' };
    this.#combine = combine;
    this.#deltasMax = deltasMax;
  }

  /** Adds to the key, with the transaction's commit. */
  add(transaction: Transaction, key: string, value: T): void {
    const cell = cellOf(this.#deltas, pairRow(key, String(transaction.startTimestamp)));
    const added = ADDED.get(transaction) ?? new Map<string, Uint8Array | string>();
    ADDED.set(transaction, added);
    const before = added.get(cellName(cell));
    const sum = before === undefined ? value : this.#combine(this.#decode(before), value);
    const encoded = ownOf(this.#deltas.encode(sum));
    notify(transaction, this.#wake, key); // First: it refuses a key that is no row's.
    transaction.set(cell, encoded);
    added.set(cellName(cell), encoded);
  }

  /** The total, with all that is not combined yet; undefined if nothing was ever added. */
  async read(reader: Reader, key: string): Promise<T | undefined> {
    const total = await read(reader, this.total, key);
    const deltas = await readPairs(reader, this.#deltas, key);
    return this.#sum(total, deltas);
  }

  /** The observer that combines. */
  combiner(name = 'combiner'): Observer {
    const { table, name: column } = this.#wake;
    return { name, table, column, run: (transaction, { row }) => this.#run(transaction, row) };
  }

  async #run(transaction: Transaction, key: string): Promise<void> {
    const limit = this.#deltasMax;
    const deltas = await readPairs(transaction, this.#deltas, key, { limit });
    if (deltas.length === 0) return;
    const sum = this.#sum(await read(transaction, this.total, key), deltas);
    if (sum === undefined) throw new PercolatorError('INVALID_ARGUMENT', 'combine gave nothing');
    transaction.set(cellOf(this.total, key), this.total.encode(sum));
    for (const [second] of deltas) {
      transaction.delete(cellOf(this.#deltas, pairRow(key, second)));
    }
    if (deltas.length === limit) notify(transaction, this.#wake, key); // There may be more.
  }

  #decode(encoded: Uint8Array | string): T {
    return this.#deltas.decode(inBytes(encoded));
  }

  #sum(total: T | undefined, deltas: readonly (readonly [string, T])[]): T | undefined {
    return deltas.reduce(
      (sum: T | undefined, [, delta]) => (sum === undefined ? delta : this.#combine(sum, delta)),
      total,
    );
  }
}
