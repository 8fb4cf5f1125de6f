/**
 * Security-Detail: everything about a security. Three competitors (by company id, then industry
 * id), the first 20 quarters (by year and quarter), `dayCount` days from `firstDay`, two news items
 * (by id; the body, or headline and summary).
 */
import type { TableRow } from '../model/tables.ts';
import type { RowReader } from '../percolator/rows.ts';

export interface SecurityDetailInput {
  readonly symbol: string;
  readonly firstDay: number;
  readonly dayCount: number;
  readonly withNewsBodies: boolean;
}

interface AddressLines {
  readonly line1: string;
  readonly line2: string;
  readonly town: string;
  readonly division: string;
  readonly zipCode: string;
  readonly country: string;
}

export interface SecurityDetailResult {
  readonly security: {
    readonly name: string;
    readonly sharesOut: number;
    readonly startDate: number;
    readonly exchangeDate: number;
    readonly priceToEarnings: number;
    readonly yearHigh: number;
    readonly yearHighDate: number;
    readonly yearLow: number;
    readonly yearLowDate: number;
    readonly dividend: number;
    readonly yield: number;
  };
  readonly company: {
    readonly id: number;
    readonly name: string;
    readonly rating: string;
    readonly chiefExecutive: string;
    readonly description: string;
    readonly openDate: number;
    readonly statusId: string;
    readonly address: AddressLines;
  };
  readonly exchange: {
    readonly name: string;
    readonly symbols: number;
    readonly open: number;
    readonly close: number;
    readonly description: string;
    readonly address: AddressLines;
  };
  readonly competitors: readonly { readonly name: string; readonly industryName: string }[];
  readonly financials: readonly {
    readonly year: number;
    readonly quarter: number;
    readonly startDate: number;
    readonly revenue: number;
    readonly netEarnings: number;
    readonly basicEarningsPerShare: number;
    readonly dilutedEarningsPerShare: number;
    readonly margin: number;
    readonly inventory: number;
    readonly assets: number;
    readonly liabilities: number;
    readonly basicSharesOut: number;
    readonly dilutedSharesOut: number;
  }[];
  readonly days: readonly {
    readonly day: number;
    readonly close: number;
    readonly high: number;
    readonly low: number;
    readonly volume: number;
  }[];
  readonly lastTrade: {
    readonly price: number;
    readonly openPrice: number;
    readonly volume: number;
  };
  readonly news: readonly {
    /** Empty unless bodies were requested; then headline and summary are empty. */
    readonly body: string;
    readonly headline: string;
    readonly summary: string;
    readonly time: number;
    readonly source: string;
    readonly author: string;
  }[];
}

const COMPETITORS_MAX = 3;
const QUARTERS_MAX = 20;
const NEWS_MAX = 2;

/** Four rounds of reads. */
export async function securityDetail(
  rows: RowReader,
  { symbol, firstDay, dayCount, withNewsBodies }: SecurityDetailInput,
): Promise<SecurityDetailResult> {
  const [security, lastTrade] = await rows.getAll([
    ['security', symbol],
    ['last_trade', symbol],
  ]);
  const [[company, exchange], days] = await Promise.all([
    rows.getAll([
      ['company', security.s_co_id],
      ['exchange', security.s_ex_id],
    ]),
    rows.scan('daily_market', [symbol], { from: firstDay, limit: dayCount }),
  ]);
  const [[companyAddress, exchangeAddress], competitors, financials, news] = await Promise.all([
    addressesOf(rows, [company.co_ad_id, exchange.ex_ad_id]),
    competitorsOf(rows, company.co_id),
    rows.scan('financial', [company.co_id], { limit: QUARTERS_MAX }),
    newsOf(rows, company.co_id, withNewsBodies),
  ]);
  return {
    security: describeSecurity(security),
    company: describeCompany(company, companyAddress as AddressLines),
    exchange: describeExchange(exchange, exchangeAddress as AddressLines),
    competitors,
    financials: financials.map(describeQuarter),
    days: days.map(describeDay),
    lastTrade: {
      price: lastTrade.lt_price,
      openPrice: lastTrade.lt_open_price,
      volume: lastTrade.lt_vol,
    },
    news,
  };
}

