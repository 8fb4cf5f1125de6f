/**
 * Trade-Update: Trade-Lookup's first three selections. The first `updatesMax` trades selected are
 * modified, and their new state is returned:
 *
 * 1. T_EXEC_NAME: the first ' X ' becomes ' '; without one, the first ' ' becomes ' X '
 * 2. SE_CASH_TYPE, of trades that are settled: for cash, 'Cash Account' ↔ 'Cash'; else 'Margin
 *    Account' ↔ 'Margin'
 * 3. CT_NAME, of trades with a cash transaction: the first ' shares of ' ↔ ' Shares of '
 */
import { unreachable } from '#engine';
import type { TableRow } from '../model/tables.ts';
import type { RowWriter } from '../percolator/rows.ts';
import type { TradeRecord } from '../percolator/trade-record.ts';
import {
  describeTrades,
  type LookedUpTrade,
  selectTrades,
  type TradeSelection,
} from './trade-lookup.ts';

export type TradeUpdateInput = TradeSelection & { readonly updatesMax: number };

export interface TradeUpdateResult {
  readonly updated: number;
  readonly trades: readonly LookedUpTrade[];
}

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

function toggleCashType({ se_cash_type }: TableRow<'settlement'>, isCash: boolean): string {
  if (isCash) return se_cash_type === 'Cash Account' ? 'Cash' : 'Cash Account';
  return se_cash_type === 'Margin Account' ? 'Margin' : 'Margin Account';
}

function toggleCase(name: string): string {
  return name.includes(' shares of ')
    ? name.replace(' shares of ', ' Shares of ')
    : name.replace(' Shares of ', ' shares of ');
}
