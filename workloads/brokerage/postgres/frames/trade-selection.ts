/**
 * The part that Trade-Lookup and Trade-Update share: the selection of trades, and their
 * description.
 */
import { unreachable } from '#engine';
import type { TradeSelection } from '../../model/index.ts';
import type { Statement } from './frame.ts';

/** A statement for each selection. */
export type ByFrame = Readonly<Record<TradeSelection['frame'], Statement>>;

export function selectionValues(selection: TradeSelection): readonly unknown[] {
  switch (selection.frame) {
    case 1:
      return [selection.tradeIds];
    case 2:
      return [selection.accountId, selection.first, selection.last, selection.tradesMax];
    case 3:
      return [selection.symbol, selection.first, selection.last, selection.tradesMax];
    default:
      return unreachable(selection);
  }
}

export const SELECT_IDS: ByFrame = byFrame(
  'trade selection: ids',
  (selected) =>
    `SELECT t_id AS id FROM (${selected}) AS selected JOIN trade ON t_id = id ORDER BY place`,
);

export const LOOK_UP: ByFrame = byFrame(
  'trade selection: look up',
  (selected) => `
    SELECT t_id AS "tradeId", t_ca_id AS "accountId", t_s_symb AS "symbol", t_qty AS "quantity",
           tt_name AS "tradeTypeName", tt_is_mrkt AS "isMarket", t_is_cash AS "isCash",
           t_dts AS "time", t_bid_price AS "bidPrice", t_trade_price AS "tradePrice",
           t_exec_name AS "executorName",
           CASE WHEN se_t_id IS NOT NULL THEN json_build_object(
             'amount', se_amt, 'dueDate', se_cash_due_date, 'cashType', se_cash_type
           ) END AS "settlement",
           CASE WHEN ct_t_id IS NOT NULL THEN json_build_object(
             'amount', ct_amt, 'time', ct_dts, 'name', ct_name
           ) END AS "cashTransaction",
           (
             SELECT coalesce(json_agg(event), '[]')
             FROM (
               SELECT th_dts AS "time", th_st_id AS "statusId"
               FROM trade_history
               WHERE th_t_id = t_id
               ORDER BY th_dts, th_st_id
               LIMIT 3
             ) AS event
           ) AS "history"
    FROM (${selected}) AS selected
    JOIN trade ON t_id = id
    JOIN trade_type ON tt_id = t_tt_id
    LEFT JOIN settlement ON se_t_id = id
    LEFT JOIN cash_transaction ON ct_t_id = id
    ORDER BY place`,
);

/** `text` receives the ids with their places, as SQL. */
function byFrame(name: string, text: (selected: string) => string): ByFrame {
  const given = 'SELECT id, place FROM unnest($1::bigint[]) WITH ORDINALITY AS given(id, place)';
  return {
    1: { name: `${name} 1`, text: text(given) },
    2: { name: `${name} 2`, text: text(window('t_ca_id')) },
    3: { name: `${name} 3`, text: text(window('t_s_symb')) },
  };
}

function window(column: string): string {
  return `
    SELECT t_id AS id, row_number() OVER (ORDER BY t_dts, t_id) AS place FROM (
      SELECT t_id, t_dts FROM trade
      WHERE ${column} = $1 AND t_dts BETWEEN $2 AND $3
      ORDER BY t_dts, t_id
      LIMIT $4
    ) AS first_ones`;
}
