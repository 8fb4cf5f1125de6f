/** What a system offers to the driver and to the checks: the twelve transactions, and its tables as they stand. */
import type { Row, TableName } from './tables.ts';
import type { Inputs, Results, TransactionType } from './transactions.ts';

/**
 * What becomes of the broker's totals in Trade-Result. `omit`: nothing, as in the paper. `inline`: they are
 * updated, and trades of one broker's customers conflict. `side-table`: each trade adds a row of its own, and
 * the rows are summed up later.
 */
export type BrokerUpdate = 'omit' | 'inline' | 'side-table';

/** A transaction that has ended: rolled back on purpose counts as ended, too. */
export interface Executed<R> {
  readonly result: R;
  /** How often it ran: 1 + conflicts. */
  readonly attempts: number;
}

/** Reads tables as they stand at one moment, or at rest. Rows come in any order. */
export interface TableReader {
  rows<T extends TableName>(table: T): AsyncIterable<Row<T>>;
}

export interface Brokerage extends AsyncDisposable {
  readonly name: string;
  readonly brokerUpdate: BrokerUpdate;
  /** Runs a transaction until it commits, however many conflicts it meets. Several may run at a time. */
  execute<T extends TransactionType>(type: T, input: Inputs[T]): Promise<Executed<Results[T]>>;
  /** Resolves when work that transactions have left behind is done: the broker's side table is summed up. */
  settled(): Promise<void>;
  /** For the checks; nothing else runs meanwhile. */
  readonly tables: TableReader;
}
