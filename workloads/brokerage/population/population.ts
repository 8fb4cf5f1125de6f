/**
 * The data before the first transaction, derived from a scale and a seed.
 *
 * Most tables are functions of a number, row by row. The rows that trades leave are different: the
 * trades are completed once, in order, when the first of those tables is read, and kept in a
 * compact form (trade-ledger.ts).
 */
import {
  type Market,
  type Population,
  type Roster,
  type Row,
  type Scale,
  type TableName,
  validateScale,
} from '../model/index.ts';
import { completeInitialTrades, initialTrades } from './initial-trades.ts';
import { createMarket } from './market.ts';
import { createRoster } from './roster.ts';
import * as customers from './rows/customer-rows.ts';
import * as dimensions from './rows/dimension-rows.ts';
import * as fixed from './rows/fixed-rows.ts';
import * as market from './rows/market-rows.ts';
import * as news from './rows/news-rows.ts';
import * as trades from './rows/trade-rows.ts';

/** @throws INVALID_ARGUMENT if no brokerage of this scale is possible */
export function createPopulation(scale: Scale, seed: number): Population {
  validateScale(scale);
  const prices = createMarket(scale.pricePeriodMs);
  const roster = createRoster(scale, seed, initialTrades(scale));
  const sources = tableSources({ scale, seed, roster, market: prices });
  return {
    scale,
    seed,
    roster,
    market: prices,
    rows: <T extends TableName>(table: T): Iterable<Row<T>> => sources[table](),
  };
}

interface PopulationBasis {
  readonly scale: Scale;
  readonly seed: number;
  readonly roster: Roster;
  readonly market: Market;
}

type Sources = { readonly [T in TableName]: () => Iterable<Row<T>> };

function tableSources(parts: PopulationBasis): Sources {
  const { scale, seed, roster } = parts;
  let known: trades.CompletedTrades | undefined;
  const completed = (): trades.CompletedTrades =>
    (known ??= { roster, seed, ...completeInitialTrades(parts) });
  return {
    account_permission: () => customers.accountPermissionRows(roster),
    address: () => dimensions.addressRows(roster, scale, seed),
    broker: () => trades.brokerRows(completed()),
    cash_transaction: () => trades.cashTransactionRows(completed()),
    charge: () => fixed.charges(),
    commission_rate: () => fixed.commissionRates(),
    company: () => market.companyRows(roster, seed),
    company_competitor: () => market.competitorRows(roster),
    customer: () => customerRows(roster),
    customer_account: () => customers.accountRows(roster, seed),
    customer_taxrate: () => customers.customerTaxRateRows(roster, seed),
    daily_market: () => market.dailyMarketRows(roster, seed),
    exchange: () => fixed.EXCHANGES,
    financial: () => market.financialRows(roster, seed),
    holding: () => trades.holdingRows(completed()),
    holding_history: () => trades.holdingHistoryRows(completed()),
    holding_summary: () => trades.holdingSummaryRows(completed()),
    industry: () => fixed.industries(),
    last_trade: () => market.lastTradeRows(roster, parts.market),
    news_item: () => news.newsItemRows(roster, scale, seed),
    news_xref: () => news.newsXrefRows(roster),
    sector: () => fixed.sectors(),
    security: () => market.securityRows(roster, seed),
    settlement: () => trades.settlementRows(completed()),
    status_type: () => fixed.STATUS_TYPES,
    taxrate: () => fixed.taxRates(seed),
    trade: () => trades.tradeRows(completed()),
    trade_history: () => trades.tradeHistoryRows(completed()),
    trade_request: () => [],
    trade_type: () => fixed.TRADE_TYPES,
    watch_item: () => customers.watchItemRows(roster, seed),
    watch_list: () => customers.watchListRows(roster),
    zip_code: () => dimensions.zipCodeRows(scale),
  };
}

function* customerRows(roster: Roster): Generator<Row<'customer'>> {
  for (let i = 0; i < roster.customers; i++) yield roster.customer(i);
}
