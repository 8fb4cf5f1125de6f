/** The market: the rows of companies and securities, their prices, and the news. */
import { assert } from '#engine';
import { fractionAt, integerAt } from '../../harness/chance.ts';
import type { Market, Roster } from '../model/population.ts';
import type { Scale } from '../model/scale.ts';
import type { TableRow } from '../model/tables.ts';
import { DAY_MS, dayAt } from './calendar.ts';
import { EXCHANGES, industryId } from './fixed-rows.ts';
import { companyId, ID_SHIFT, LANE } from './ids.ts';
import { pick } from './persons.ts';
import { FIRST_NAMES, LAST_NAMES, NEWS_WORDS, TOWNS } from './words.ts';

const QUARTERS = 20;
const RATINGS = ['AAA', 'AA', 'A', 'BBB', 'BB', 'B'] as const;

function companyAddressId(index: number): number {
  return ID_SHIFT + EXCHANGES.length + index + 1;
}

export function exchangeOf(securityIndex: number, seed: number): string {
  return EXCHANGES[integerAt(seed, LANE.exchange, securityIndex, EXCHANGES.length)]?.ex_id ?? '';
}

export function securityName(roster: Roster, securityIndex: number): string {
  const name = roster.companyName(roster.companyOf(securityIndex));
  return `${roster.issue(securityIndex)} of ${name}`;
}

/** Indexes of securities in the order of their symbols. */
function bySymbol(roster: Roster): readonly number[] {
  const symbols = Array.from({ length: roster.securities }, (_, i) => roster.symbol(i));
  return symbols
    .map((_, i) => i)
    .toSorted((a, b) => ((symbols[a] ?? '') < (symbols[b] ?? '') ? -1 : 1));
}

export function* companyRows(roster: Roster, seed: number): Generator<TableRow<'company'>> {
  for (let i = 0; i < roster.companies; i++) {
    const draw = (n: number): number => fractionAt(seed + n, LANE.company, i);
    const name = roster.companyName(i);
    yield {
      co_id: companyId(i),
      co_st_id: 'ACTV',
      co_name: name,
      co_in_id: industryId(i),
      co_sp_rate: pick(RATINGS, draw(0)),
      co_ceo: `${pick(FIRST_NAMES, draw(1))} ${pick(LAST_NAMES, draw(2))}`,
      co_ad_id: companyAddressId(i),
      co_desc: `${name} is a company of its industry, and number ${i + 1} of this market.`,
      co_open_date: dayAt(-(1_000 + Math.floor(draw(3) * 60_000))),
    };
  }
}

/** Three competitors, at the same distances in the list of companies for every company. */
export function* competitorRows({ companies }: Roster): Generator<TableRow<'company_competitor'>> {
  for (let i = 0; i < companies; i++) {
    const others = [1, 7, 13].map((away) => (i + away) % companies);
    for (const other of others.toSorted((a, b) => a - b)) {
      yield {
        cp_co_id: companyId(i),
        cp_comp_co_id: companyId(other),
        cp_in_id: industryId(other),
      };
    }
  }
}

export function* financialRows(roster: Roster, seed: number): Generator<TableRow<'financial'>> {
  for (let i = 0; i < roster.companies; i++) {
    for (let quarter = 0; quarter < QUARTERS; quarter++) {
      const revenue = 1_000_000 + integerAt(seed, LANE.financial, i * QUARTERS + quarter, 1e11);
      const shares = 1_000_000 + integerAt(seed, LANE.shares, i, 1e9);
      const earnings = Math.floor(revenue / 5);
      const year = 2000 + Math.floor(quarter / 4);
      yield {
        fi_co_id: companyId(i),
        fi_year: year,
        fi_qtr: (quarter % 4) + 1,
        fi_qtr_start_date: Date.UTC(year, (quarter % 4) * 3, 1),
        fi_revenue: revenue,
        fi_net_earn: earnings,
        fi_basic_eps: Math.floor(earnings / shares),
        fi_dilut_eps: Math.floor(earnings / (shares + Math.floor(shares / 10))),
        fi_margin: 2_000,
        fi_inventory: Math.floor(revenue / 8),
        fi_assets: revenue * 3,
        fi_liability: revenue * 2,
        fi_out_basic: shares,
        fi_out_dilut: shares + Math.floor(shares / 10),
      };
    }
  }
}

export function* securityRows(roster: Roster, seed: number): Generator<TableRow<'security'>> {
  for (const i of bySymbol(roster)) {
    const draw = (n: number, size: number): number => integerAt(seed + n, LANE.security, i, size);
    const started = dayAt(-(2_000 + draw(0, 20_000)));
    yield {
      s_symb: roster.symbol(i),
      s_issue: roster.issue(i),
      s_st_id: 'ACTV',
      s_name: securityName(roster, i),
      s_ex_id: exchangeOf(i, seed),
      s_co_id: companyId(roster.companyOf(i)),
      s_num_out: 1_000_000 + draw(1, 1_000_000_000),
      s_start_date: started,
      s_exch_date: started + draw(2, 1_000) * DAY_MS,
      s_pe: 100 + draw(3, 11_900),
      s_52wk_high: 2_500 + draw(4, 500),
      s_52wk_high_date: dayAt(-1 - draw(5, 364)),
      s_52wk_low: 2_000 + draw(6, 500),
      s_52wk_low_date: dayAt(-1 - draw(7, 364)),
      s_dividend: draw(8, 1_000),
      s_yield: draw(9, 12_000),
    };
  }
}

