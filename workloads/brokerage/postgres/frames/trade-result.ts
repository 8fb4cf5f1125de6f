/** Trade-Result: the market has completed a trade; its account changes. */
import {
  CASH_TYPE,
  cashTransactionName,
  changePosition,
  commissionOf,
  type PositionChange,
  settlementAmount,
  SETTLEMENT_DAYS_MS,
  taxOf,
  type TradeResultInput,
  type TradeResultResult,
} from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';
import { insert } from './insert.ts';
import { readLots } from './lots.ts';
import { readTaxRates } from './tax-rates.ts';

type Frame1 = TradeResultResult['frame1'];

interface Account {
  readonly brokerId: number;
  readonly customerId: number;
  readonly taxStatus: number;
  readonly balance: number;
}

export async function tradeResult(
  frame: Frame,
  input: TradeResultInput,
  options: { readonly updatesBroker: boolean },
): Promise<TradeResultResult> {
  const frame1 = await frame.row<Frame1>(TRADE, [input.tradeId]);
  const { isSell, isLifo, quantity, symbol, accountId } = frame1;
  const [{ balance, ...account }, lots] = await Promise.all([
    frame.row<Account>(ACCOUNT, [accountId]),
    readLots(frame, accountId, symbol),
  ]);
  const change = changePosition(lots, { isSell, isLifo, quantity, price: input.tradePrice });
  changeLots(frame, input, frame1, change);
  changeSummary(frame, frame1);

  const { buyValue, sellValue } = change;
  const isTaxed = account.taxStatus !== 0 && sellValue > buyValue;
  const [rates, frame4] = await Promise.all([
    isTaxed ? readTaxRates(frame, account.customerId) : 0,
    frame.row<TradeResultResult['frame4']>(RATE, [
      symbol,
      account.customerId,
      frame1.tradeTypeId,
      quantity,
    ]),
  ]);
  const taxAmount = isTaxed ? taxOf(sellValue - buyValue, rates) : 0;
  const commission = commissionOf(frame4.commissionRate, quantity, input.tradePrice);
  complete(frame, input, { commission, taxAmount });
  const amount = settlementAmount({
    isSell,
    quantity,
    price: input.tradePrice,
    charge: frame1.charge,
    commission,
    taxStatus: account.taxStatus,
    tax: taxAmount,
  });
  settle(frame, input, { ...frame1, ...frame4, amount });
  // Part of frame 5, but sent last: other transactions wait for the row of the broker.
  if (options.updatesBroker) frame.send(BROKER, [account.brokerId, commission]);
  return {
    frame1,
    frame2: { ...account, buyValue, sellValue },
    frame3: { taxAmount },
    frame4,
    frame5: { commission },
    frame6: {
      settlementAmount: amount,
      accountBalance: frame1.isCash ? balance + amount : balance,
    },
  };
}

/** Part of frame 2. */
function changeLots(
  frame: Frame,
  { tradeId, tradePrice, now }: TradeResultInput,
  { accountId, symbol }: Frame1,
  { touched, opened }: PositionChange,
): void {
  for (const { lot, after } of touched) {
    insert(frame, 'holding_history', {
      hh_h_t_id: lot.tradeId,
      hh_t_id: tradeId,
      hh_before_qty: lot.quantity,
      hh_after_qty: after,
    });
    if (after === 0) frame.send(DELETE_LOT, [lot.tradeId]);
    else frame.send(CHANGE_LOT, [lot.tradeId, after]);
  }
  if (opened === 0) return;
  insert(frame, 'holding_history', {
    hh_h_t_id: tradeId,
    hh_t_id: tradeId,
    hh_before_qty: 0,
    hh_after_qty: opened,
  });
  insert(frame, 'holding', {
    h_t_id: tradeId,
    h_ca_id: accountId,
    h_s_symb: symbol,
    h_dts: now,
    h_price: tradePrice,
    h_qty: opened,
  });
}

/** Also part of frame 2. */
function changeSummary(frame: Frame, traded: Frame1): void {
  const { accountId, symbol, isSell, quantity, positionQuantity } = traded;
  const after = positionQuantity + (isSell ? -quantity : quantity);
  if (positionQuantity === 0) {
    frame.send(OPEN_SUMMARY, [accountId, symbol, after]);
  } else if (after === 0) {
    frame.send(DELETE_SUMMARY, [accountId, symbol]);
  } else {
    frame.send(CHANGE_SUMMARY, [accountId, symbol, after]);
  }
}

