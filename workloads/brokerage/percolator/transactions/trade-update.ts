/** Trade-Update on Percolator: Trade-Lookup's first three frames, with small edits. */
import { unreachable } from '#engine';
import type { Row, TradeUpdateInput, TradeUpdateResult } from '../../model/index.ts';
import type { RowWriter } from '../rows.ts';
import type { TradeRecord } from '../trade-record.ts';
import { describeTrades, selectTrades } from './trade-lookup.ts';

export async function tradeUpdate(
  rows: RowWriter,
  input: TradeUpdateInput,
): Promise<TradeUpdateResult> {
  const selected = await selectTrades(rows, input);
  let updated = 0;
  const after = selected.map((record, i) => {
    const changed = i < input.updatesMax ? edit(input.frame, record) : undefined;
    if (changed === undefined) return record;
    rows.updateTrade(record, changed);
    updated++;
    return changed;
  });
  return { updated, trades: await describeTrades(rows, after) };
}

/** Returns the trade after the edit; undefined if there is nothing to edit. */
function edit(frame: TradeUpdateInput['frame'], record: TradeRecord): TradeRecord | undefined {
  const { trade, settlement, cash } = record;
  switch (frame) {
    case 1:
      return { ...record, trade: { ...trade, t_exec_name: toggleMiddle(trade.t_exec_name) } };
    case 2: {
      if (settlement === undefined) return undefined;
      const se_cash_type = toggleCashType(settlement, trade.t_is_cash);
      return { ...record, settlement: { ...settlement, se_cash_type } };
    }
    case 3:
      return cash && { ...record, cash: { ...cash, ct_name: toggleCase(cash.ct_name) } };
    default:
      return unreachable(frame);
  }
}

function toggleMiddle(name: string): string {
  return name.includes(' X ') ? name.replace(' X ', ' ') : name.replace(' ', ' X ');
}

function toggleCashType({ se_cash_type }: Row<'settlement'>, isCash: boolean): string {
  if (isCash) return se_cash_type === 'Cash Account' ? 'Cash' : 'Cash Account';
  return se_cash_type === 'Margin Account' ? 'Margin' : 'Margin Account';
}

function toggleCase(name: string): string {
  return name.includes(' shares of ')
    ? name.replace(' shares of ', ' Shares of ')
    : name.replace(' Shares of ', ' shares of ');
}
