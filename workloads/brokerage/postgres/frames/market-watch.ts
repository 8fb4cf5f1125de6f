/**
 * Market-Watch: the value of a list of securities now and on a past day. The list is part of the
 * query.
 */
import { unreachable } from '#engine';
import type { MarketWatchInput, MarketWatchResult } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

export function marketWatch(
  frame: Frame,
  { list, day }: MarketWatchInput,
): Promise<MarketWatchResult> {
  switch (list.kind) {
    case 'watch list':
      return frame.row(OF_WATCH_LIST, [day, list.customerId]);
    case 'account':
      return frame.row(OF_ACCOUNT, [day, list.accountId]);
    case 'industry':
      return frame.row(OF_INDUSTRY, [
        day,
        list.industryName,
        list.firstCompanyId,
        list.lastCompanyId,
      ]);
    default:
      return unreachable(list);
  }
}

const OF_WATCH_LIST: Statement = {
  name: 'market watch: watch list',
  text: worth(`
    SELECT wi_s_symb AS symbol FROM watch_list JOIN watch_item ON wi_wl_id = wl_id WHERE wl_c_id = $2`),
};

const OF_ACCOUNT: Statement = {
  name: 'market watch: account',
  text: worth(`SELECT hs_s_symb AS symbol FROM holding_summary WHERE hs_ca_id = $2`),
};

const OF_INDUSTRY: Statement = {
  name: 'market watch: industry',
  text: worth(`
    SELECT s_symb AS symbol
    FROM industry
    JOIN company ON co_in_id = in_id
    JOIN security ON s_co_id = co_id
    WHERE in_name = $2 AND co_id BETWEEN $3 AND $4 AND s_st_id = 'ACTV'`),
};

function worth(symbols: string): string {
  return `
    SELECT count(*) AS "symbols",
           coalesce(sum(s_num_out * lt_price), 0)::bigint AS "capitalizationNow",
           coalesce(sum(s_num_out * dm_close), 0)::bigint AS "capitalizationThen"
    FROM (${symbols}) AS listed
    JOIN daily_market ON dm_s_symb = symbol AND dm_date = $1
    JOIN last_trade ON lt_s_symb = symbol
    JOIN security ON s_symb = symbol`;
}
