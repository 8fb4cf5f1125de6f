/** A trade as Trade-Lookup and Trade-Update return it. */
import type { LookedUpTrade, Row } from '../../model/index.ts';
import type { TradeRecord } from '../trade-record.ts';

const HISTORY_MAX = 3;

export function lookedUp(
  { trade, settlement, cash, history }: TradeRecord,
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
