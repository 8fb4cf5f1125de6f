/**
 * The single description of the 33 tables. Everything else is derived from it: rows and keys on
 * Percolator, the schema and COPY on PostgreSQL, and the TypeScript type of a row.
 *
 * Names are those of the TPC-E specification, in lower case. Where its types have fractions, ours
 * are integers of a smaller unit, so that sums are exact on every system.
 */
import { BROKER_SET } from './tables/broker-set.ts';
import { CUSTOMER_SET } from './tables/customer-set.ts';
import type { RowOf, TableDescription } from './tables/description.ts';
import { DIMENSION_SET } from './tables/dimension-set.ts';
import { MARKET_SET } from './tables/market-set.ts';

type DescribedTables = typeof CUSTOMER_SET &
  typeof BROKER_SET &
  typeof MARKET_SET &
  typeof DIMENSION_SET;

export type TableName = keyof DescribedTables;
export type Row<T extends TableName> = RowOf<DescribedTables[T]>;

const TABLES: DescribedTables = {
  ...CUSTOMER_SET,
  ...BROKER_SET,
  ...MARKET_SET,
  ...DIMENSION_SET,
};

export const TABLE_NAMES: readonly TableName[] = Object.keys(TABLES) as TableName[];

/** A description without the literal types: for code that treats all tables alike. */
export function describe(table: TableName): TableDescription {
  return TABLES[table];
}
