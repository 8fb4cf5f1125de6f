/** Data-Maintenance: a small edit of one of twelve tables, which can be repeated without end. */
import { unreachable } from '#engine';
import type { DataMaintenanceInput, DataMaintenanceResult } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

export async function dataMaintenance(
  frame: Frame,
  input: DataMaintenanceInput,
): Promise<DataMaintenanceResult> {
  const text = EDITS[input.table];
  return {
    rows: await frame.change({ name: `data maintenance: ${input.table}`, text }, valuesOf(input)),
  };
}

function valuesOf(input: DataMaintenanceInput): readonly unknown[] {
  switch (input.table) {
    case 'account_permission':
      return [input.accountId];
    case 'address':
    case 'customer':
    case 'customer_taxrate':
    case 'watch_item':
      return [input.customerId];
    case 'company':
    case 'financial':
    case 'news_item':
      return [input.companyId];
    case 'daily_market':
      return [input.symbol, input.day, input.volume];
    case 'exchange':
      return [input.now];
    case 'security':
      return [input.symbol];
    case 'taxrate':
      return [input.taxRateId];
    default:
      return unreachable(input);
  }
}

const EDITS: Readonly<Record<DataMaintenanceInput['table'], Statement['text']>> = {
  account_permission: `
    UPDATE account_permission SET ap_acl = ${otherThan('ap_acl', '1111', '0011')}
    WHERE (ap_ca_id, ap_tax_id) = (
      SELECT ap_ca_id, ap_tax_id FROM account_permission
      WHERE ap_ca_id = $1
      ORDER BY ap_acl DESC, ap_tax_id DESC
      LIMIT 1
    )`,
  address: `
    UPDATE address SET ad_line2 = ${otherThan('ad_line2', 'Apt. 10C', 'Apt. 22')}
    WHERE ad_id = (SELECT c_ad_id FROM customer WHERE c_id = $1)`,
  company: `
    UPDATE company SET co_sp_rate = ${otherThan('co_sp_rate', 'ABA', 'AAA')} WHERE co_id = $1`,
  customer: `
    UPDATE customer
    SET c_email_2 = split_part(c_email_2, '@', 1) || '@'
      || ${otherThan(`split_part(c_email_2, '@', 2)`, 'mindspring.example', 'earthlink.example')}
    WHERE c_id = $1`,
  customer_taxrate: `
    UPDATE customer_taxrate
    SET cx_tx_id = left(cx_tx_id, 2)
      || CASE WHEN right(cx_tx_id, -2)::integer < 4 THEN right(cx_tx_id, -2)::integer + 1 ELSE 1 END
    WHERE cx_c_id = $1 AND cx_tx_id = (
      SELECT min(cx_tx_id) FROM customer_taxrate
      WHERE cx_c_id = $1 AND left(cx_tx_id, 2) IN ('CN', 'US')
    )`,
  daily_market: `UPDATE daily_market SET dm_vol = dm_vol + $3 WHERE dm_s_symb = $1 AND dm_date = $2`,
  exchange: `
    UPDATE exchange
    SET ex_desc = split_part(ex_desc, ' LAST UPDATED ', 1) || ' LAST UPDATED ' || $1::bigint`,
  financial: `
    UPDATE financial
    SET fi_qtr_start_date = fi_qtr_start_date + CASE
      WHEN extract(day FROM to_timestamp(fi_qtr_start_date / 1000) AT TIME ZONE 'UTC') = 1 THEN 86400000
      ELSE -86400000
    END
    WHERE fi_co_id = $1`,
  news_item: `
    UPDATE news_item SET ni_dts = ni_dts + 86400000 FROM news_xref
    WHERE nx_co_id = $1 AND ni_id = nx_ni_id`,
  security: `UPDATE security SET s_exch_date = s_exch_date + 86400000 WHERE s_symb = $1`,
  taxrate: `
    UPDATE taxrate
    SET tx_name = CASE
      WHEN strpos(tx_name, ' Tax ') > 0 THEN regexp_replace(tx_name, ' Tax ', ' tax ')
      ELSE regexp_replace(tx_name, ' tax ', ' Tax ')
    END
    WHERE tx_id = $1`,
  // The first symbol after the old one that is not in the list; if there is none, the first from
  // the start.
  watch_item: `
    WITH listed AS (
      SELECT wi_wl_id, array_agg(wi_s_symb ORDER BY wi_s_symb) AS symbols
      FROM watch_item
      WHERE wi_wl_id = (SELECT min(wl_id) FROM watch_list WHERE wl_c_id = $1)
      GROUP BY wi_wl_id
    ), middle AS (
      SELECT wi_wl_id AS list_id, symbols, symbols[1 + cardinality(symbols) / 2] AS old_symbol FROM listed
    )
    UPDATE watch_item
    SET wi_s_symb = (
      SELECT s_symb FROM security
      WHERE s_symb <> ALL (symbols)
      ORDER BY s_symb <= old_symbol, s_symb
      LIMIT 1
    )
    FROM middle
    WHERE wi_wl_id = list_id AND wi_s_symb = old_symbol`,
};

/** `one` becomes `other`; everything else becomes `one`. */
function otherThan(value: string, one: string, other: string): string {
  return `CASE ${value} WHEN '${one}' THEN '${other}' ELSE '${one}' END`;
}
