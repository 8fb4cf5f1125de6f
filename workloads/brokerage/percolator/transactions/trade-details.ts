/** What stands in a trade's row beside the trade: its history, settlement and cash transaction, in one read. */
import type { LookedUpTrade, Row } from '../../model/index.ts';
import { HISTORY_STATUSES } from '../layout.ts';
import type { RowReader } from '../rows.ts';

const HISTORY_MAX = 3;

export interface TradeDetails {
  readonly trade: Row<'trade'>;
  readonly settlement: Row<'settlement'> | undefined;
  readonly cash: Row<'cash_transaction'> | undefined;
  /** By time, then status. */
  readonly history: readonly Row<'trade_history'>[];
}

/** Of the trades that exist, in the order of the ids. */
export async function detailsOf(
  rows: RowReader,
  tradeIds: readonly number[],
): Promise<readonly TradeDetails[]> {
  const columns = 3 + HISTORY_STATUSES.length;
  const found = await rows.findAll(
    tradeIds.flatMap((id) => [
      ['trade', id] as const,
      ['settlement', id] as const,
      ['cash_transaction', id] as const,
      ...HISTORY_STATUSES.map((status) => ['trade_history', id, status] as const),
    ]),
  );
  return tradeIds.flatMap((_, i) => {
    const [trade, settlement, cash, ...history] = found.slice(i * columns, (i + 1) * columns) as [
      Row<'trade'> | undefined,
      Row<'settlement'> | undefined,
      Row<'cash_transaction'> | undefined,
      ...(Row<'trade_history'> | undefined)[],
    ];
    if (trade === undefined) return [];
    return [{ trade, settlement, cash, history: inOrder(history) }];
  });
}

/** The histories of trades, each by time, then status. */
export async function historiesOf(
  rows: RowReader,
  tradeIds: readonly number[],
): Promise<readonly (readonly Row<'trade_history'>[])[]> {
  const columns = HISTORY_STATUSES.length;
  const found = await rows.findAll(
    tradeIds.flatMap((id) =>
      HISTORY_STATUSES.map((status) => ['trade_history', id, status] as const),
    ),
  );
  return tradeIds.map((_, i) => inOrder(found.slice(i * columns, (i + 1) * columns)));
}

export function lookedUp(
  { trade, settlement, cash, history }: TradeDetails,
  tradeType: Row<'trade_type'> | undefined,
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

function inOrder(
  history: readonly (Row<'trade_history'> | undefined)[],
): readonly Row<'trade_history'>[] {
  return history
    .filter((line) => line !== undefined)
    .toSorted((a, b) => a.th_dts - b.th_dts || (a.th_st_id < b.th_st_id ? -1 : 1));
}
