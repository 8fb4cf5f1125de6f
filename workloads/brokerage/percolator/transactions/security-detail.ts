/** Security-Detail on Percolator: everything about a security, in four rounds of reads. */
import type {
  AddressLines,
  Row,
  SecurityDetailInput,
  SecurityDetailResult,
} from '../../model/index.ts';
import type { RowReader } from '../rows.ts';

const COMPETITORS_MAX = 3;
const QUARTERS_MAX = 20;
const NEWS_MAX = 2;

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
    name: (found[2 * i] as Row<'company'>).co_name,
    industryName: (found[2 * i + 1] as Row<'industry'>).in_name,
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

function describeSecurity(security: Row<'security'>): SecurityDetailResult['security'] {
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
  company: Row<'company'>,
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
  exchange: Row<'exchange'>,
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

function describeQuarter(quarter: Row<'financial'>): SecurityDetailResult['financials'][number] {
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

function describeDay(day: Row<'daily_market'>): SecurityDetailResult['days'][number] {
  const { dm_date, dm_close, dm_high, dm_low, dm_vol } = day;
  return { day: dm_date, close: dm_close, high: dm_high, low: dm_low, volume: dm_vol };
}
