/**
 * The public interface of the model: what the brokerage is, for every system and for the driver.
 */
export type { BrokerUpdate, Brokerage, Execution, TableReader } from './brokerage.ts';
export { activityOf, drawCustomer, rankOf, tierOf } from './customer-skew.ts';
export { commissionOf, taxOf } from './money.ts';
export type { InitialTrades, Market, Population, Roster } from './population.ts';
export { changePosition, type Lot, type PositionChange, type TradeOnPosition } from './position.ts';
export { countsOf, SCALES, TINY, validateScale, type Counts, type Scale } from './scale.ts';
export {
  CASH_TYPE,
  cashTransactionName,
  settlementAmount,
  SETTLEMENT_DAYS_MS,
} from './settlement.ts';
export { describe, TABLE_NAMES, type Row, type TableName } from './tables.ts';
export type { ColumnType, TableDescription } from './tables/description.ts';
export {
  TRANSACTIONS,
  type Inputs,
  type Results,
  type TransactionRules,
  type TransactionType,
} from './transactions.ts';
export type * from './transactions/market-feed.ts';
export type * from './transactions/reading.ts';
export type * from './transactions/trade-order.ts';
export type * from './transactions/trade-result.ts';
export type * from './transactions/trade-selection.ts';
export type * from './transactions/upkeep.ts';
