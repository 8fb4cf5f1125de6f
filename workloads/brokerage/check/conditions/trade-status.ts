/**
 * The status of a trade, its history and its request agree:
 *
 *     status    history                request
 *     PNDG      PNDG                   one row
 *     SBMT      SBMT                   none; once all orders are completed, no trade is SBMT
 *     CMPT      SBMT, CMPT             none
 *     CNCL      CNCL and any others    none
 *
 * The history of a limit order that was triggered also has PNDG.
 */
import type { Facts, TradeFacts } from '../facts.ts';
import type { Finding } from '../finding.ts';

export function* checkTradeStatus(
  facts: Facts,
  { isDrained }: { readonly isDrained: boolean },
): Generator<Finding> {
  for (const { table, tradeId } of facts.orphans) {
    yield {
      condition: 'trade status',
      message: `${table} has trade ${tradeId}, which does not exist`,
    };
  }
  for (const [id, trade] of facts.trades) {
    for (const message of wrongStatus(facts, trade, isDrained)) {
      yield { condition: 'trade status', message: `trade ${id} ${message}` };
    }
  }
}

function* wrongStatus(facts: Facts, one: TradeFacts, isDrained: boolean): Generator<string> {
  const { trade, statuses, request } = one;
  const status = trade.t_st_id;
  const found = statuses.toSorted().join(' ');
  const isMarket = facts.tradeTypes.get(trade.t_tt_id)?.tt_is_mrkt === true;
  const limit = isMarket ? [] : ['PNDG'];
  const expected: Readonly<Record<string, readonly string[]>> = {
    PNDG: ['PNDG'],
    SBMT: [...limit, 'SBMT'],
    CMPT: ['CMPT', ...limit, 'SBMT'],
  };
  const history = expected[status]?.join(' ');
  if (status === 'CNCL') {
    if (!statuses.includes('CNCL')) yield 'is canceled, but its history does not say so';
  } else if (history === undefined) {
    yield `has status ${status}`;
  } else if (found !== history) {
    yield `is ${status}, and its history is ${found || 'empty'}`;
  }
  if (status === 'SBMT' && isDrained) yield 'is still submitted';
  if ((status === 'PNDG') !== (request !== undefined)) {
    yield request === undefined ? 'is pending without a request' : `is ${status} and has a request`;
  }
}
