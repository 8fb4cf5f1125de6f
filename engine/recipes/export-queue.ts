/**
 * An export queue: what a transaction decides reaches a system that takes part in no transaction, a
 * search index or a cache, at least once, and what comes again changes nothing.
 *
 *     offer ─▶ entry {version} and value, with the commit ─▶ exporter ─▶ target.put(key, value, version)
 *
 * The queue has one place for each key: a newer entry takes the place of one that was not exported
 * yet, so a value that changes ten times while the exporter is busy is exported once. The exporter
 * tells the target outside of its transaction, so that may happen twice, and late: a process that
 * dies between the call and its commit leaves the entry to another process.
 *
 * The version makes both harmless: a target ignores one that is not above the last of its key,
 * removals included. It is the start timestamp of the transaction that offered. Of two transactions
 * that write one entry, the later one began after the commit of the other, or they would conflict.
 *
 * It does not delete the entries of removed keys: their versions still have to win.
 */
import { PercolatorError } from '../base/index.ts';
import type { Observer } from '../observer/index.ts';
import type { Reader, Transaction } from '../transaction/index.ts';
import { areEqual, cellOf, jsonColumn, read, type TypedColumn, update } from './columns.ts';

/** What is to be told to the target of a key. */
export interface ExportEntry {
  readonly kind: 'put' | 'remove';
  /** Grows with each entry of the key; above 0. */
  readonly version: number;
}

export interface Exported<T> {
  readonly key: string;
  /** Undefined if it is removed. */
  readonly value: T | undefined;
  readonly version: number;
}

/** The system outside. It must ignore versions that are not above the last one of the key. */
export type ExportTarget<T> = (change: Exported<T>) => Promise<void>;

/** Its table lists the column `entry` under `observedColumns`. */
export class ExportQueue<T> {
  readonly value: TypedColumn<T>;
  readonly entry: TypedColumn<ExportEntry>;
  /** The version that the target was last told. */
  readonly exported: TypedColumn<number>;

  /** @param value the column of the values; `entry` and `exported` are next to it, for it alone */
  constructor(value: TypedColumn<T>) {
    this.value = value;
    this.entry = jsonColumn(value.table, 'entry');
    this.exported = jsonColumn(value.table, 'exported');
    if (value.name !== this.entry.name && value.name !== this.exported.name) return;
    const message = `the column of the values must have another name than ${value.name}, which the queue uses`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }

  /**
   * Exports the value if it is another than before; undefined removes. Locks the entry if it stays,
   * so that weak notifications may run the observer that offers it (`settle`).
   */
  async offer(transaction: Transaction, key: string, value: T | undefined): Promise<boolean> {
    const [cell, entry] = [cellOf(this.value, key), cellOf(this.entry, key)];
    const before = await transaction.get(cell);
    const after = value === undefined ? undefined : this.value.encode(value);
    if (areEqual(before, after)) {
      await transaction.lock(entry);
      return false;
    }
    const kind = after === undefined ? 'remove' : 'put';
    transaction.set(entry, this.entry.encode({ kind, version: transaction.startTimestamp }));
    if (after === undefined) transaction.delete(cell);
    else transaction.set(cell, after);
    return true;
  }

  /** The observer that tells the target. */
  exporter(target: ExportTarget<T>, name = 'exporter'): Observer {
    const { table, name: column } = this.entry;
    return {
      name,
      table,
      column,
      run: async (transaction, { row: key }) => {
        const [entry, value] = await transaction.getMany([
          cellOf(this.entry, key),
          cellOf(this.value, key),
        ]);
        if (entry === undefined) return;
        const { version } = this.entry.decode(entry);
        await target({ key, value: value && this.value.decode(value), version });
        await update(transaction, this.exported, key, version);
      },
    };
  }

  /** All that a target is to hold in this snapshot, and all that it is to have removed. */
  async *contents(reader: Reader): AsyncGenerator<Exported<T>> {
    const columns = [this.entry.name, this.value.name];
    for await (const { row: key, values } of reader.scan({ table: this.entry.table, columns })) {
      const entry = values.get(this.entry.name);
      if (entry === undefined) continue;
      const value = values.get(this.value.name);
      const { version } = this.entry.decode(entry);
      yield { key, value: value && this.value.decode(value), version };
    }
  }

  /** Whether the target has been told of the newest entry. */
  async isExported(reader: Reader, key: string): Promise<boolean> {
    const entry = await read(reader, this.entry, key);
    return entry === undefined || entry.version === (await read(reader, this.exported, key));
  }
}
