/**
 * The transactions on the client side, like Percolator's: the client sends statements and makes the
 * decisions. The server does the same work as with functions, and in addition parses messages; the
 * variants differ in the communication.
 *
 * Transactions that only read need no BEGIN: at READ COMMITTED each statement sees what is
 * committed when it begins, with or without BEGIN. Data-Maintenance needs none either:
 * it is one statement.
 */
import type { Brokerage, Inputs, Results, TransactionType } from '../../model/index.ts';
import { brokerageOn, type PostgresBrokerageOptions } from '../brokerage.ts';
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
  const transactions = transactionsWith({ updatesBroker: options.brokerUpdate === 'inline' });
  const variant = { name: 'PostgreSQL, frames on the client', pipeline: true };
  return brokerageOn(
    options,
    variant,
    (connections) => (type, input) =>
      connections.execute(type, (client) => transactions[type](new Frame(client), input)),
  );
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
