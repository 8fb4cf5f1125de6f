/** The four dimension tables: rows of other tables refer to theirs. */

export const DIMENSION_SET = {
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
