/**
 * The lots of a position, oldest first: Trade-Order estimates with them, and Trade-Result changes
 * them.
 */
import type { Lot } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

export function readLots(frame: Frame, accountId: number, symbol: string): Promise<readonly Lot[]> {
  return frame.rows(LOTS, [accountId, symbol]);
}

const LOTS: Statement = {
  name: 'lots of a position',
  text: `
    SELECT h_t_id AS "tradeId", h_dts AS "time", h_price AS "price", h_qty AS "quantity"
    FROM holding
    WHERE h_ca_id = $1 AND h_s_symb = $2
    ORDER BY h_dts, h_t_id`,
};
