/** The rows that the initial trades leave. */
import {
  CASH_TYPE,
  cashTransactionName,
  type Roster,
  type Row,
  settlementAmount,
  SETTLEMENT_DAYS_MS,
} from '../../model/index.ts';
import { brokerId } from '../ids.ts';
import type { LotLedger } from '../lot-ledger.ts';
import { brokerOf } from '../roster.ts';
import type { CompletedTrade, TradeLedger } from '../trade-ledger.ts';
import { accountTaxStatus } from './customer-rows.ts';
import { TRADE_TYPES } from './fixed-rows.ts';
import { securityName } from './market-rows.ts';

export interface CompletedTrades {
  readonly roster: Roster;
  readonly seed: number;
  readonly trades: TradeLedger;
  readonly lots: LotLedger;
}

export function* tradeRows({ roster, trades }: CompletedTrades): Generator<Row<'trade'>> {
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

export function* tradeHistoryRows({
  roster,
  trades,
}: CompletedTrades): Generator<Row<'trade_history'>> {
  for (const [th_t_id, trade] of completed(roster, trades)) {
    yield { th_t_id, th_dts: trade.completedMs, th_st_id: 'CMPT' };
    if (!typeOf(trade).tt_is_mrkt) yield { th_t_id, th_dts: trade.submittedMs, th_st_id: 'PNDG' };
    yield { th_t_id, th_dts: trade.triggeredMs, th_st_id: 'SBMT' };
  }
}

export function* settlementRows({
  roster,
  seed,
  trades,
}: CompletedTrades): Generator<Row<'settlement'>> {
  for (const [se_t_id, trade] of completed(roster, trades)) {
    yield {
      se_t_id,
      se_cash_type: trade.isCash ? CASH_TYPE.cash : CASH_TYPE.margin,
      se_cash_due_date: trade.completedMs + SETTLEMENT_DAYS_MS,
      se_amt: amountOf(trade, seed),
    };
  }
}

export function* cashTransactionRows({
  roster,
  seed,
  trades,
}: CompletedTrades): Generator<Row<'cash_transaction'>> {
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

export function holdingHistoryRows({ lots }: CompletedTrades): readonly Row<'holding_history'>[] {
  return lots.history.toSorted((a, b) => a.hh_h_t_id - b.hh_h_t_id || a.hh_t_id - b.hh_t_id);
}

export function holdingRows({ roster, lots }: CompletedTrades): readonly Row<'holding'>[] {
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

export function holdingSummaryRows({
  roster,
  lots,
}: CompletedTrades): readonly Row<'holding_summary'>[] {
  const rows = [...lots.positions].map(({ accountId, security, lots: open }) => ({
    hs_ca_id: accountId,
    hs_s_symb: roster.symbol(security),
    hs_qty: open.reduce((sum, { quantity }) => sum + quantity, 0),
  }));
  return rows.toSorted((a, b) => a.hs_ca_id - b.hs_ca_id || (a.hs_s_symb < b.hs_s_symb ? -1 : 1));
}

/** Includes the totals of the initial trades. */
export function brokerRows({ roster, seed, trades }: CompletedTrades): readonly Row<'broker'>[] {
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

function typeOf({ type }: CompletedTrade): Row<'trade_type'> {
  return TRADE_TYPES[type] as Row<'trade_type'>;
}

function amountOf(trade: CompletedTrade, seed: number): number {
  return settlementAmount({
    ...trade,
    isSell: typeOf(trade).tt_is_sell,
    price: trade.tradePrice,
    taxStatus: accountTaxStatus(trade.accountId, seed),
  });
}
