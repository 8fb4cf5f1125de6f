/** The eleven tables of the market: companies, their securities, prices and news. */

export const MARKET_SET = {
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
