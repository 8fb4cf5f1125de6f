/**
 * Market-Watch: the value of a list of securities now and on a past day (sums of S_NUM_OUT ·
 * price). The list has the symbols of all the customer's watch lists; of all positions of an
 * account; or of the active securities of an industry's companies in a range of company ids
 * (inclusive). Symbols without a DAILY_MARKET row of the day are left out.
 */
import { unreachable } from '#engine';
import type { TableRow } from '../model/tables.ts';
import type { RowReader, RowRequest } from '../percolator/rows.ts';

export interface MarketWatchInput {
  readonly list:
    | { readonly kind: 'watch list'; readonly customerId: number }
    | { readonly kind: 'account'; readonly accountId: number }
    | {
        readonly kind: 'industry';
        readonly industryName: string;
        readonly firstCompanyId: number;
        readonly lastCompanyId: number;
      };
  readonly day: number;
}

export interface MarketWatchResult {
  readonly symbols: number;
  readonly capitalizationNow: number;
  readonly capitalizationThen: number;
}

/**
 * One read for the current price of each security on the list, and one read for all past prices, or
 * in the large layout one for each.
 */
export async function marketWatch(
  rows: RowReader,
  { list, day }: MarketWatchInput,
): Promise<MarketWatchResult> {
  const symbols = [...new Set(await symbolsOf(rows, list))];
  const [closes, found] = await Promise.all([
    rows.closesOf(day, symbols),
    rows.findAll(
      symbols.flatMap((symbol): RowRequest[] => [
        ['security', symbol],
        ['last_trade', symbol],
      ]),
    ),
  ]);
  const result = { symbols: 0, capitalizationNow: 0, capitalizationThen: 0 };
  for (const [i, symbol] of symbols.entries()) {
    const [security, lastTrade] = found.slice(2 * i, 2 * i + 2) as [
      TableRow<'security'> | undefined,
      TableRow<'last_trade'> | undefined,
    ];
    const then = closes[symbol];
    if (!security || !lastTrade || then === undefined) continue;
    result.symbols++;
    result.capitalizationNow += security.s_num_out * lastTrade.lt_price;
    result.capitalizationThen += security.s_num_out * then;
  }
  return result;
}

async function symbolsOf(
  rows: RowReader,
  list: MarketWatchInput['list'],
): Promise<readonly string[]> {
  switch (list.kind) {
    case 'watch list': {
      const lists = await rows.scanPath('watch_list', 'by_customer', [list.customerId]);
      const items = await Promise.all(lists.map(({ wl_id }) => rows.scan('watch_item', [wl_id])));
      return items.flat().map(({ wi_s_symb }) => wi_s_symb);
    }
    case 'account': {
      const positions = await rows.scan('holding_summary', [list.accountId]);
      return positions.map(({ hs_s_symb }) => hs_s_symb);
    }
    case 'industry': {
      const [industry] = await rows.scanPath('industry', 'by_name', [list.industryName]);
      const companies = await rows.scanPath('company', 'by_industry', [industry?.in_id ?? ''], {
        from: list.firstCompanyId,
        to: list.lastCompanyId,
      });
      const securities = await Promise.all(
        companies.map(({ co_id }) => rows.scanPath('security', 'by_company', [co_id])),
      );
      const active = securities.flat().filter(({ s_st_id }) => s_st_id === 'ACTV');
      return active.map(({ s_symb }) => s_symb);
    }
    default:
      return unreachable(list);
  }
}
