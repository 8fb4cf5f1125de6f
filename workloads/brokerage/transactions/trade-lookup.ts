/**
 * Trade-Lookup: trades selected in three ways, or all changes of some lots. The numbers are those
 * of the frames.
 *
 * 1. the given trade ids, in that order; an id without a trade is left out
 * 2. the first `tradesMax` of an account with first ≤ T_DTS ≤ last, by T_DTS, then id
 * 3. the same for a symbol
 * 4. the first trade of an account with T_DTS ≥ first: all changes of the lots that it touched
 *    (HOLDING_HISTORY), those by other trades included; by lot id, then trade id; at most 20
 */
import { unreachable } from '#engine';
import type { TableRow } from '../model/tables.ts';
import type { RowReader } from '../percolator/rows.ts';
import type { TradeRecord } from '../percolator/trade-record.ts';

export type TradeSelection =
  | { readonly frame: 1; readonly tradeIds: readonly number[] }
  | {
      readonly frame: 2;
      readonly accountId: number;
      readonly first: number;
      readonly last: number;
      readonly tradesMax: number;
    }
  | {
      readonly frame: 3;
      readonly symbol: string;
      readonly first: number;
      readonly last: number;
      readonly tradesMax: number;
    };

export type TradeLookupInput =
  | TradeSelection
  | { readonly frame: 4; readonly accountId: number; readonly first: number };

export interface LookedUpTrade {
  readonly tradeId: number;
  readonly accountId: number;
  readonly symbol: string;
  readonly quantity: number;
  readonly tradeTypeName: string;
  readonly isMarket: boolean;
  readonly isCash: boolean;
  readonly time: number;
  readonly bidPrice: number;
  readonly tradePrice: number | null;
  readonly executorName: string;
  readonly settlement: {
    readonly amount: number;
    readonly dueDate: number;
    readonly cashType: string;
  } | null;
  readonly cashTransaction: {
    readonly amount: number;
    readonly time: number;
    readonly name: string;
  } | null;
  /** By TH_DTS, then TH_ST_ID; at most 3. */
  readonly history: readonly { readonly time: number; readonly statusId: string }[];
}

export interface LotChange {
  readonly lotId: number;
  readonly tradeId: number;
  readonly before: number;
  readonly after: number;
}

export type TradeLookupResult =
  | { readonly trades: readonly LookedUpTrade[] }
  | { readonly tradeId: number | null; readonly changes: readonly LotChange[] };

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
): Promise<readonly TableRow<'trade'>[]> {
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

const HISTORY_MAX = 3;

/** A trade as Trade-Lookup and Trade-Update return it. */
function lookedUp(
  { trade, settlement, cash, history }: TradeRecord,
  tradeType: TableRow<'trade_type'> | undefined,
): LookedUpTrade {
  return {
    tradeId: trade.t_id,
    accountId: trade.t_ca_id,
    symbol: trade.t_s_symb,
    quantity: trade.t_qty,
    tradeTypeName: tradeType?.tt_name ?? '',
    isMarket: tradeType?.tt_is_mrkt === true,
    isCash: trade.t_is_cash,
    time: trade.t_dts,
    bidPrice: trade.t_bid_price,
    tradePrice: trade.t_trade_price,
    executorName: trade.t_exec_name,
    settlement:
      settlement === undefined
        ? null
        : {
            amount: settlement.se_amt,
            dueDate: settlement.se_cash_due_date,
            cashType: settlement.se_cash_type,
          },
    cashTransaction:
      cash === undefined ? null : { amount: cash.ct_amt, time: cash.ct_dts, name: cash.ct_name },
    history: history
      .slice(0, HISTORY_MAX)
      .map(({ th_dts, th_st_id }) => ({ time: th_dts, statusId: th_st_id })),
  };
}
