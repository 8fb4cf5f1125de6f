/** The description of a table: written once, as data, for every system that stores it. */

/**
 * The type of a column. Every number is a safe integer:
 *
 *     id        the number of a row of this table or of another one; those of customers, accounts,
 *               trades, companies and brokers are above 2^32
 *     integer   a count, quantity, rate, year, time of day or code; where the unit or the meaning
 *               is not obvious, the column's comment states it
 *     cents     money
 *     time      milliseconds since 1970 began in UTC; a day is the time when it begins
 *     text, boolean
 *
 * A `?` after the type means that the column may be null.
 */
export type ColumnType = PlainType | `${PlainType}?`;
type PlainType = 'id' | 'integer' | 'cents' | 'time' | 'text' | 'boolean';

export interface TableDescription {
  /** By name, in the order of TPC-E's specification. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly primaryKey: readonly string[];
  /**
   * Secondary access paths by name: the columns that rows are found by and sorted by, the first
   * column first. A minus sign precedes a column in descending order. The last columns make each
   * entry unique.
   */
  readonly paths: Readonly<Record<string, readonly string[]>>;
}

type PlainValue<T> = T extends 'text' ? string : T extends 'boolean' ? boolean : number;
type ColumnValue<T> = T extends `${infer P}?` ? PlainValue<P> | null : PlainValue<T>;

/** A row of a described table: its columns by name. */
export type RowOf<T extends TableDescription> = {
  readonly [C in keyof T['columns']]: ColumnValue<T['columns'][C]>;
};
