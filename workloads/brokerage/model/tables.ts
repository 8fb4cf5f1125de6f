/**
 * The single description of the 33 tables. Everything else is derived from it: rows and keys on
 * Percolator, the schema and COPY on PostgreSQL, and the TypeScript type of a row.
 *
 * Names are those of the TPC-E specification, in lower case. Where its types have fractions, ours
 * are integers of a smaller unit, so that sums are exact on every system.
 */

/**
 * The type of a column. Every number is a safe integer:
 *
 *     id        the number of a row of this table or of another one; those of customers, accounts,
 *               trades, companies and brokers are above 2^32
 *     integer   a count, quantity, rate, year, time of day or code; where the unit or the meaning
 *               is not obvious, the column's comment states it
 *     cents     money
 *     time      milliseconds since 1970 began in UTC; a day is the time when it begins
 *     text, boolean
 *
 * A `?` after the type means that the column may be null.
 */
export type ColumnType = PlainType | `${PlainType}?`;
type PlainType = 'id' | 'integer' | 'cents' | 'time' | 'text' | 'boolean';

export interface TableDescription {
  /** By name, in the order of TPC-E's specification. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly primaryKey: readonly string[];
  /**
   * Secondary access paths by name: the columns that rows are found by and sorted by, the first
   * column first. A minus sign precedes a column in descending order. The last columns make each
   * entry unique.
   */
  readonly paths: Readonly<Record<string, readonly string[]>>;
}

type PlainValue<T> = T extends 'text' ? string : T extends 'boolean' ? boolean : number;
type ColumnValue<T> = T extends `${infer P}?` ? PlainValue<P> | null : PlainValue<T>;

/** A row of a described table: its columns by name. */
type RowOf<T extends TableDescription> = {
  readonly [C in keyof T['columns']]: ColumnValue<T['columns'][C]>;
};

/* The nine tables of customers: their identities, their permissions, and their possessions. */

const CUSTOMER_SET = {
  account_permission: {
    columns: {
      ap_ca_id: 'id',
      ap_acl: 'text',
      ap_tax_id: 'text',
      ap_l_name: 'text',
      ap_f_name: 'text',
    },
    primaryKey: ['ap_ca_id', 'ap_tax_id'],
    paths: {},
  },
  customer: {
    columns: {
      c_id: 'id',
      c_tax_id: 'text',
      c_st_id: 'text',
      c_l_name: 'text',
      c_f_name: 'text',
      c_m_name: 'text',
      c_gndr: 'text',
      c_tier: 'integer',
      c_dob: 'time',
      c_ad_id: 'id',
      c_ctry_1: 'text',
      c_area_1: 'text',
      c_local_1: 'text',
      c_ext_1: 'text',
      c_ctry_2: 'text',
      c_area_2: 'text',
      c_local_2: 'text',
      c_ext_2: 'text',
      c_ctry_3: 'text',
      c_area_3: 'text',
      c_local_3: 'text',
      c_ext_3: 'text',
      c_email_1: 'text',
      c_email_2: 'text',
    },
    primaryKey: ['c_id'],
    paths: { by_tax_id: ['c_tax_id', 'c_id'] },
  },
  customer_account: {
    columns: {
      ca_id: 'id',
      ca_b_id: 'id',
      ca_c_id: 'id',
      ca_name: 'text',
      /** 0: not taxed; 1: taxed and withheld; 2: taxed, not withheld. */
      ca_tax_st: 'integer',
      ca_bal: 'cents',
    },
    primaryKey: ['ca_id'],
    paths: { by_customer: ['ca_c_id', 'ca_id'] },
  },
  customer_taxrate: {
    columns: { cx_tx_id: 'text', cx_c_id: 'id' },
    primaryKey: ['cx_c_id', 'cx_tx_id'],
    paths: {},
  },
  /**
   * One row for each open lot, named after the trade that opened it; a quantity below zero was sold
   * short.
   */
  holding: {
    columns: {
      h_t_id: 'id',
      h_ca_id: 'id',
      h_s_symb: 'text',
      h_dts: 'time',
      h_price: 'cents',
      h_qty: 'integer',
    },
    primaryKey: ['h_t_id'],
    paths: { by_position: ['h_ca_id', 'h_s_symb', 'h_dts', 'h_t_id'] },
  },
  /** The change of the lot `hh_h_t_id` by the trade `hh_t_id`. */
  holding_history: {
    columns: { hh_h_t_id: 'id', hh_t_id: 'id', hh_before_qty: 'integer', hh_after_qty: 'integer' },
    primaryKey: ['hh_h_t_id', 'hh_t_id'],
    paths: { by_trade: ['hh_t_id', 'hh_h_t_id'] },
  },
  /**
   * A real row, never a sum over lots: every trade on the position writes it, so two of them
   * conflict.
   */
  holding_summary: {
    columns: { hs_ca_id: 'id', hs_s_symb: 'text', hs_qty: 'integer' },
    primaryKey: ['hs_ca_id', 'hs_s_symb'],
    paths: {},
  },
  watch_item: {
    columns: { wi_wl_id: 'id', wi_s_symb: 'text' },
    primaryKey: ['wi_wl_id', 'wi_s_symb'],
    paths: {},
  },
  watch_list: {
    columns: { wl_id: 'id', wl_c_id: 'id' },
    primaryKey: ['wl_id'],
    paths: { by_customer: ['wl_c_id', 'wl_id'] },
  },
} as const;

/* The nine tables of brokers: trades, their costs, and their settlements. */

