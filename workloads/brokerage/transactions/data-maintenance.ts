/**
 * Data-Maintenance, once a minute while measuring: a small edit that can be repeated without end.
 *
 *     account_permission  the account's row with the largest (acl, tax id): acl '1111' ↔ '0011'
 *                         (anything else → '1111')
 *     address             of the customer: line 2 'Apt. 10C' ↔ 'Apt. 22'
 *                         (anything else → 'Apt. 10C')
 *     company             rating 'ABA' ↔ 'AAA' (anything else → 'ABA')
 *     customer            email 2: after the '@' 'mindspring.example' ↔ 'earthlink.example'
 *                         (anything else → the first)
 *     customer_taxrate    the smallest of the customer's tax ids with the letters 'CN' or 'US': its
 *                         digit 1→2→3→4, from 4 on → 1 (delete + insert)
 *     daily_market        of the symbol and day: volume + `volume`
 *     exchange            all four: description up to ' LAST UPDATED ', then ' LAST UPDATED ' and
 *                         `now` as digits
 *     financial           all quarters of the company: the start is a day later if it is the first
 *                         of its month (UTC), else a day earlier
 *     news_item           the items of the company: a day later
 *     security            exchange date a day later
 *     taxrate             name: the first ' Tax ' ↔ ' tax '
 *     watch_item          in the customer's first list, the symbol in the middle (index ⌊n/2⌋ in
 *                         order) is replaced by the next symbol of SECURITY that is not in the
 *                         list; after the last symbol comes the first
 */
import { unreachable } from '#engine';
import type { TableRow } from '../model/tables.ts';
import type { RowWriter } from '../percolator/rows.ts';

export type DataMaintenanceInput =
  | { readonly table: 'account_permission'; readonly accountId: number }
  | {
      readonly table: 'address' | 'customer' | 'customer_taxrate' | 'watch_item';
      readonly customerId: number;
    }
  | { readonly table: 'company' | 'financial' | 'news_item'; readonly companyId: number }
  | {
      readonly table: 'daily_market';
      readonly symbol: string;
      readonly day: number;
      readonly volume: number;
    }
  | { readonly table: 'exchange'; readonly now: number }
  | { readonly table: 'security'; readonly symbol: string }
  | { readonly table: 'taxrate'; readonly taxRateId: string };

export interface DataMaintenanceResult {
  /** Rows that were changed. */
  readonly rows: number;
}

const DAY_MS = 86_400_000;
const UPDATED = ' LAST UPDATED ';

export async function dataMaintenance(
  rows: RowWriter,
  input: DataMaintenanceInput,
): Promise<DataMaintenanceResult> {
  return { rows: await edit(rows, input) };
}

async function edit(rows: RowWriter, input: DataMaintenanceInput): Promise<number> {
  switch (input.table) {
    case 'account_permission':
      return editPermission(rows, input.accountId);
    case 'address':
      return editAddress(rows, input.customerId);
    case 'customer':
      return editCustomer(rows, input.customerId);
    case 'customer_taxrate':
      return editTaxRates(rows, input.customerId);
    case 'watch_item':
      return editWatchList(rows, input.customerId);
    case 'company':
      return editCompany(rows, input.companyId);
    case 'financial':
      return editQuarters(rows, input.companyId);
    case 'news_item':
      return editNews(rows, input.companyId);
    case 'daily_market':
      return editDay(rows, input);
    case 'exchange':
      return editExchanges(rows, input.now);
    case 'security':
      return editSecurity(rows, input.symbol);
    case 'taxrate':
      return editTaxRate(rows, input.taxRateId);
    default:
      return unreachable(input);
  }
}

async function editPermission(rows: RowWriter, accountId: number): Promise<number> {
  const permissions = await rows.scan('account_permission', [accountId]);
  const order = (row: TableRow<'account_permission'>): string => `${row.ap_acl} ${row.ap_tax_id}`;
  const last = permissions.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).at(-1);
  if (last === undefined) return 0;
  rows.update('account_permission', last, { ap_acl: last.ap_acl === '1111' ? '0011' : '1111' });
  return 1;
}

async function editAddress(rows: RowWriter, customerId: number): Promise<number> {
  const customer = await rows.get('customer', customerId);
  const address = await rows.get('address', customer.c_ad_id);
  const ad_line2 = address.ad_line2 === 'Apt. 10C' ? 'Apt. 22' : 'Apt. 10C';
  rows.update('address', address, { ad_line2 });
  return 1;
}

async function editCustomer(rows: RowWriter, customerId: number): Promise<number> {
  const customer = await rows.get('customer', customerId);
  const [name, host] = customer.c_email_2.split('@');
  const other = host === 'mindspring.example' ? 'earthlink.example' : 'mindspring.example';
  rows.update('customer', customer, { c_email_2: `${name}@${other}` });
  return 1;
}

