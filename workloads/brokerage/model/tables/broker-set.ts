/** The nine tables of brokers: trades, their costs, and their settlements. */

export const BROKER_SET = {
  broker: {
    columns: {
      b_id: 'id',
      b_st_id: 'text',
      b_name: 'text',
      b_num_trades: 'integer',
      b_comm_total: 'cents',
    },
    primaryKey: ['b_id'],
    paths: { by_name: ['b_name', 'b_id'] },
  },
  cash_transaction: {
    columns: { ct_t_id: 'id', ct_dts: 'time', ct_amt: 'cents', ct_name: 'text' },
    primaryKey: ['ct_t_id'],
    paths: {},
  },
  charge: {
    columns: { ch_tt_id: 'text', ch_c_tier: 'integer', ch_chrg: 'cents' },
    primaryKey: ['ch_tt_id', 'ch_c_tier'],
    paths: {},
  },
  commission_rate: {
    columns: {
      cr_c_tier: 'integer',
      cr_tt_id: 'text',
      cr_ex_id: 'text',
      cr_from_qty: 'integer',
      cr_to_qty: 'integer',
      /** In hundredths of a percent of the trade's value. */
      cr_rate: 'integer',
    },
    primaryKey: ['cr_c_tier', 'cr_tt_id', 'cr_ex_id', 'cr_from_qty'],
    paths: {},
  },
  settlement: {
    columns: { se_t_id: 'id', se_cash_type: 'text', se_cash_due_date: 'time', se_amt: 'cents' },
    primaryKey: ['se_t_id'],
    paths: {},
  },
  trade: {
    columns: {
      t_id: 'id',
      /** Time of the last change of its status. */
      t_dts: 'time',
      t_st_id: 'text',
      t_tt_id: 'text',
      t_is_cash: 'boolean',
      t_s_symb: 'text',
      t_qty: 'integer',
      t_bid_price: 'cents',
      t_ca_id: 'id',
      t_exec_name: 'text',
      /** Null until the trade is completed. */
      t_trade_price: 'cents?',
      t_chrg: 'cents',
      t_comm: 'cents',
      t_tax: 'cents',
      t_lifo: 'boolean',
    },
    primaryKey: ['t_id'],
    paths: {
      by_account: ['t_ca_id', '-t_dts', '-t_id'],
      by_symbol: ['t_s_symb', 't_dts', 't_id'],
    },
  },
  trade_history: {
    columns: { th_t_id: 'id', th_dts: 'time', th_st_id: 'text' },
    primaryKey: ['th_t_id', 'th_st_id'],
    paths: {},
  },
  /** Limit orders that wait for their price. */
  trade_request: {
    columns: {
      tr_t_id: 'id',
      tr_tt_id: 'text',
      tr_s_symb: 'text',
      tr_qty: 'integer',
      tr_bid_price: 'cents',
      tr_b_id: 'id',
    },
    primaryKey: ['tr_t_id'],
    paths: {
      by_symbol: ['tr_s_symb', 'tr_t_id'],
      by_broker: ['tr_b_id', 'tr_s_symb', 'tr_t_id'],
    },
  },
  trade_type: {
    columns: { tt_id: 'text', tt_name: 'text', tt_is_sell: 'boolean', tt_is_mrkt: 'boolean' },
    primaryKey: ['tt_id'],
    paths: {},
  },
} as const;
