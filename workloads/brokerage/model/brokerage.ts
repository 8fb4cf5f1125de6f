/**
 * The interface between a system, the driver and the checks: the twelve transactions, and the
 * tables.
 */
import type { Row, TableName } from './tables.ts';
import type { Inputs, Results, TransactionType } from './transactions.ts';

/**
 * How Trade-Result updates the broker's totals. `omit`: not at all, as in the paper. `inline`: in
 * the transaction, so that trades of one broker's accounts conflict. `side-table`: each trade adds
 * a row of its own, and the rows are aggregated later.
 */
export type BrokerUpdate = 'omit' | 'inline' | 'side-table';

/** A transaction that has ended; one that was rolled back on purpose counts as ended, too. */
export interface Execution<R> {
  readonly result: R;
  /** Each but the last met a conflict, or another error after which a transaction may run again. */
  readonly attempts: number;
  /** Whether its commit got no answer, and its outcome was found out later. Default false. */
  readonly wasUnknown?: boolean | undefined;
}

/** Reads tables in the state of one moment, or at rest. Rows come in any order. */
export interface TableReader {
  rows<T extends TableName>(table: T): AsyncIterable<Row<T>>;
}

export interface Brokerage extends AsyncDisposable {
  readonly name: string;
  readonly brokerUpdate: BrokerUpdate;
  /**
   * Runs a transaction until it has ended; after a conflict it runs again. Rejects if the system
   * gives up. Several may run at a time. `dueMs`, by the driver's clock, is when it should have
   * begun; only a brokerage that records response times needs it (failover/trading.ts).
   */
  execute<T extends TransactionType>(
    type: T,
    input: Inputs[T],
    dueMs?: number,
  ): Promise<Execution<Results[T]>>;
  /**
   * Resolves when deferred work of the transactions is done: the broker's side table is aggregated.
   */
  settled(): Promise<void>;
  /** For the checks; nothing else runs at the same time. */
  readonly tables: TableReader;
}
