/**
 * Trade-Result: the market has completed a trade; all changes to its account happen at once.
 *
 * 1. the trade, its type, the position before (0 if there is none)
 * 2. the account; the lots that the trade closes, and the one that it opens (below)
 * 3. if the tax status is 1 or 2 and sell value > buy value: the tax, written to T_TAX
 * 4. security, tier, commission rate
 * 5. TRADE: commission, time, status CMPT, price; TRADE_HISTORY CMPT; the broker's two totals
 * 6. SETTLEMENT; if for cash: the account's balance, and CASH_TRANSACTION
 *
 * Frame 2. A sell takes from lots above zero, a buy from lots below zero, by date, newest first if
 * T_LIFO, ties by lot id in the same direction. HOLDING_HISTORY receives a row (lot, trade, before,
 * after) for each lot touched; a lot that reaches 0 is deleted. What remains of the trade opens a
 * lot named after the trade, dated `now`, at the trade's price (HOLDING_HISTORY: 0 before).
 * HOLDING_SUMMARY changes by the quantity and is deleted at 0. Values as in Trade-Order's estimate,
 * at the trade's price.
 *
 * Frame 6. Settlement amount: sell quantity · price − charge − commission; buy −(quantity · price +
 * charge + commission); minus the tax if the tax status is 1. Due two days after `now`; cash type
 * 'Cash Account' if for cash, else 'Margin'. CT_NAME: `${TT_NAME} ${T_QTY} shares of ${S_NAME}`.
 */
import type { TableRow } from '../model/tables.ts';
import {
  CASH_TYPE,
  cashTransactionName,
  changePosition,
  commissionOf,
  type PositionChange,
  SETTLEMENT_DAYS_MS,
  settlementAmount,
  taxOf,
} from '../model/trading-rules.ts';
import type { UpdateBroker } from '../percolator/broker-update.ts';
import type { RowReader, RowWriter } from '../percolator/rows.ts';
import { type TradeRecord, withLines } from '../percolator/trade-record.ts';
import { commissionRateOf, openLots, taxRatesOf } from './lookups.ts';

export interface TradeResultInput {
  readonly tradeId: number;
  readonly tradePrice: number;
  readonly now: number;
}

export interface TradeResultResult {
  readonly frame1: {
    readonly accountId: number;
    readonly symbol: string;
    readonly tradeTypeId: string;
    readonly tradeTypeName: string;
    readonly isSell: boolean;
    readonly isMarket: boolean;
    readonly isLifo: boolean;
    readonly isCash: boolean;
    readonly quantity: number;
    readonly charge: number;
    /** Quantity of the position before this trade. */
    readonly positionQuantity: number;
  };
  readonly frame2: {
    readonly brokerId: number;
    readonly customerId: number;
    readonly taxStatus: number;
    readonly buyValue: number;
    readonly sellValue: number;
  };
  /** 0 if no tax is due. */
  readonly frame3: { readonly taxAmount: number };
  readonly frame4: { readonly securityName: string; readonly commissionRate: number };
  readonly frame5: { readonly commission: number };
  readonly frame6: { readonly settlementAmount: number; readonly accountBalance: number };
}

interface TradeCompletion {
  readonly input: TradeResultInput;
  readonly record: TradeRecord;
  readonly trade: TableRow<'trade'>;
  readonly tradeType: TableRow<'trade_type'>;
  readonly security: TableRow<'security'>;
  readonly account: TableRow<'customer_account'>;
  readonly position: TableRow<'holding_summary'> | undefined;
}

export async function tradeResult(
  rows: RowWriter,
  input: TradeResultInput,
  updateBroker: UpdateBroker,
): Promise<TradeResultResult> {
  const completing = await readTrade(rows, input);
  const { trade, tradeType, account, position, security } = completing;
  const change = await changeHoldings(rows, completing);
  const { buyValue, sellValue } = change;
  const isTaxed = account.ca_tax_st !== 0 && sellValue > buyValue;
  const [rates, customer] = await Promise.all([
    isTaxed ? taxRatesOf(rows, account.ca_c_id) : 0,
    rows.get('customer', account.ca_c_id),
  ]);
  const tax = isTaxed ? taxOf(sellValue - buyValue, rates) : 0;
  const rate = await commissionRateOf(rows, {
    tier: customer.c_tier,
    tradeTypeId: trade.t_tt_id,
    exchangeId: security.s_ex_id,
    quantity: trade.t_qty,
  });
  const commission = commissionOf(rate, trade.t_qty, input.tradePrice);
  await updateBroker(rows, { brokerId: account.ca_b_id, tradeId: trade.t_id, commission });
  const settled = completeTrade(rows, completing, { tax, commission, lots: lotsOf(trade, change) });
  return {
    frame1: {
      accountId: account.ca_id,
      symbol: trade.t_s_symb,
      tradeTypeId: trade.t_tt_id,
      tradeTypeName: tradeType.tt_name,
      isSell: tradeType.tt_is_sell,
      isMarket: tradeType.tt_is_mrkt,
      isLifo: trade.t_lifo,
      isCash: trade.t_is_cash,
      quantity: trade.t_qty,
      charge: trade.t_chrg,
      positionQuantity: position?.hs_qty ?? 0,
    },
    frame2: {
      brokerId: account.ca_b_id,
      customerId: account.ca_c_id,
      taxStatus: account.ca_tax_st,
      buyValue,
      sellValue,
    },
    frame3: { taxAmount: tax },
    frame4: { securityName: security.s_name, commissionRate: rate },
    frame5: { commission },
    frame6: settled,
  };
}

