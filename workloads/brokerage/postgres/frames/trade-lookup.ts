/**
 * Trade-Lookup: trades selected in one of three ways, or (frame 4) all changes of the lots that a
 * trade touched.
 */
import type {
  LookedUpTrade,
  LotChange,
  TradeLookupInput,
  TradeLookupResult,
} from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';
import { LOOK_UP, selectionValues } from './trade-selection.ts';

export async function tradeLookup(
  frame: Frame,
  input: TradeLookupInput,
): Promise<TradeLookupResult> {
  if (input.frame !== 4) {
    return {
      trades: await frame.rows<LookedUpTrade>(LOOK_UP[input.frame], selectionValues(input)),
    };
  }
  const first = await frame.rowIfAny<{ id: number }>(FIRST_TRADE, [input.accountId, input.first]);
  if (first === undefined) return { tradeId: null, changes: [] };
  return { tradeId: first.id, changes: await frame.rows<LotChange>(CHANGES, [first.id]) };
}

const FIRST_TRADE: Statement = {
  name: 'trade lookup: first trade',
  text: `
    SELECT t_id AS id FROM trade
    WHERE t_ca_id = $1 AND t_dts >= $2
    ORDER BY t_dts, t_id
    LIMIT 1`,
};

const CHANGES: Statement = {
  name: 'trade lookup: changes of lots',
  text: `
    SELECT changed.hh_h_t_id AS "lotId", changed.hh_t_id AS "tradeId",
           changed.hh_before_qty AS "before", changed.hh_after_qty AS "after"
    FROM holding_history AS touched
    JOIN holding_history AS changed ON changed.hh_h_t_id = touched.hh_h_t_id
    WHERE touched.hh_t_id = $1
    ORDER BY changed.hh_h_t_id, changed.hh_t_id
    LIMIT 20`,
};
