/** The description of a table: written once, as data, for every system that stores it. */

/**
 * The type of a column. Every number is a safe integer:
 *
 *     id        names a row; above 2^32 for customers, accounts and trades
 *     integer   a count, a quantity, or a rate in the unit that the column's comment states
 *     cents     money
 *     time      milliseconds since 1970 in UTC; days are the time of their midnight
 *     text, boolean
 *
 * `?` after the type: the column may be null.
 */
export type ColumnType = PlainType | `${PlainType}?`;
type PlainType = 'id' | 'integer' | 'cents' | 'time' | 'text' | 'boolean';

export interface TableDescription {
  /** In the order of the specification. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly primaryKey: readonly string[];
  /**
   * Secondary access paths: the columns that rows are found by, in their sort order. A minus sign
   * precedes a column in descending order. Each path ends with columns that make it unique.
   */
  readonly paths: Readonly<Record<string, readonly string[]>>;
}

type PlainValue<T> = T extends 'text' ? string : T extends 'boolean' ? boolean : number;
type ColumnValue<T> = T extends `${infer P}?` ? PlainValue<P> | null : PlainValue<T>;

/** A row of a described table: its columns by name. */
export type RowOf<T extends TableDescription> = {
  readonly [C in keyof T['columns']]: ColumnValue<T['columns'][C]>;
};
