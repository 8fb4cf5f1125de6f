/** Inserts of whole rows, with the columns of the model. */
import { describe, type Row, type TableName } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

const INSERTS = new Map<TableName, Statement>();

/** Sends the insert; the commit waits for its answer. */
export function insert<T extends TableName>(frame: Frame, table: T, row: Row<T>): void {
  const columns = Object.keys(describe(table).columns);
  const values: Readonly<Record<string, unknown>> = row;
  frame.send(
    statementFor(table, columns),
    columns.map((column) => values[column]),
  );
}

function statementFor(table: TableName, columns: readonly string[]): Statement {
  const known = INSERTS.get(table);
  if (known !== undefined) return known;
  const places = columns.map((_, i) => `$${i + 1}`).join(', ');
  const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`;
  const statement = { name: `insert ${table}`, text };
  INSERTS.set(table, statement);
  return statement;
}
