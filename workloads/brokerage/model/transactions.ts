/**
 * The twelve transactions: inputs, results, share of the mix, isolation, and response time.
 *
 * Inputs contain everything that chance or a clock decides, including the id of a new trade, and
 * results are plain and fully ordered. So two systems that execute the same inputs, one at a time,
 * must return deeply equal results.
 */
import type { MarketFeedInput, MarketFeedResult } from './transactions/market-feed.ts';
import type {
  BrokerVolumeInput,
  BrokerVolumeResult,
  CustomerPositionInput,
  CustomerPositionResult,
  MarketWatchInput,
  MarketWatchResult,
  SecurityDetailInput,
  SecurityDetailResult,
  TradeStatusInput,
  TradeStatusResult,
} from './transactions/reading.ts';
import type { TradeOrderInput, TradeOrderResult } from './transactions/trade-order.ts';
import type { TradeResultInput, TradeResultResult } from './transactions/trade-result.ts';
import type {
  TradeLookupInput,
  TradeLookupResult,
  TradeUpdateInput,
  TradeUpdateResult,
} from './transactions/trade-selection.ts';
import type {
  DataMaintenanceInput,
  DataMaintenanceResult,
  TradeCleanupInput,
  TradeCleanupResult,
} from './transactions/upkeep.ts';

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
