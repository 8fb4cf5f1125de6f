/**
 * The data before the first transaction, derived from a scale and a seed.
 *
 * Most tables are functions of a number, row by row. The rows that trades leave are different: the
 * trades are completed once, in order, when the first of those tables is read, and kept in a
 * compact form (ledgers.ts).
 */
import type { Market, Population, Roster } from '../model/population.ts';
import type { TableName, TableRow } from '../model/tables.ts';
import { type Scale, validateScale } from '../model/scale.ts';
import { completeInitialTrades, initialTrades } from './initial-trades.ts';
import { createMarket, securityName } from './market-rows.ts';
import { brokerOf, createRoster } from './roster.ts';
import * as customers from './customer-rows.ts';
import * as fixed from './fixed-rows.ts';
import * as market from './market-rows.ts';
import {
  CASH_TYPE,
  cashTransactionName,
  SETTLEMENT_DAYS_MS,
  settlementAmount,
} from '../model/trading-rules.ts';
import { brokerId } from './ids.ts';
import type { CompletedTrade, LotLedger, TradeLedger } from './ledgers.ts';

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
    rows: <T extends TableName>(table: T): Iterable<TableRow<T>> => sources[table](),
  };
}

interface PopulationBasis {
  readonly scale: Scale;
  readonly seed: number;
  readonly roster: Roster;
  readonly market: Market;
}

type Sources = { readonly [T in TableName]: () => Iterable<TableRow<T>> };

function tableSources(parts: PopulationBasis): Sources {
  const { scale, seed, roster } = parts;
  let known: CompletedTrades | undefined;
  const done = (): CompletedTrades => (known ??= { roster, seed, ...completeInitialTrades(parts) });
  return {
    account_permission: () => customers.accountPermissionRows(roster),
    address: () => fixed.addressRows(roster, scale, seed),
    broker: () => brokerRows(done()),
    cash_transaction: () => cashTransactionRows(done()),
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
    holding: () => holdingRows(done()),
    holding_history: () => holdingHistoryRows(done()),
    holding_summary: () => holdingSummaryRows(done()),
    industry: () => fixed.industries(),
    last_trade: () => market.lastTradeRows(roster, parts.market),
    news_item: () => market.newsItemRows(roster, scale, seed),
    news_xref: () => market.newsXrefRows(roster),
    sector: () => fixed.sectors(),
    security: () => market.securityRows(roster, seed),
    settlement: () => settlementRows(done()),
    status_type: () => fixed.STATUS_TYPES,
    taxrate: () => fixed.taxRates(seed),
    trade: () => tradeRows(done()),
    trade_history: () => tradeHistoryRows(done()),
    trade_request: () => [],
    trade_type: () => fixed.TRADE_TYPES,
    watch_item: () => customers.watchItemRows(roster, seed),
    watch_list: () => customers.watchListRows(roster),
    zip_code: () => fixed.zipCodeRows(scale),
  };
}

function* customerRows(roster: Roster): Generator<TableRow<'customer'>> {
  for (let i = 0; i < roster.customers; i++) yield roster.customer(i);
}

/* The rows that the initial trades leave. */

export interface CompletedTrades {
  readonly roster: Roster;
  readonly seed: number;
  readonly trades: TradeLedger;
  readonly lots: LotLedger;
}

function* tradeRows({ roster, trades }: CompletedTrades): Generator<TableRow<'trade'>> {
  for (const [t_id, trade] of completed(roster, trades)) {
    const { ap_f_name, ap_l_name } = roster.permissions(trade.accountId)[trade.executor] ?? {
      ap_f_name: '',
      ap_l_name: '',
    };
    yield {
      t_id,
      t_dts: trade.completedMs,
      t_st_id: 'CMPT',
      t_tt_id: typeOf(trade).tt_id,
      t_is_cash: trade.isCash,
      t_s_symb: roster.symbol(trade.security),
      t_qty: trade.quantity,
      t_bid_price: trade.bidPrice,
      t_ca_id: trade.accountId,
      t_exec_name: `${ap_f_name} ${ap_l_name}`,
      t_trade_price: trade.tradePrice,
      t_chrg: trade.charge,
      t_comm: trade.commission,
      t_tax: trade.tax,
      t_lifo: trade.isLifo,
    };
  }
}

