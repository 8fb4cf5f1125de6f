/** The nine tables of customers: their identities, their permissions, and their possessions. */

export const CUSTOMER_SET = {
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
