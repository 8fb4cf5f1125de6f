/** Trade-Cleanup: cancels all pending and submitted orders. */
import type { TradeCleanupInput, TradeCleanupResult } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

export async function tradeCleanup(
  frame: Frame,
  { firstTradeId, now }: TradeCleanupInput,
): Promise<TradeCleanupResult> {
  frame.send(NOTE_REQUESTS, [now]);
  frame.send(CANCEL_REQUESTED, [now]);
  const [requests, { submitted }] = await Promise.all([
    frame.change(DELETE_REQUESTS, []),
    frame.row<{ submitted: number }>(CANCEL_SUBMITTED, [firstTradeId, now]),
  ]);
  return { requests, submitted };
}

const NOTE_REQUESTS: Statement = {
  name: 'trade cleanup: history of requests',
  text: `
    INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
    SELECT tr_t_id, $1, status
    FROM trade_request CROSS JOIN (VALUES ('SBMT'), ('CNCL')) AS noted(status)
    ON CONFLICT DO NOTHING`,
};

const CANCEL_REQUESTED: Statement = {
  name: 'trade cleanup: trades of requests',
  text: `UPDATE trade SET t_st_id = 'CNCL', t_dts = $1 FROM trade_request WHERE t_id = tr_t_id`,
};

const DELETE_REQUESTS: Statement = {
  name: 'trade cleanup: requests',
  text: `DELETE FROM trade_request`,
};

const CANCEL_SUBMITTED: Statement = {
  name: 'trade cleanup: submitted trades',
  text: `
    WITH cancelled AS (
      UPDATE trade SET t_st_id = 'CNCL', t_dts = $2
      WHERE t_id >= $1 AND t_st_id = 'SBMT'
      RETURNING t_id
    ), noted AS (
      INSERT INTO trade_history (th_t_id, th_dts, th_st_id)
      SELECT t_id, $2, 'CNCL' FROM cancelled
      ON CONFLICT DO NOTHING
    )
    SELECT count(*) AS submitted FROM cancelled`,
};