const BROKER_SET = {
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

/* The eleven tables of the market: companies, their securities, prices and news. */

const MARKET_SET = {
  company: {
    columns: {
      co_id: 'id',
      co_st_id: 'text',
      co_name: 'text',
      co_in_id: 'text',
      co_sp_rate: 'text',
      co_ceo: 'text',
      co_ad_id: 'id',
      co_desc: 'text',
      co_open_date: 'time',
    },
    primaryKey: ['co_id'],
    paths: { by_name: ['co_name', 'co_id'], by_industry: ['co_in_id', 'co_id'] },
  },
  company_competitor: {
    columns: { cp_co_id: 'id', cp_comp_co_id: 'id', cp_in_id: 'text' },
    primaryKey: ['cp_co_id', 'cp_comp_co_id', 'cp_in_id'],
    paths: {},
  },
  daily_market: {
    columns: {
      dm_date: 'time',
      dm_s_symb: 'text',
      dm_close: 'cents',
      dm_high: 'cents',
      dm_low: 'cents',
      dm_vol: 'integer',
    },
    primaryKey: ['dm_s_symb', 'dm_date'],
    paths: {},
  },
  exchange: {
    columns: {
      ex_id: 'text',
      ex_name: 'text',
      ex_num_symb: 'integer',
      /** Minutes after midnight. */
      ex_open: 'integer',
      ex_close: 'integer',
      ex_desc: 'text',
      ex_ad_id: 'id',
    },
    primaryKey: ['ex_id'],
    paths: {},
  },
  financial: {
    columns: {
      fi_co_id: 'id',
      fi_year: 'integer',
      fi_qtr: 'integer',
      fi_qtr_start_date: 'time',
      fi_revenue: 'cents',
      fi_net_earn: 'cents',
      fi_basic_eps: 'cents',
      fi_dilut_eps: 'cents',
      /** In hundredths of a percent. */
      fi_margin: 'integer',
      fi_inventory: 'cents',
      fi_assets: 'cents',
      fi_liability: 'cents',
      fi_out_basic: 'integer',
      fi_out_dilut: 'integer',
    },
    primaryKey: ['fi_co_id', 'fi_year', 'fi_qtr'],
    paths: {},
  },
  industry: {
    columns: { in_id: 'text', in_name: 'text', in_sc_id: 'text' },
    primaryKey: ['in_id'],
    paths: { by_name: ['in_name', 'in_id'], by_sector: ['in_sc_id', 'in_id'] },
  },
  last_trade: {
    columns: {
      lt_s_symb: 'text',
      lt_dts: 'time',
      lt_price: 'cents',
      lt_open_price: 'cents',
      lt_vol: 'integer',
    },
    primaryKey: ['lt_s_symb'],
    paths: {},
  },
  news_item: {
    columns: {
      ni_id: 'id',
      ni_headline: 'text',
      ni_summary: 'text',
      /** The body, up to 100,000 bytes. */
      ni_item: 'text',
      ni_dts: 'time',
      ni_source: 'text',
      ni_author: 'text',
    },
    primaryKey: ['ni_id'],
    paths: {},
  },
  news_xref: {
    columns: { nx_ni_id: 'id', nx_co_id: 'id' },
    primaryKey: ['nx_co_id', 'nx_ni_id'],
    paths: {},
  },
  sector: {
    columns: { sc_id: 'text', sc_name: 'text' },
    primaryKey: ['sc_id'],
    paths: { by_name: ['sc_name', 'sc_id'] },
  },
  security: {
    columns: {
      s_symb: 'text',
      s_issue: 'text',
      s_st_id: 'text',
      s_name: 'text',
      s_ex_id: 'text',
      s_co_id: 'id',
      s_num_out: 'integer',
      s_start_date: 'time',
      s_exch_date: 'time',
      /** Price to earnings, in hundredths. */
      s_pe: 'integer',
      s_52wk_high: 'cents',
      s_52wk_high_date: 'time',
      s_52wk_low: 'cents',
      s_52wk_low_date: 'time',
      s_dividend: 'cents',
      /** In hundredths of a percent. */
      s_yield: 'integer',
    },
    primaryKey: ['s_symb'],
    paths: { by_company: ['s_co_id', 's_issue', 's_symb'] },
  },
} as const;

/* The four dimension tables: rows of other tables refer to theirs. */

const DIMENSION_SET = {
  address: {
    columns: {
      ad_id: 'id',
      ad_line1: 'text',
      ad_line2: 'text',
      ad_zc_code: 'text',
      ad_ctry: 'text',
    },
    primaryKey: ['ad_id'],
    paths: {},
  },
  status_type: {
    columns: { st_id: 'text', st_name: 'text' },
    primaryKey: ['st_id'],
    paths: {},
  },
  taxrate: {
    columns: {
      tx_id: 'text',
      tx_name: 'text',
      /** In hundred-thousandths of the gain. */
      tx_rate: 'integer',
    },
    primaryKey: ['tx_id'],
    paths: {},
  },
  zip_code: {
    columns: { zc_code: 'text', zc_town: 'text', zc_div: 'text' },
    primaryKey: ['zc_code'],
    paths: {},
  },
} as const;

type DescribedTables = typeof CUSTOMER_SET &
  typeof BROKER_SET &
  typeof MARKET_SET &
  typeof DIMENSION_SET;

export type TableName = keyof DescribedTables;
export type TableRow<T extends TableName> = RowOf<DescribedTables[T]>;

const TABLES: DescribedTables = {
  ...CUSTOMER_SET,
  ...BROKER_SET,
  ...MARKET_SET,
  ...DIMENSION_SET,
};

export const TABLE_NAMES: readonly TableName[] = Object.keys(TABLES) as TableName[];

/** A description without the literal types: for code that treats all tables alike. */
export function describe(table: TableName): TableDescription {
  return TABLES[table];
}

/** Reads tables in the state of one moment, or at rest. Rows come in any order. */
export interface TableReader {
  rows<T extends TableName>(table: T): AsyncIterable<TableRow<T>>;
}