async function editTaxRates(rows: RowWriter, customerId: number): Promise<number> {
  const owed = await rows.scan('customer_taxrate', [customerId]);
  const country = owed.find(({ cx_tx_id }) => /^(?:CN|US)/u.test(cx_tx_id));
  if (country === undefined) return 0;
  const digit = Number(country.cx_tx_id.slice(2));
  const next = `${country.cx_tx_id.slice(0, 2)}${digit >= 4 ? 1 : digit + 1}`;
  const others = owed.filter((row) => row !== country);
  const after = [...others, { cx_c_id: customerId, cx_tx_id: next }];
  const inOrder = after.toSorted((a, b) => (a.cx_tx_id < b.cx_tx_id ? -1 : 1));
  rows.replaceGroup('customer_taxrate', [customerId], inOrder);
  return 1;
}

async function editWatchList(rows: RowWriter, customerId: number): Promise<number> {
  const [list] = await rows.scanPath('watch_list', 'by_customer', [customerId]);
  if (list === undefined) return 0;
  const items = await rows.scan('watch_item', [list.wl_id]);
  const middle = items[Math.floor(items.length / 2)];
  if (middle === undefined) return 0;
  const securities = await rows.scan('security', []);
  const symbols = securities.map(({ s_symb }) => s_symb);
  const watched = new Set(items.map(({ wi_s_symb }) => wi_s_symb));
  const larger = symbols.findIndex((symbol) => symbol > middle.wi_s_symb);
  const inTurn = larger < 0 ? symbols : [...symbols.slice(larger), ...symbols.slice(0, larger)];
  const next = inTurn.find((symbol) => !watched.has(symbol));
  if (next === undefined) return 0;
  const others = items.filter((row) => row !== middle);
  const after = [...others, { wi_wl_id: list.wl_id, wi_s_symb: next }];
  const inOrder = after.toSorted((a, b) => (a.wi_s_symb < b.wi_s_symb ? -1 : 1));
  rows.replaceGroup('watch_item', [list.wl_id], inOrder);
  return 1;
}

async function editCompany(rows: RowWriter, companyId: number): Promise<number> {
  const company = await rows.get('company', companyId);
  rows.update('company', company, { co_sp_rate: company.co_sp_rate === 'ABA' ? 'AAA' : 'ABA' });
  return 1;
}

async function editQuarters(rows: RowWriter, companyId: number): Promise<number> {
  const quarters = await rows.scan('financial', [companyId]);
  const after = quarters.map((quarter) => {
    const start = quarter.fi_qtr_start_date;
    const isFirst = new Date(start).getUTCDate() === 1;
    return Object.assign(quarter, { fi_qtr_start_date: start + (isFirst ? DAY_MS : -DAY_MS) });
  });
  rows.replaceGroup('financial', [companyId], after);
  return quarters.length;
}

async function editNews(rows: RowWriter, companyId: number): Promise<number> {
  const references = await rows.scan('news_xref', [companyId]);
  const items = await rows.byKey(
    'news_item',
    references.map(({ nx_ni_id }) => nx_ni_id),
  );
  for (const item of items.values()) {
    rows.update('news_item', item, { ni_dts: item.ni_dts + DAY_MS });
  }
  return items.size;
}

async function editDay(
  rows: RowWriter,
  { symbol, day, volume }: DataMaintenanceInput & { readonly table: 'daily_market' },
): Promise<number> {
  const row = await rows.find('daily_market', symbol, day);
  if (row === undefined) return 0;
  rows.update('daily_market', row, { dm_vol: row.dm_vol + volume });
  return 1;
}

async function editExchanges(rows: RowWriter, now: number): Promise<number> {
  const exchanges = await rows.scan('exchange', []);
  for (const exchange of exchanges) {
    const [text] = exchange.ex_desc.split(UPDATED);
    rows.update('exchange', exchange, { ex_desc: `${text}${UPDATED}${now}` });
  }
  return exchanges.length;
}

async function editSecurity(rows: RowWriter, symbol: string): Promise<number> {
  const security = await rows.get('security', symbol);
  rows.update('security', security, { s_exch_date: security.s_exch_date + DAY_MS });
  return 1;
}

async function editTaxRate(rows: RowWriter, taxRateId: string): Promise<number> {
  const rate = await rows.get('taxrate', taxRateId);
  const tx_name = rate.tx_name.includes(' Tax ')
    ? rate.tx_name.replace(' Tax ', ' tax ')
    : rate.tx_name.replace(' tax ', ' Tax ');
  rows.update('taxrate', rate, { tx_name });
  return 1;
}