export function* dailyMarketRows(
  roster: Roster,
  seed: number,
): Generator<TableRow<'daily_market'>> {
  for (const i of bySymbol(roster)) {
    const dm_s_symb = roster.symbol(i);
    for (const dm_date of roster.marketDays) {
      const at = i * 100_000 + dm_date / DAY_MS;
      const dm_close = 2_000 + integerAt(seed, LANE.dailyMarket, at, 1_001);
      yield {
        dm_date,
        dm_s_symb,
        dm_close,
        dm_high: dm_close + 50,
        dm_low: dm_close - 50,
        dm_vol: 1_000 + integerAt(seed + 1, LANE.dailyMarket, at, 9_000),
      };
    }
  }
}

/** The state at the beginning of the run. */
export function* lastTradeRows(roster: Roster, market: Market): Generator<TableRow<'last_trade'>> {
  const { startMs, endMs } = roster.trades;
  for (const i of bySymbol(roster)) {
    yield {
      lt_s_symb: roster.symbol(i),
      lt_dts: endMs,
      lt_price: market.price(i, endMs),
      lt_open_price: market.price(i, startMs),
      lt_vol: 0,
    };
  }
}

/*
 * Prices as a triangle wave: up from $20 to $30 in half a period, down in the other half.
 * Securities start at different places of the wave. Prices are never stored, so the loader, the
 * driver and the exchange agree without communication.
 *
 *     $30      /\      /\
 *             /  \    /  \         phase(security, time) =
 *     $20 ___/    \__/    \__         (time + offset of the security) modulo the period
 */

const LOW_CENTS = 2_000;
const HIGH_CENTS = 3_000;

export function createMarket(pricePeriodMs: number): Market {
  const half = pricePeriodMs / 2;
  const phase = (securityIndex: number, timeMs: number): number =>
    (timeMs + offsetMs(securityIndex)) % pricePeriodMs;
  /** Milliseconds from the bottom up to a price. */
  const msUpTo = (price: number): number => ((price - LOW_CENTS) * half) / (HIGH_CENTS - LOW_CENTS);
  const price = (securityIndex: number, timeMs: number): number => {
    const at = phase(securityIndex, timeMs);
    const up = at <= half ? at : pricePeriodMs - at;
    return LOW_CENTS + Math.floor((up * (HIGH_CENTS - LOW_CENTS)) / half);
  };
  return {
    pricePeriodMs,
    price,
    reaches: (securityIndex, { direction, price: limit }, fromMs) => {
      assert(limit >= LOW_CENTS, 'the limit is within the range of the wave');
      assert(limit <= HIGH_CENTS, 'the limit is within the range of the wave');
      const has = (timeMs: number): boolean => {
        const now = price(securityIndex, timeMs);
        return direction === 'at most' ? now <= limit : now >= limit;
      };
      if (has(fromMs)) return fromMs;
      const crossing =
        direction === 'at least'
          ? msUpTo(limit) // Going up, prices are rounded down: reached at this very moment.
          : pricePeriodMs - msUpTo(limit + 1); // Going down: when the next higher price is left.
      const awayMs = (crossing - phase(securityIndex, fromMs) + pricePeriodMs) % pricePeriodMs;
      const moment =
        fromMs + (direction === 'at least' ? Math.ceil(awayMs) : Math.floor(awayMs) + 1);
      assert(has(moment), 'the wave passes every price between its turning points');
      return moment;
    },
  };
}

/** The constants are those of EGen, the generator of the specification. */
function offsetMs(securityIndex: number): number {
  return securityIndex * 556_237 + 253_791;
}

/* News of the 50 days before the first trade: two items about each company, made of few words. */

const ITEMS_PER_COMPANY = 2;
/**
 * Length of the text that bodies are cut from. Their starting points are random, so two bodies are
 * equal only by chance.
 */
const TEXT_WORDS = 40_000;

export function* newsItemRows(
  roster: Roster,
  { newsBytes }: Scale,
  seed: number,
): Generator<TableRow<'news_item'>> {
  const text = newsText(seed);
  for (let i = 0; i < roster.companies * ITEMS_PER_COMPANY; i++) {
    const draw = (n: number, size: number): number => integerAt(seed + n, LANE.news, i, size);
    const start = draw(0, text.length - newsBytes - 300);
    yield {
      ni_id: newsId(i),
      ni_headline: text.slice(start, start + 60),
      ni_summary: text.slice(start, start + 200),
      ni_item: text.slice(start, start + newsBytes),
      ni_dts: dayAt(-1 - draw(1, 50)) + draw(2, 86_400) * 1_000,
      ni_source: `The ${TOWNS[draw(3, TOWNS.length)]} Post`,
      ni_author: `${FIRST_NAMES[draw(4, FIRST_NAMES.length)]} ${LAST_NAMES[draw(5, LAST_NAMES.length)]}`,
    };
  }
}

export function* newsXrefRows({ companies }: Roster): Generator<TableRow<'news_xref'>> {
  for (let i = 0; i < companies * ITEMS_PER_COMPANY; i++) {
    yield { nx_ni_id: newsId(i), nx_co_id: companyId(Math.floor(i / ITEMS_PER_COMPANY)) };
  }
}

function newsId(index: number): number {
  return ID_SHIFT + index + 1;
}

function newsText(seed: number): string {
  const word = (i: number): string =>
    NEWS_WORDS[integerAt(seed, LANE.news, i, NEWS_WORDS.length)] ?? '';
  return Array.from({ length: TEXT_WORDS }, (_, i) => word(i)).join(' ');
}
