/**
 * Broker-Volume: for each of some brokers, the value of its pending orders for securities of a
 * sector.
 */
import type { BrokerVolumeInput, BrokerVolumeResult } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

export async function brokerVolume(
  frame: Frame,
  { brokerNames, sectorName }: BrokerVolumeInput,
): Promise<BrokerVolumeResult> {
  return { volumes: await frame.rows(VOLUMES, [brokerNames, sectorName]) };
}

const VOLUMES: Statement = {
  name: 'broker volume',
  text: `
    SELECT b_name AS "brokerName", sum(tr_qty * tr_bid_price)::bigint AS "volume"
    FROM broker
    JOIN trade_request ON tr_b_id = b_id
    JOIN security ON s_symb = tr_s_symb
    JOIN company ON co_id = s_co_id
    JOIN industry ON in_id = co_in_id
    JOIN sector ON sc_id = in_sc_id
    WHERE b_name = ANY ($1) AND sc_name = $2
    GROUP BY b_id
    ORDER BY "volume" DESC, b_name`,
};
