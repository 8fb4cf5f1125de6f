/** Security-Detail: everything about a security, in five statements that are sent together. */
import type { AddressLines, SecurityDetailInput, SecurityDetailResult } from '../../model/index.ts';
import type { Frame, Statement } from './frame.ts';

/** The nested parts of the result, as PostgreSQL composes them. */
type MainResult = Pick<SecurityDetailResult, 'security' | 'company' | 'exchange' | 'lastTrade'>;
type Line<Part extends 'competitors' | 'financials' | 'days' | 'news'> =
  SecurityDetailResult[Part][number];

export async function securityDetail(
  frame: Frame,
  { symbol, firstDay, dayCount, withNewsBodies }: SecurityDetailInput,
): Promise<SecurityDetailResult> {
  const [main, competitors, financials, days, news] = await Promise.all([
    frame.row<MainResult>(MAIN, [symbol]),
    frame.rows<Line<'competitors'>>(COMPETITORS, [symbol]),
    frame.rows<Line<'financials'>>(FINANCIALS, [symbol]),
    frame.rows<Line<'days'>>(DAYS, [symbol, firstDay, dayCount]),
    frame.rows<Line<'news'>>(withNewsBodies ? NEWS_BODIES : NEWS_HEADLINES, [symbol]),
  ]);
  return { ...main, competitors, financials, days, news };
}

/** The company of the security $1. */
const COMPANY = '(SELECT s_co_id FROM security WHERE s_symb = $1)';

const MAIN: Statement = {
  name: 'security detail: security, company, exchange',
  text: `
    SELECT
      json_build_object(
        'name', s_name, 'sharesOut', s_num_out,
        'startDate', s_start_date, 'exchangeDate', s_exch_date,
        'priceToEarnings', s_pe,
        'yearHigh', s_52wk_high, 'yearHighDate', s_52wk_high_date,
        'yearLow', s_52wk_low, 'yearLowDate', s_52wk_low_date,
        'dividend', s_dividend, 'yield', s_yield
      ) AS "security",
      json_build_object(
        'id', co_id, 'name', co_name, 'rating', co_sp_rate, 'chiefExecutive', co_ceo,
        'description', co_desc, 'openDate', co_open_date, 'statusId', co_st_id,
        'address', ${addressOf('co_ad', 'co_zc')}
      ) AS "company",
      json_build_object(
        'name', ex_name, 'symbols', ex_num_symb, 'open', ex_open, 'close', ex_close,
        'description', ex_desc,
        'address', ${addressOf('ex_ad', 'ex_zc')}
      ) AS "exchange",
      json_build_object('price', lt_price, 'openPrice', lt_open_price, 'volume', lt_vol) AS "lastTrade"
    FROM security
    JOIN company ON co_id = s_co_id
    JOIN address AS co_ad ON co_ad.ad_id = co_ad_id
    JOIN zip_code AS co_zc ON co_zc.zc_code = co_ad.ad_zc_code
    JOIN exchange ON ex_id = s_ex_id
    JOIN address AS ex_ad ON ex_ad.ad_id = ex_ad_id
    JOIN zip_code AS ex_zc ON ex_zc.zc_code = ex_ad.ad_zc_code
    JOIN last_trade ON lt_s_symb = s_symb
    WHERE s_symb = $1`,
};

const COMPETITORS: Statement = {
  name: 'security detail: competitors',
  text: `
    SELECT co_name AS "name", in_name AS "industryName"
    FROM company_competitor
    JOIN company ON co_id = cp_comp_co_id
    JOIN industry ON in_id = cp_in_id
    WHERE cp_co_id = ${COMPANY}
    ORDER BY cp_comp_co_id, cp_in_id
    LIMIT 3`,
};

const FINANCIALS: Statement = {
  name: 'security detail: financials',
  text: `
    SELECT fi_year AS "year", fi_qtr AS "quarter", fi_qtr_start_date AS "startDate",
           fi_revenue AS "revenue", fi_net_earn AS "netEarnings",
           fi_basic_eps AS "basicEarningsPerShare", fi_dilut_eps AS "dilutedEarningsPerShare",
           fi_margin AS "margin", fi_inventory AS "inventory", fi_assets AS "assets",
           fi_liability AS "liabilities", fi_out_basic AS "basicSharesOut",
           fi_out_dilut AS "dilutedSharesOut"
    FROM financial
    WHERE fi_co_id = ${COMPANY}
    ORDER BY fi_year, fi_qtr
    LIMIT 20`,
};

const DAYS: Statement = {
  name: 'security detail: days',
  text: `
    SELECT dm_date AS "day", dm_close AS "close", dm_high AS "high", dm_low AS "low", dm_vol AS "volume"
    FROM daily_market
    WHERE dm_s_symb = $1 AND dm_date >= $2
    ORDER BY dm_date
    LIMIT $3`,
};

const NEWS_BODIES: Statement = {
  name: 'security detail: news, bodies',
  text: newsWith(`ni_item AS "body", '' AS "headline", '' AS "summary"`),
};

const NEWS_HEADLINES: Statement = {
  name: 'security detail: news, headlines',
  text: newsWith(`'' AS "body", ni_headline AS "headline", ni_summary AS "summary"`),
};

function newsWith(columns: string): string {
  return `
    SELECT ${columns}, ni_dts AS "time", ni_source AS "source", ni_author AS "author"
    FROM news_xref
    JOIN news_item ON ni_id = nx_ni_id
    WHERE nx_co_id = ${COMPANY}
    ORDER BY nx_ni_id
    LIMIT 2`;
}

function addressOf(address: string, zipCode: string): string {
  const columns: Readonly<Record<keyof AddressLines, string>> = {
    line1: `${address}.ad_line1`,
    line2: `${address}.ad_line2`,
    town: `${zipCode}.zc_town`,
    division: `${zipCode}.zc_div`,
    zipCode: `${zipCode}.zc_code`,
    country: `${address}.ad_ctry`,
  };
  const pairs = Object.entries(columns).map(([name, column]) => `'${name}', ${column}`);
  return `json_build_object(${pairs.join(', ')})`;
}
