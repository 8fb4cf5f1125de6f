/**
 * The incarnations of tables, as the storage has seen them. For the judges, a table that was
 * dropped and created again is another table: cells in histories are renamed to the storage's name
 * of the incarnation.
 *
 *     told by clients   snapshot S used table s   ─▶ s.i2: the last one created at or before S
 *     in the storage    a record in s.i2          ─▶ stays
 *
 * Clients name only the table, so this rule finds the incarnation that they used: a snapshot sees
 * nothing of an incarnation that was created after it.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import {
  type HistoricCell,
  historicTable,
  type HistoricTransaction,
  type HistoricValue,
  type History,
} from '../judges/history.ts';
import { storedName } from '../../../engine/tables/names.ts';
import type { ObservedColumn } from '../judges/notifications.ts';

interface Incarnation {
  readonly stored: string;
  readonly createdAt: Timestamp;
  readonly observedColumns: readonly string[];
  readonly isThere: boolean;
}

/** The relevant part of a definition. */
interface Definition {
  readonly state: string;
  readonly incarnation: number;
  readonly createdAt: Timestamp;
  readonly observedColumns: readonly string[];
}

export class Incarnations {
  /** All incarnations of each table, the oldest first. */
  readonly #tables = new Map<string, Incarnation[]>();

  /** Notes that a definition was written. */
  defined(table: string, value: Uint8Array): void {
    const { state, incarnation, createdAt, observedColumns } = JSON.parse(
      Buffer.from(value).toString(),
    ) as Definition;
    const known = this.#tables.get(table) ?? [];
    this.#tables.set(table, known);
    const stored = storedName(table, incarnation);
    const last = known.at(-1);
    const isThere = state === 'there';
    if (last?.stored === stored) known.pop();
    else if (!isThere) return; // Half created: no process has used it.
    known.push({ stored, createdAt, observedColumns, isThere });
  }

  /** The present incarnation. */
  present(table: string): Incarnation | undefined {
    const last = this.#tables.get(table)?.at(-1);
    return last?.isThere === true ? last : undefined;
  }

  /** The history, with each cell named after the incarnation that its transaction used. */
  named(history: History): History {
    const again = [...this.#tables].filter(([table, known]) =>
      known.some(({ stored }) => stored !== table),
    );
    if (again.length === 0) return history;
    const tables = again.map(([table]) => table);
    const transactions = history.transactions.map((transaction) =>
      tables.reduce((told, table) => this.#renamed(told, table), transaction),
    );
    return { ...history, transactions };
  }

  /** The observers of columns that are observed, by the names of the present incarnations. */
  observed(observers: readonly ObservedColumn[]): readonly ObservedColumn[] {
    return observers.flatMap(({ name, table, column }) => {
      const present = this.present(table);
      if (present === undefined || !present.observedColumns.includes(column)) return [];
      return [{ name, table: present.stored, column }];
    });
  }

  #renamed(transaction: HistoricTransaction, table: string): HistoricTransaction {
    const { startTimestamp, reads, scans = [], writes, locks, run } = transaction;
    const stored = this.#usedAt(table, startTimestamp);
    if (stored === undefined || stored === table) return transaction;
    const before = `${historicTable(table)}/`;
    const after = `${historicTable(stored)}/`;
    const nameOf = (cell: HistoricCell): HistoricCell =>
      cell.startsWith(before) ? after + cell.slice(before.length) : cell;
    const renamed = (value: HistoricValue): HistoricValue => ({
      cell: nameOf(value.cell),
      value: value.value,
    });
    return {
      ...transaction,
      reads: reads.map(renamed),
      writes: writes.map(renamed),
      locks: locks.map(nameOf),
      scans: scans.map((scan) => {
        const isOfTable = scan.table === table;
        const returned = scan.returned.map(nameOf);
        return Object.assign({}, scan, { table: isOfTable ? stored : scan.table, returned });
      }),
      run: run && { ...run, cell: nameOf(run.cell) },
    };
  }

  #usedAt(table: string, startTimestamp: Timestamp): string | undefined {
    return this.#tables.get(table)?.findLast(({ createdAt }) => createdAt <= startTimestamp)
      ?.stored;
  }
}
