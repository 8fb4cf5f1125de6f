/**
 * The transactions on the client side, like Percolator's: the client sends statements and makes the
 * decisions. The server does the same work as with functions, and in addition parses messages; the
 * variants differ in the communication.
 *
 * Transactions that only read need no BEGIN: at READ COMMITTED each statement sees what is
 * committed when it begins, with or without.
 */
import type { Brokerage, Executed, Inputs, Results, TransactionType } from '../../model/index.ts';
import { Connections } from '../connections.ts';
import type { PostgresBrokerageOptions } from '../functions/brokerage.ts';
import { readTables } from '../table-reader.ts';
import { brokerVolume } from './broker-volume.ts';
import { customerPosition } from './customer-position.ts';
import { dataMaintenance } from './data-maintenance.ts';
import { Frame } from './frame.ts';
import { marketFeed } from './market-feed.ts';
import { marketWatch } from './market-watch.ts';
import { securityDetail } from './security-detail.ts';
import { tradeCleanup } from './trade-cleanup.ts';
import { tradeLookup } from './trade-lookup.ts';
import { tradeOrder } from './trade-order.ts';
import { tradeResult } from './trade-result.ts';
import { tradeStatus } from './trade-status.ts';
import { tradeUpdate } from './trade-update.ts';

type Transactions = {
  readonly [T in TransactionType]: (frame: Frame, input: Inputs[T]) => Promise<Results[T]>;
};

export function openFrames(options: PostgresBrokerageOptions): Brokerage {
  const {
    connection,
    brokerUpdate,
    connectionsMax,
    tradeResults: level3 = 'repeatable read',
  } = options;
  const connections = new Connections(connection, { connectionsMax, level3, pipeline: true });
  const transactions = transactionsWith({ updatesBroker: brokerUpdate === 'inline' });
  const execute = <T extends TransactionType>(
    type: T,
    input: Inputs[T],
  ): Promise<Executed<Results[T]>> =>
    connections.execute(type, (client) => transactions[type](new Frame(client), input));
  return {
    name: 'PostgreSQL, frames on the client',
    brokerUpdate,
    execute,
    settled: async () => {},
    tables: readTables(connection),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

function transactionsWith(options: { readonly updatesBroker: boolean }): Transactions {
  return {
    tradeStatus,
    customerPosition,
    marketWatch,
    brokerVolume,
    securityDetail,
    tradeLookup,
    dataMaintenance,
    tradeOrder: (frame, input) => frame.inTransaction(() => tradeOrder(frame, input)),
    tradeResult: (frame, input) => frame.inTransaction(() => tradeResult(frame, input, options)),
    tradeUpdate: (frame, input) => frame.inTransaction(() => tradeUpdate(frame, input)),
    marketFeed: (frame, input) => frame.inTransaction(() => marketFeed(frame, input)),
    tradeCleanup: (frame, input) => frame.inTransaction(() => tradeCleanup(frame, input)),
  };
}
