/**
 * The names of a run. Plans use simple names for cells, `t/a:c`; the seed decides their names in
 * the database: the same, or names that an adversary could choose to break an engine.
 *
 * Awkward names are well-formed Unicode, and nothing else is promised of them. They contain NUL,
 * colons, slashes, percent signs and characters beyond 16 bits, and some of them become one string
 * when a separator joins them:
 *
 *     rows and columns        (`a\0b`, `c`) and (`a`, `b\0c`)
 *     observers and columns   `a` on `x:y` and `a:x` on `y`
 */
import { createRandom } from '../../../engine/base/index.ts';
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import { storedName } from '../../../engine/tables/definition.ts';
import type { CellAddress } from '../../../engine/transaction/index.ts';
import {
  addressOf,
  type HistoricCell,
  historicCell,
  historicTable,
  type HistoricTransaction,
  type HistoricValue,
  type History,
} from '../judges/history.ts';
import type { ObservedColumn } from '../judges/notifications.ts';

export interface RunNames {
  table(name: string): string;
  column(name: string): string;
  observer(name: string): string;
  /** The address of a cell of the plan. */
  address(cell: string): CellAddress;
  /** The name of a cell of the plan in histories. */
  historic(cell: string): HistoricCell;
}

export const PLAIN: RunNames = namesOf({ tables: {}, rows: {}, columns: {}, observers: {} });

/** The translations of plain names; other names stay. */
interface Translation {
  readonly tables: Readonly<Record<string, string>>;
  readonly rows: Readonly<Record<string, string>>;
  readonly columns: Readonly<Record<string, string>>;
  readonly observers: Readonly<Record<string, string>>;
}

const SEPARATORS = ['\0', '\0', ':', '/', '%', '\u{ffff}'];
const TAILS = ['', ' ', '\0', '%3a', '%00', '"', '\\', 'é', 'e\u{301}', '\u{ffff}', '\u{1f9d0}'];

export function awkwardNames(seed: number): RunNames {
  const random = createRandom(seed).fork('names');
  const between = random.pick(SEPARATORS);
  const inside = random.pick([':', ':', between]);
  const tail = (): string => random.pick(TAILS);
  return namesOf({
    tables: { u: 't.u' },
    rows: {
      a: `a${between}b`,
      b: 'a',
      c: `c${tail()}`,
      d: `${tail()}d`,
      e: `d${between}`,
      l: `${between}${tail()}`,
    },
    columns: {
      c: 'c',
      d: `b${between}c`,
      seen: `x${inside}y`,
      also: 'y',
      copy: `copy${tail()}`,
      list: `${tail()}list`,
      count: `${between}c`,
    },
    observers: { copier: 'a', watcher: `a${inside}x`, counter: `${between}${tail()}` },
  });
}

function namesOf({ tables, rows, columns, observers }: Translation): RunNames {
  const cells = new Map<string, { readonly address: CellAddress; readonly name: HistoricCell }>();
  const known = (cell: string): { readonly address: CellAddress; readonly name: HistoricCell } => {
    const before = cells.get(cell);
    if (before !== undefined) return before;
    const { table, row, column } = addressOf(cell);
    const address = {
      table: tables[table] ?? table,
      row: rows[row] ?? row,
      column: columns[column] ?? column,
    };
    const one = { address, name: historicCell(address) };
    cells.set(cell, one);
    return one;
  };
  return {
    table: (name) => tables[name] ?? name,
    column: (name) => columns[name] ?? name,
    observer: (name) => observers[name] ?? name,
    address: (cell) => known(cell).address,
    historic: (cell) => known(cell).name,
  };
}

/*
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
    const { startTimestamp, reads, scans = [], writes, locks, shared, run } = transaction;
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
      shared: shared?.map(nameOf),
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
