/**
 * The twelve transactions: inputs, results, share of the mix, isolation, and response time; and the
 * interface through which the driver and the checks run them on any system.
 *
 *     trade-order.ts      what Trade-Order is: its input, its result, its steps; and Percolator's way
 *     trade-order.sql     PostgreSQL's way: a function in the server
 *     ...                 the same for the eleven others
 *     on-percolator.ts    all of them on Percolator
 *     on-postgres.ts      all of them on PostgreSQL
 *
 * Inputs contain everything that chance or a clock decides, including the id of a new trade, and
 * results are plain and fully ordered. So two systems that execute the same inputs, one at a time,
 * must return deeply equal results.
 */
import type { TableReader } from '../model/tables.ts';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import type { BrokerVolumeInput, BrokerVolumeResult } from './broker-volume.ts';
import type { CustomerPositionInput, CustomerPositionResult } from './customer-position.ts';
import type { DataMaintenanceInput, DataMaintenanceResult } from './data-maintenance.ts';
import type { MarketFeedInput, MarketFeedResult } from './market-feed.ts';
import type { MarketWatchInput, MarketWatchResult } from './market-watch.ts';
import type { SecurityDetailInput, SecurityDetailResult } from './security-detail.ts';
import type { TradeCleanupInput, TradeCleanupResult } from './trade-cleanup.ts';
import type { TradeLookupInput, TradeLookupResult } from './trade-lookup.ts';
import type { TradeOrderInput, TradeOrderResult } from './trade-order.ts';
import type { TradeResultInput, TradeResultResult } from './trade-result.ts';
import type { TradeStatusInput, TradeStatusResult } from './trade-status.ts';
import type { TradeUpdateInput, TradeUpdateResult } from './trade-update.ts';

export interface Inputs {
  readonly tradeOrder: TradeOrderInput;
  readonly tradeResult: TradeResultInput;
  readonly tradeLookup: TradeLookupInput;
  readonly tradeUpdate: TradeUpdateInput;
  readonly tradeStatus: TradeStatusInput;
  readonly customerPosition: CustomerPositionInput;
  readonly brokerVolume: BrokerVolumeInput;
  readonly securityDetail: SecurityDetailInput;
  readonly marketFeed: MarketFeedInput;
  readonly marketWatch: MarketWatchInput;
  readonly dataMaintenance: DataMaintenanceInput;
  readonly tradeCleanup: TradeCleanupInput;
}

export interface Results {
  readonly tradeOrder: TradeOrderResult;
  readonly tradeResult: TradeResultResult;
  readonly tradeLookup: TradeLookupResult;
  readonly tradeUpdate: TradeUpdateResult;
  readonly tradeStatus: TradeStatusResult;
  readonly customerPosition: CustomerPositionResult;
  readonly brokerVolume: BrokerVolumeResult;
  readonly securityDetail: SecurityDetailResult;
  readonly marketFeed: MarketFeedResult;
  readonly marketWatch: MarketWatchResult;
  readonly dataMaintenance: DataMaintenanceResult;
  readonly tradeCleanup: TradeCleanupResult;
}

export type TransactionType = keyof Inputs;

export interface TransactionRules {
  readonly title: string;
  /** Percent of the mix; 0 for transactions that run next to it. */
  readonly mixPercent: number;
  readonly mixPercentMin: number;
  readonly mixPercentMax: number;
  /**
   * The isolation that the specification requires (7.4.1): 1 no dirty reads, 2 repeatable reads, 3
   * no phantoms. Snapshot isolation gives 1 and 2. It also gives 3 to Trade-Result, because every
   * other trade on the position writes the same position row.
   */
  readonly isolation: 1 | 2 | 3;
  /** 90 % of all transactions must be faster. Infinity: no limit. */
  readonly responseMsMax: number;
}

export const TRANSACTIONS: Readonly<Record<TransactionType, TransactionRules>> = {
  tradeStatus: rules('Trade-Status', [19, 18.905, 19.095], 1, 1_000),
  marketWatch: rules('Market-Watch', [18, 17.91, 18.09], 1, 3_000),
  securityDetail: rules('Security-Detail', [14, 13.93, 14.07], 1, 3_000),
  customerPosition: rules('Customer-Position', [13, 12.935, 13.065], 1, 3_000),
  tradeOrder: rules('Trade-Order', [10.1, 10.049, 10.151], 2, 2_000),
  tradeResult: rules('Trade-Result', [10, 9.95, 10.05], 3, 2_000),
  tradeLookup: rules('Trade-Lookup', [8, 7.96, 8.04], 1, 3_000),
  brokerVolume: rules('Broker-Volume', [4.9, 4.875, 4.925], 1, 3_000),
  tradeUpdate: rules('Trade-Update', [2, 1.99, 2.01], 2, 3_000),
  marketFeed: rules('Market-Feed', [1, 0.995, 1.005], 2, 2_000),
  dataMaintenance: rules('Data-Maintenance', [0, 0, 0], 1, 55_000),
  tradeCleanup: rules('Trade-Cleanup', [0, 0, 0], 1, Infinity),
};

function rules(
  title: string,
  [mixPercent, mixPercentMin, mixPercentMax]: readonly [number, number, number],
  isolation: 1 | 2 | 3,
  responseMsMax: number,
): TransactionRules {
  return { title, mixPercent, mixPercentMin, mixPercentMax, isolation, responseMsMax };
}

/** A transaction that has ended; one that was rolled back on purpose counts as ended, too. */
export interface Execution<R> {
  readonly result: R;
  /** Each but the last met a conflict, or another error after which a transaction may run again. */
  readonly attempts: number;
  /** Whether its commit got no answer, and its outcome was found out later. Default false. */
  readonly wasUnknown?: boolean | undefined;
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