async function addressesOf(
  rows: RowReader,
  ids: readonly number[],
): Promise<readonly AddressLines[]> {
  const addresses = await rows.getAll(ids.map((id) => ['address', id] as const));
  const zipCodes = await rows.getAll(
    addresses.map(({ ad_zc_code }) => ['zip_code', ad_zc_code] as const),
  );
  return addresses.map((address, i) => ({
    line1: address.ad_line1,
    line2: address.ad_line2,
    town: zipCodes[i]?.zc_town ?? '',
    division: zipCodes[i]?.zc_div ?? '',
    zipCode: address.ad_zc_code,
    country: address.ad_ctry,
  }));
}

async function competitorsOf(
  rows: RowReader,
  companyId: number,
): Promise<SecurityDetailResult['competitors']> {
  const competitors = await rows.scan('company_competitor', [companyId], {
    limit: COMPETITORS_MAX,
  });
  const found = await rows.getAll(
    competitors.flatMap(({ cp_comp_co_id, cp_in_id }) => [
      ['company', cp_comp_co_id] as const,
      ['industry', cp_in_id] as const,
    ]),
  );
  return competitors.map((_, i) => ({
    name: (found[2 * i] as TableRow<'company'>).co_name,
    industryName: (found[2 * i + 1] as TableRow<'industry'>).in_name,
  }));
}

async function newsOf(
  rows: RowReader,
  companyId: number,
  withBodies: boolean,
): Promise<SecurityDetailResult['news']> {
  const references = await rows.scan('news_xref', [companyId], { limit: NEWS_MAX });
  const items = await rows.getAll(
    references.map(({ nx_ni_id }) => ['news_item', nx_ni_id] as const),
  );
  return items.map((item) => ({
    body: withBodies ? item.ni_item : '',
    headline: withBodies ? '' : item.ni_headline,
    summary: withBodies ? '' : item.ni_summary,
    time: item.ni_dts,
    source: item.ni_source,
    author: item.ni_author,
  }));
}

function describeSecurity(security: TableRow<'security'>): SecurityDetailResult['security'] {
  return {
    name: security.s_name,
    sharesOut: security.s_num_out,
    startDate: security.s_start_date,
    exchangeDate: security.s_exch_date,
    priceToEarnings: security.s_pe,
    yearHigh: security.s_52wk_high,
    yearHighDate: security.s_52wk_high_date,
    yearLow: security.s_52wk_low,
    yearLowDate: security.s_52wk_low_date,
    dividend: security.s_dividend,
    yield: security.s_yield,
  };
}

function describeCompany(
  company: TableRow<'company'>,
  address: AddressLines,
): SecurityDetailResult['company'] {
  return {
    id: company.co_id,
    name: company.co_name,
    rating: company.co_sp_rate,
    chiefExecutive: company.co_ceo,
    description: company.co_desc,
    openDate: company.co_open_date,
    statusId: company.co_st_id,
    address,
  };
}

function describeExchange(
  exchange: TableRow<'exchange'>,
  address: AddressLines,
): SecurityDetailResult['exchange'] {
  return {
    name: exchange.ex_name,
    symbols: exchange.ex_num_symb,
    open: exchange.ex_open,
    close: exchange.ex_close,
    description: exchange.ex_desc,
    address,
  };
}

function describeQuarter(
  quarter: TableRow<'financial'>,
): SecurityDetailResult['financials'][number] {
  return {
    year: quarter.fi_year,
    quarter: quarter.fi_qtr,
    startDate: quarter.fi_qtr_start_date,
    revenue: quarter.fi_revenue,
    netEarnings: quarter.fi_net_earn,
    basicEarningsPerShare: quarter.fi_basic_eps,
    dilutedEarningsPerShare: quarter.fi_dilut_eps,
    margin: quarter.fi_margin,
    inventory: quarter.fi_inventory,
    assets: quarter.fi_assets,
    liabilities: quarter.fi_liability,
    basicSharesOut: quarter.fi_out_basic,
    dilutedSharesOut: quarter.fi_out_dilut,
  };
}

function describeDay(day: TableRow<'daily_market'>): SecurityDetailResult['days'][number] {
  const { dm_date, dm_close, dm_high, dm_low, dm_vol } = day;
  return { day: dm_date, close: dm_close, high: dm_high, low: dm_low, volume: dm_vol };
}
