/** Trade-Update on Percolator: Trade-Lookup's first three frames, with small edits. */
import { unreachable } from '#engine';
import type { Row, TradeUpdateInput, TradeUpdateResult } from '../../model/index.ts';
import type { RowWriter } from '../rows.ts';
import type { TradeDetails } from './trade-details.ts';
import { describeTrades, selectTrades } from './trade-lookup.ts';

export async function tradeUpdate(
  rows: RowWriter,
  input: TradeUpdateInput,
): Promise<TradeUpdateResult> {
  const selected = await selectTrades(rows, input);
  let updated = 0;
  const after = selected.map((details, i) => {
    const changed = i < input.updatesMax ? edit(rows, input.frame, details) : undefined;
    if (changed !== undefined) updated++;
    return changed ?? details;
  });
  return { updated, trades: await describeTrades(rows, after) };
}

/** The details after the edit; undefined if there is nothing to edit. */
function edit(
  rows: RowWriter,
  frame: TradeUpdateInput['frame'],
  details: TradeDetails,
): TradeDetails | undefined {
  const { trade, settlement, cash } = details;
  switch (frame) {
    case 1: {
      const t_exec_name = toggleMiddle(trade.t_exec_name);
      return { ...details, trade: rows.update('trade', trade, { t_exec_name }) };
    }
    case 2: {
      if (settlement === undefined) return undefined;
      const se_cash_type = toggleCashType(settlement, trade.t_is_cash);
      const after = rows.update('settlement', settlement, { se_cash_type });
      return { ...details, settlement: after };
    }
    case 3: {
      if (cash === undefined) return undefined;
      const ct_name = toggleCase(cash.ct_name);
      return { ...details, cash: rows.update('cash_transaction', cash, { ct_name }) };
    }
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