/** Frame 5, with the tax of frame 3: one row, one change. */
function complete(
  frame: Frame,
  { tradeId, tradePrice, now }: TradeResultInput,
  { commission, taxAmount }: { readonly commission: number; readonly taxAmount: number },
): void {
  frame.send(COMPLETE, [tradeId, now, tradePrice, commission, taxAmount]);
  insert(frame, 'trade_history', { th_t_id: tradeId, th_dts: now, th_st_id: 'CMPT' });
}

/** Frame 6. */
function settle(
  frame: Frame,
  { tradeId, now }: TradeResultInput,
  traded: Frame1 & TradeResultResult['frame4'] & { readonly amount: number },
): void {
  const { amount, accountId, isCash, quantity, tradeTypeName, securityName } = traded;
  insert(frame, 'settlement', {
    se_t_id: tradeId,
    se_cash_type: isCash ? CASH_TYPE.cash : CASH_TYPE.margin,
    se_cash_due_date: now + SETTLEMENT_DAYS_MS,
    se_amt: amount,
  });
  if (!isCash) return;
  frame.send(BALANCE, [accountId, amount]);
  insert(frame, 'cash_transaction', {
    ct_t_id: tradeId,
    ct_dts: now,
    ct_amt: amount,
    ct_name: cashTransactionName(tradeTypeName, quantity, securityName),
  });
}

const TRADE: Statement = {
  name: 'trade result: trade',
  text: `
    SELECT t_ca_id AS "accountId", t_s_symb AS "symbol", t_tt_id AS "tradeTypeId",
           tt_name AS "tradeTypeName", tt_is_sell AS "isSell", tt_is_mrkt AS "isMarket",
           t_lifo AS "isLifo", t_is_cash AS "isCash", t_qty AS "quantity", t_chrg AS "charge",
           coalesce(hs_qty, 0) AS "positionQuantity"
    FROM trade
    JOIN trade_type ON tt_id = t_tt_id
    LEFT JOIN holding_summary ON hs_ca_id = t_ca_id AND hs_s_symb = t_s_symb
    WHERE t_id = $1`,
};

const ACCOUNT: Statement = {
  name: 'trade result: account',
  text: `
    SELECT ca_b_id AS "brokerId", ca_c_id AS "customerId", ca_tax_st AS "taxStatus", ca_bal AS "balance"
    FROM customer_account
    WHERE ca_id = $1`,
};

const DELETE_LOT: Statement = {
  name: 'trade result: delete lot',
  text: `DELETE FROM holding WHERE h_t_id = $1`,
};

const CHANGE_LOT: Statement = {
  name: 'trade result: change lot',
  text: `UPDATE holding SET h_qty = $2 WHERE h_t_id = $1`,
};

/**
 * If another trade has opened the position since our snapshot, ON CONFLICT turns this into a
 * failure that is retried.
 */
const OPEN_SUMMARY: Statement = {
  name: 'trade result: open summary',
  text: `
    INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING`,
};

const DELETE_SUMMARY: Statement = {
  name: 'trade result: delete summary',
  text: `DELETE FROM holding_summary WHERE hs_ca_id = $1 AND hs_s_symb = $2`,
};

const CHANGE_SUMMARY: Statement = {
  name: 'trade result: change summary',
  text: `UPDATE holding_summary SET hs_qty = $3 WHERE hs_ca_id = $1 AND hs_s_symb = $2`,
};

const RATE: Statement = {
  name: 'trade result: commission rate',
  text: `
    SELECT s_name AS "securityName", cr_rate AS "commissionRate"
    FROM security
    JOIN customer ON c_id = $2
    JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = $3 AND cr_ex_id = s_ex_id
      AND cr_from_qty <= $4 AND cr_to_qty >= $4
    WHERE s_symb = $1`,
};

const COMPLETE: Statement = {
  name: 'trade result: complete',
  text: `
    UPDATE trade
    SET t_dts = $2, t_st_id = 'CMPT', t_trade_price = $3, t_comm = $4, t_tax = $5
    WHERE t_id = $1`,
};

const BALANCE: Statement = {
  name: 'trade result: balance',
  text: `UPDATE customer_account SET ca_bal = ca_bal + $2 WHERE ca_id = $1`,
};

const BROKER: Statement = {
  name: 'trade result: broker',
  text: `
    UPDATE broker SET b_comm_total = b_comm_total + $2, b_num_trades = b_num_trades + 1
    WHERE b_id = $1`,
};
