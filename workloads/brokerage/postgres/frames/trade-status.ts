/** Trade-Status: the owner, the broker, and the 50 newest trades of an account. */
import type { TradeStatusInput, TradeStatusResult } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

export async function tradeStatus(
  frame: Frame,
  { accountId }: TradeStatusInput,
): Promise<TradeStatusResult> {
  const [names, trades] = await Promise.all([
    frame.row<Omit<TradeStatusResult, 'trades'>>(NAMES, [accountId]),
    frame.rows<TradeStatusResult['trades'][number]>(TRADES, [accountId]),
  ]);
  return { ...names, trades };
}

const NAMES: Statement = {
  name: 'trade status: names',
  text: `
    SELECT c_f_name AS "customerFirstName", c_l_name AS "customerLastName", b_name AS "brokerName"
    FROM customer_account
    JOIN customer ON c_id = ca_c_id
    JOIN broker ON b_id = ca_b_id
    WHERE ca_id = $1`,
};

const TRADES: Statement = {
  name: 'trade status: trades',
  text: `
    SELECT t_id AS "tradeId", t_dts AS "time", st_name AS "statusName", tt_name AS "tradeTypeName",
           t_s_symb AS "symbol", t_qty AS "quantity", t_exec_name AS "executorName",
           t_chrg AS "charge", s_name AS "securityName", ex_name AS "exchangeName"
    FROM (
      SELECT * FROM trade WHERE t_ca_id = $1 ORDER BY t_dts DESC, t_id DESC LIMIT 50
    ) AS newest
    JOIN status_type ON st_id = t_st_id
    JOIN trade_type ON tt_id = t_tt_id
    JOIN security ON s_symb = t_s_symb
    JOIN exchange ON ex_id = s_ex_id
    ORDER BY t_dts DESC, t_id DESC`,
};
