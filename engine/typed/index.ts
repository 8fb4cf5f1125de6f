/** The front door of typed tables: handles of tables, and the codecs of their columns. */
export {
  type Codec,
  codecs,
  type ColumnType,
  type InputOf,
  type OutputOf,
  type StandardSchema,
} from './codecs.ts';
export {
  type AnyColumns,
  type Columns,
  type NewRowOf,
  type ReadableTable,
  type RowOf,
  Table,
  type TypedChange,
  type TypedObserver,
  type TypedRange,
  type TypedRow,
  type WritableTable,
} from './table.ts';