/** Frame 1, and the rows of frames 2 and 4 whose keys the trade contains. */
async function readTrade(rows: RowReader, input: TradeResultInput): Promise<TradeCompletion> {
  const record = await rows.trade(input.tradeId);
  const { trade } = record;
  const [tradeType, security, account, position] = await rows.findAll([
    ['trade_type', trade.t_tt_id],
    ['security', trade.t_s_symb],
    ['customer_account', trade.t_ca_id],
    ['holding_summary', trade.t_ca_id, trade.t_s_symb],
  ]);
  if (!tradeType || !security || !account) throw new Error(`trade ${trade.t_id} is incomplete`);
  return { input, record, trade, tradeType, security, account, position };
}

/** Frame 2: the position, lot by lot. */
async function changeHoldings(
  rows: RowWriter,
  { input, trade, tradeType, position }: TradeCompletion,
): Promise<PositionChange> {
  const { t_ca_id: accountId, t_s_symb: symbol, t_id: tradeId, t_qty: quantity } = trade;
  const isSell = tradeType.tt_is_sell;
  // A position without lots of the other sign has nothing to close.
  const closes = position !== undefined && position.hs_qty > 0 === isSell;
  const lots = closes ? await openLots(rows, accountId, symbol) : [];
  const { tradePrice: price, now } = input;
  const change = changePosition(lots, { isSell, isLifo: trade.t_lifo, quantity, price });
  const lotRow = (lot: (typeof lots)[number], h_qty: number): TableRow<'holding'> => ({
    h_t_id: lot.tradeId,
    h_ca_id: accountId,
    h_s_symb: symbol,
    h_dts: lot.time,
    h_price: lot.price,
    h_qty,
  });
  for (const { lot, after } of change.touched) {
    insertHistory(rows, { lot: lot.tradeId, tradeId, before: lot.quantity, after });
    if (after === 0) rows.remove('holding', lotRow(lot, lot.quantity));
    else rows.insert('holding', lotRow(lot, after));
  }
  if (change.opened !== 0) {
    insertHistory(rows, { lot: tradeId, tradeId, before: 0, after: change.opened });
    const opened = { tradeId, time: now, price, quantity: change.opened };
    rows.insert('holding', lotRow(opened, change.opened));
  }
  const before = position ?? { hs_ca_id: accountId, hs_s_symb: symbol, hs_qty: 0 };
  const hs_qty = before.hs_qty + (isSell ? -quantity : quantity);
  if (hs_qty === 0) rows.remove('holding_summary', before);
  else rows.insert('holding_summary', { ...before, hs_qty });
  return change;
}

function insertHistory(
  rows: RowWriter,
  {
    lot,
    tradeId,
    before,
    after,
  }: {
    readonly lot: number;
    readonly tradeId: number;
    readonly before: number;
    readonly after: number;
  },
): void {
  rows.insert('holding_history', {
    hh_h_t_id: lot,
    hh_t_id: tradeId,
    hh_before_qty: before,
    hh_after_qty: after,
  });
}

/** The lots that the trade has changed or opened. */
function lotsOf(
  { t_id }: TableRow<'trade'>,
  { touched, opened }: PositionChange,
): readonly number[] {
  const lots = touched.map(({ lot }) => lot.tradeId);
  return (opened === 0 ? lots : [...lots, t_id]).toSorted((a, b) => a - b);
}

interface Costs {
  readonly tax: number;
  readonly commission: number;
}

/** Frame 5, with the tax of frame 3, and frame 6: all rows of the trade are in one cell. */
function completeTrade(
  rows: RowWriter,
  completing: TradeCompletion,
  { tax, commission, lots }: Costs & { readonly lots: readonly number[] },
): TradeResultResult['frame6'] {
  const { input, record, account } = completing;
  const trade = {
    ...record.trade,
    t_comm: commission,
    t_tax: tax,
    t_dts: input.now,
    t_st_id: 'CMPT',
    t_trade_price: input.tradePrice,
  };
  const settled = { ...record, trade, lots, ...settle(completing, { tax, commission }) };
  rows.updateTrade(record, withLines(settled, ['CMPT'], input.now));
  const { settlement, cash } = settled;
  const ca_bal = account.ca_bal + (cash?.ct_amt ?? 0);
  if (cash !== undefined) rows.update('customer_account', account, { ca_bal });
  return { settlementAmount: settlement.se_amt, accountBalance: ca_bal };
}

/** Frame 6. */
function settle(
  { input, trade, tradeType, account, security }: TradeCompletion,
  { tax, commission }: Costs,
): {
  readonly settlement: TableRow<'settlement'>;
  readonly cash: TableRow<'cash_transaction'> | undefined;
} {
  const amount = settlementAmount({
    isSell: tradeType.tt_is_sell,
    quantity: trade.t_qty,
    price: input.tradePrice,
    charge: trade.t_chrg,
    commission,
    taxStatus: account.ca_tax_st,
    tax,
  });
  const settlement = {
    se_t_id: trade.t_id,
    se_cash_type: trade.t_is_cash ? CASH_TYPE.cash : CASH_TYPE.margin,
    se_cash_due_date: input.now + SETTLEMENT_DAYS_MS,
    se_amt: amount,
  };
  const cash = {
    ct_t_id: trade.t_id,
    ct_dts: input.now,
    ct_amt: amount,
    ct_name: cashTransactionName(tradeType.tt_name, trade.t_qty, security.s_name),
  };
  return { settlement, cash: trade.t_is_cash ? cash : undefined };
}
