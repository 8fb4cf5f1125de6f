/** Trade-Lookup on Percolator. */
import { unreachable } from '#engine';
import type {
  LookedUpTrade,
  Row,
  TradeLookupInput,
  TradeLookupResult,
  TradeSelection,
} from '../../model/index.ts';
import type { RowReader } from '../rows.ts';
import type { TradeRecord } from '../trade-record.ts';
import { lookedUp } from './looked-up.ts';

const CHANGES_MAX = 20;

export async function tradeLookup(
  rows: RowReader,
  input: TradeLookupInput,
): Promise<TradeLookupResult> {
  if (input.frame === 4) return lotsOfFirstTrade(rows, input);
  return { trades: await describeTrades(rows, await selectTrades(rows, input)) };
}

/**
 * The trades of frames 1 to 3, with all rows about them. Ids that a customer names may not exist;
 * those are left out.
 */
export async function selectTrades(
  rows: RowReader,
  selection: TradeSelection,
): Promise<readonly TradeRecord[]> {
  switch (selection.frame) {
    case 1:
      return (await rows.findTrades(selection.tradeIds)).filter((record) => record !== undefined);
    case 2:
      return rows.trades(await oldestOfAccount(rows, selection));
    case 3: {
      const { symbol, first, last, tradesMax: limit } = selection;
      const bounds = { from: first, to: last, limit };
      return rows.trades(await rows.tradeIds('by_symbol', [symbol], bounds));
    }
    default:
      return unreachable(selection);
  }
}

export async function describeTrades(
  rows: RowReader,
  records: readonly TradeRecord[],
): Promise<readonly LookedUpTrade[]> {
  const types = await rows.byKey(
    'trade_type',
    records.map(({ trade }) => trade.t_tt_id),
  );
  return records.map((one) => lookedUp(one, types.get(one.trade.t_tt_id)));
}

/** The path starts with the newest trades, and the oldest are needed: all in between are read. */
async function oldestOfAccount(
  rows: RowReader,
  {
    accountId,
    first,
    last,
    tradesMax,
  }: {
    readonly accountId: number;
    readonly first: number;
    readonly last: number;
    readonly tradesMax: number;
  },
): Promise<readonly number[]> {
  const newestFirst = await tradesBetween(rows, accountId, { from: first, to: last });
  return newestFirst
    .slice(-tradesMax)
    .toReversed()
    .map(({ t_id }) => t_id);
}

function tradesBetween(
  rows: RowReader,
  accountId: number,
  bounds: { readonly from: number; readonly to?: number },
): Promise<readonly Row<'trade'>[]> {
  return rows.scanPath('trade', 'by_account', [accountId], bounds);
}

async function lotsOfFirstTrade(
  rows: RowReader,
  { accountId, first }: { readonly accountId: number; readonly first: number },
): Promise<TradeLookupResult> {
  const trade = (await tradesBetween(rows, accountId, { from: first })).at(-1);
  if (trade === undefined) return { tradeId: null, changes: [] };
  const { lots } = await rows.trade(trade.t_id);
  const histories = await Promise.all(lots.map((lot) => rows.scan('holding_history', [lot])));
  const changes = histories.flat().slice(0, CHANGES_MAX);
  return {
    tradeId: trade.t_id,
    changes: changes.map(({ hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty }) => ({
      lotId: hh_h_t_id,
      tradeId: hh_t_id,
      before: hh_before_qty,
      after: hh_after_qty,
    })),
  };
}
