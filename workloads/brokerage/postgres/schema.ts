/**
 * The 33 tables on PostgreSQL: columns and primary keys of the model, and an index for each
 * secondary access path.
 *
 * The model's integers are four bytes, except for columns that may be larger. There are no foreign
 * keys: the specification requires them, but Percolator has none to pay for.
 */
import {
  type ColumnType,
  describe,
  type TableDescription,
  type TableName,
} from '../model/index.ts';

const LARGE_INTEGERS: ReadonlySet<string> = new Set([
  'dm_vol',
  'fi_out_basic',
  'fi_out_dilut',
  'lt_vol',
  's_num_out',
]);

/**
 * Percent of a page that loading fills. A row that changes without a change of an index finds room
 * on its own page for the next version; then no index is written.
 */
const FILL_PERCENT: Partial<Record<TableName, number>> = {
  broker: 50,
  customer_account: 80,
  holding_summary: 80,
  last_trade: 50,
};

export function createTable(table: TableName): string {
  const columns = Object.entries(describe(table).columns).map(
    ([name, type]) => `${name} ${sqlType(name, type)}`,
  );
  const fill = FILL_PERCENT[table];
  const storage = fill === undefined ? '' : ` WITH (fillfactor = ${fill})`;
  return `CREATE TABLE ${table} (\n  ${columns.join(',\n  ')}\n)${storage}`;
}

/** The primary key, and an index for each path. */
export function createIndexes(table: TableName): readonly string[] {
  const { primaryKey, paths }: TableDescription = describe(table);
  return [
    `ALTER TABLE ${table} ADD PRIMARY KEY (${primaryKey.join(', ')})`,
    ...Object.entries(paths).map(
      ([path, columns]) =>
        `CREATE INDEX ${table}_${path} ON ${table} (${columns.map(sqlOrder).join(', ')})`,
    ),
  ];
}

function sqlType(column: string, type: ColumnType): string {
  if (type.endsWith('?')) return plainType(column, type.slice(0, -1));
  return `${plainType(column, type)} NOT NULL`;
}

function plainType(column: string, type: string): string {
  if (type === 'text' || type === 'boolean') return type;
  return type === 'integer' && !LARGE_INTEGERS.has(column) ? 'integer' : 'bigint';
}

function sqlOrder(column: string): string {
  return column.startsWith('-') ? `${column.slice(1)} DESC` : column;
}
