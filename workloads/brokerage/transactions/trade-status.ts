/**
 * Trade-Status: the owner, the broker, and the 50 newest trades of an account (T_DTS, then id,
 * descending).
 */
import type { RowReader } from '../percolator/rows.ts';

export interface TradeStatusInput {
  readonly accountId: number;
}

export interface TradeStatusResult {
  readonly customerFirstName: string;
  readonly customerLastName: string;
  readonly brokerName: string;
  readonly trades: readonly {
    readonly tradeId: number;
    readonly time: number;
    readonly statusName: string;
    readonly tradeTypeName: string;
    readonly symbol: string;
    readonly quantity: number;
    readonly executorName: string;
    readonly charge: number;
    readonly securityName: string;
    readonly exchangeName: string;
  }[];
}

const TRADES_MAX = 50;

/** One scan for the trades, and one read for each row that they refer to. */
export async function tradeStatus(
  rows: RowReader,
  { accountId }: TradeStatusInput,
): Promise<TradeStatusResult> {
  const [account, trades] = await Promise.all([
    rows.get('customer_account', accountId),
    rows.scanPath('trade', 'by_account', [accountId], { limit: TRADES_MAX }),
  ]);
  const [[customer, broker], securities, statuses, types] = await Promise.all([
    rows.getAll([
      ['customer', account.ca_c_id],
      ['broker', account.ca_b_id],
    ]),
    rows.byKey(
      'security',
      trades.map(({ t_s_symb }) => t_s_symb),
    ),
    rows.byKey(
      'status_type',
      trades.map(({ t_st_id }) => t_st_id),
    ),
    rows.byKey(
      'trade_type',
      trades.map(({ t_tt_id }) => t_tt_id),
    ),
  ]);
  const exchanges = await rows.byKey(
    'exchange',
    [...securities.values()].map((one) => one.s_ex_id),
  );
  return {
    customerFirstName: customer.c_f_name,
    customerLastName: customer.c_l_name,
    brokerName: broker.b_name,
    trades: trades.map((trade) => {
      const security = securities.get(trade.t_s_symb);
      return {
        tradeId: trade.t_id,
        time: trade.t_dts,
        statusName: statuses.get(trade.t_st_id)?.st_name ?? '',
        tradeTypeName: types.get(trade.t_tt_id)?.tt_name ?? '',
        symbol: trade.t_s_symb,
        quantity: trade.t_qty,
        executorName: trade.t_exec_name,
        charge: trade.t_chrg,
        securityName: security?.s_name ?? '',
        exchangeName: exchanges.get(security?.s_ex_id ?? '')?.ex_name ?? '',
      };
    }),
  };
}
