/** Trade-Update: the same selections as Trade-Lookup; the first selected trades are modified. */
import type { LookedUpTrade, TradeUpdateInput, TradeUpdateResult } from '../../model/index.ts';
import type { Frame } from './frame.ts';
import { type ByFrame, LOOK_UP, SELECT_IDS, selectionValues } from './trade-selection.ts';

export async function tradeUpdate(
  frame: Frame,
  input: TradeUpdateInput,
): Promise<TradeUpdateResult> {
  const selected = await frame.rows<{ id: number }>(
    SELECT_IDS[input.frame],
    selectionValues(input),
  );
  const ids = selected.map(({ id }) => id);
  const [updated, trades] = await Promise.all([
    frame.change(MODIFY[input.frame], [ids.slice(0, input.updatesMax)]),
    frame.rows<LookedUpTrade>(LOOK_UP[1], [ids]),
  ]);
  return { updated, trades };
}

const MODIFY: ByFrame = {
  1: {
    name: 'trade update: executor',
    text: `
      UPDATE trade
      SET t_exec_name = CASE
        WHEN strpos(t_exec_name, ' X ') > 0 THEN regexp_replace(t_exec_name, ' X ', ' ')
        ELSE regexp_replace(t_exec_name, ' ', ' X ')
      END
      WHERE t_id = ANY ($1)`,
  },
  2: {
    name: 'trade update: cash type',
    text: `
      UPDATE settlement
      SET se_cash_type = CASE
        WHEN t_is_cash THEN CASE se_cash_type WHEN 'Cash Account' THEN 'Cash' ELSE 'Cash Account' END
        ELSE CASE se_cash_type WHEN 'Margin Account' THEN 'Margin' ELSE 'Margin Account' END
      END
      FROM trade
      WHERE se_t_id = ANY ($1) AND t_id = se_t_id`,
  },
  3: {
    name: 'trade update: name of the cash transaction',
    text: `
      UPDATE cash_transaction
      SET ct_name = CASE
        WHEN strpos(ct_name, ' shares of ') > 0 THEN regexp_replace(ct_name, ' shares of ', ' Shares of ')
        ELSE regexp_replace(ct_name, ' Shares of ', ' shares of ')
      END
      WHERE ct_t_id = ANY ($1)`,
  },
};