function* tradeHistoryRows({
  roster,
  trades,
}: CompletedTrades): Generator<TableRow<'trade_history'>> {
  for (const [th_t_id, trade] of completed(roster, trades)) {
    yield { th_t_id, th_dts: trade.completedMs, th_st_id: 'CMPT' };
    if (!typeOf(trade).tt_is_mrkt) yield { th_t_id, th_dts: trade.submittedMs, th_st_id: 'PNDG' };
    yield { th_t_id, th_dts: trade.triggeredMs, th_st_id: 'SBMT' };
  }
}

function* settlementRows({
  roster,
  seed,
  trades,
}: CompletedTrades): Generator<TableRow<'settlement'>> {
  for (const [se_t_id, trade] of completed(roster, trades)) {
    yield {
      se_t_id,
      se_cash_type: trade.isCash ? CASH_TYPE.cash : CASH_TYPE.margin,
      se_cash_due_date: trade.completedMs + SETTLEMENT_DAYS_MS,
      se_amt: amountOf(trade, seed),
    };
  }
}

function* cashTransactionRows({
  roster,
  seed,
  trades,
}: CompletedTrades): Generator<TableRow<'cash_transaction'>> {
  for (const [ct_t_id, trade] of completed(roster, trades)) {
    if (!trade.isCash) continue;
    const name = securityName(roster, trade.security);
    yield {
      ct_t_id,
      ct_dts: trade.completedMs,
      ct_amt: amountOf(trade, seed),
      ct_name: cashTransactionName(typeOf(trade).tt_name, trade.quantity, name),
    };
  }
}

function holdingHistoryRows({ lots }: CompletedTrades): readonly TableRow<'holding_history'>[] {
  return lots.history.toSorted((a, b) => a.hh_h_t_id - b.hh_h_t_id || a.hh_t_id - b.hh_t_id);
}

function holdingRows({ roster, lots }: CompletedTrades): readonly TableRow<'holding'>[] {
  const rows = [...lots.positions].flatMap(({ accountId, security, lots: open }) =>
    open.map(({ tradeId, time, price, quantity }) => ({
      h_t_id: tradeId,
      h_ca_id: accountId,
      h_s_symb: roster.symbol(security),
      h_dts: time,
      h_price: price,
      h_qty: quantity,
    })),
  );
  return rows.toSorted((a, b) => a.h_t_id - b.h_t_id);
}

function holdingSummaryRows({
  roster,
  lots,
}: CompletedTrades): readonly TableRow<'holding_summary'>[] {
  const rows = [...lots.positions].map(({ accountId, security, lots: open }) => ({
    hs_ca_id: accountId,
    hs_s_symb: roster.symbol(security),
    hs_qty: open.reduce((sum, { quantity }) => sum + quantity, 0),
  }));
  return rows.toSorted((a, b) => a.hs_ca_id - b.hs_ca_id || (a.hs_s_symb < b.hs_s_symb ? -1 : 1));
}

/** Includes the totals of the initial  */
function brokerRows({ roster, seed, trades }: CompletedTrades): readonly TableRow<'broker'>[] {
  const totals = Array.from({ length: roster.brokers }, () => ({ trades: 0, commission: 0 }));
  for (const [, { accountId, commission }] of completed(roster, trades)) {
    const total = totals[brokerOf(accountId, roster.customers, seed)];
    if (total === undefined) continue;
    total.trades++;
    total.commission += commission;
  }
  return totals.map((total, i) => ({
    b_id: brokerId(i),
    b_st_id: 'ACTV',
    b_name: roster.brokerName(i),
    b_num_trades: total.trades,
    b_comm_total: total.commission,
  }));
}

function* completed(roster: Roster, trades: TradeLedger): Generator<[number, CompletedTrade]> {
  const { firstId, lastId, isAborted } = roster.trades;
  for (let id = firstId; id <= lastId; id++) if (!isAborted(id)) yield [id, trades.get(id)];
}

function typeOf({ type }: CompletedTrade): TableRow<'trade_type'> {
  return fixed.TRADE_TYPES[type] as TableRow<'trade_type'>;
}

function amountOf(trade: CompletedTrade, seed: number): number {
  return settlementAmount({
    ...trade,
    isSell: typeOf(trade).tt_is_sell,
    price: trade.tradePrice,
    taxStatus: customers.accountTaxStatus(trade.accountId, seed),
  });
}
