/**
 * Tables that others refer to. Most have the same size in every brokerage: types, costs, taxes,
 * exchanges and industries; then addresses and zip codes.
 */
import { fractionAt, integerAt } from '../../harness/chance.ts';
import type { Roster } from '../model/population.ts';
import type { Scale } from '../model/scale.ts';
import type { TableRow } from '../model/tables.ts';
import { ID_SHIFT, LANE } from './ids.ts';
import { pick } from './persons.ts';
import { INDUSTRY_KINDS, SECTOR_NAMES, STREETS, TOWNS } from './words.ts';

const INDUSTRIES = 102;
const DIVISION_TAX_RATES = 311;

export const TRADE_TYPES: readonly TableRow<'trade_type'>[] = [
  { tt_id: 'TLB', tt_name: 'Limit-Buy', tt_is_sell: false, tt_is_mrkt: false },
  { tt_id: 'TLS', tt_name: 'Limit-Sell', tt_is_sell: true, tt_is_mrkt: false },
  { tt_id: 'TMB', tt_name: 'Market-Buy', tt_is_sell: false, tt_is_mrkt: true },
  { tt_id: 'TMS', tt_name: 'Market-Sell', tt_is_sell: true, tt_is_mrkt: true },
  { tt_id: 'TSL', tt_name: 'Stop-Loss', tt_is_sell: true, tt_is_mrkt: false },
];

export const STATUS_TYPES: readonly TableRow<'status_type'>[] = [
  { st_id: 'ACTV', st_name: 'Active' },
  { st_id: 'CMPT', st_name: 'Completed' },
  { st_id: 'CNCL', st_name: 'Canceled' },
  { st_id: 'PNDG', st_name: 'Pending' },
  { st_id: 'SBMT', st_name: 'Submitted' },
];

export const EXCHANGES: readonly TableRow<'exchange'>[] = (
  [
    ['AMEX', 'American Stock Exchange'],
    ['NASDAQ', 'NASDAQ Stock Market'],
    ['NYSE', 'New York Stock Exchange'],
    ['PCX', 'Pacific Exchange'],
  ] as const
).map(([ex_id, ex_name], i) => ({
  ex_id,
  ex_name,
  ex_num_symb: 1_000 + i,
  ex_open: 9 * 60 + 30,
  ex_close: 16 * 60,
  ex_desc: `${ex_name}, a place to trade`,
  ex_ad_id: ID_SHIFT + i + 1,
}));

/** Cents by trade type, for tiers 1 to 3. */
const CHARGES: Readonly<Record<string, readonly [number, number, number]>> = {
  TLB: [600, 500, 300],
  TLS: [600, 500, 300],
  TMB: [500, 450, 250],
  TMS: [500, 450, 250],
  TSL: [650, 550, 350],
};

export function charges(): readonly TableRow<'charge'>[] {
  return TRADE_TYPES.flatMap(({ tt_id }) =>
    (CHARGES[tt_id] ?? []).map((ch_chrg, i) => ({ ch_tt_id: tt_id, ch_c_tier: i + 1, ch_chrg })),
  );
}

const BANDS = [
  [1, 200],
  [201, 500],
  [501, 2_000],
  [2_001, 99_999],
] as const;
/** Hundredths of a percent, for market orders of tier 1, by band. */
const MARKET_RATES = [40, 36, 32, 20] as const;

/** Rates are higher for orders that wait and on the Pacific Exchange, lower for better tiers. */
export function commissionRates(): readonly TableRow<'commission_rate'>[] {
  const rows: TableRow<'commission_rate'>[] = [];
  for (const tier of [1, 2, 3]) {
    for (const { tt_id, tt_is_mrkt } of TRADE_TYPES) {
      for (const { ex_id } of EXCHANGES) {
        for (const [i, [from, to]] of BANDS.entries()) {
          rows.push({
            cr_c_tier: tier,
            cr_tt_id: tt_id,
            cr_ex_id: ex_id,
            cr_from_qty: from,
            cr_to_qty: to,
            cr_rate:
              (MARKET_RATES[i] ?? 0) -
              (tier - 1) * 5 +
              (tt_is_mrkt ? 0 : tt_id === 'TSL' ? 6 : 4) +
              (ex_id === 'PCX' ? 8 : 0),
          });
        }
      }
    }
  }
  return rows;
}

export function sectors(): readonly TableRow<'sector'>[] {
  return SECTOR_NAMES.map((sc_name, i) => ({ sc_id: sectorId(i), sc_name }));
}

export function industries(): readonly TableRow<'industry'>[] {
  return Array.from({ length: INDUSTRIES }, (_, i) => {
    const sector = i % SECTOR_NAMES.length;
    const kind = INDUSTRY_KINDS[Math.floor(i / SECTOR_NAMES.length)] ?? '';
    return {
      in_id: industryId(i),
      in_name: `${SECTOR_NAMES[sector]} ${kind}`,
      in_sc_id: sectorId(sector),
    };
  });
}

export function industryId(index: number): string {
  return `I${String(index % INDUSTRIES).padStart(3, '0')}`;
}

/** 9 tax rates of countries and 311 of their divisions, in the order of ids. */
export function taxRates(seed: number): readonly TableRow<'taxrate'>[] {
  const country = [...COUNTRY_TAX_IDS].map((tx_id, i) => ({
    tx_id,
    tx_name: `${tx_id.startsWith('US') ? 'U.S.' : 'Canada'} Income Tax Bracket ${tx_id.slice(2)}`,
    tx_rate: 10_000 + integerAt(seed, LANE.taxRate, i, 25_000),
  }));
  const division = Array.from({ length: DIVISION_TAX_RATES }, (_, i) => ({
    tx_id: divisionTaxId(i),
    tx_name: `Division ${divisionTaxId(i).slice(0, 2)} Tax Bracket ${(i % 5) + 1}`,
    tx_rate: 500 + integerAt(seed, LANE.taxRate, 100 + i, 8_500),
  }));
  return [...country, ...division].toSorted((a, b) => (a.tx_id < b.tx_id ? -1 : 1));
}

const COUNTRY_TAX_IDS = ['CN1', 'CN2', 'CN3', 'CN4', 'US1', 'US2', 'US3', 'US4', 'US5'] as const;

/** The tax rates of the customer's country and division. */
export function taxRateIdsOf(customerIndex: number, seed: number): readonly [string, string] {
  const draw = (n: number, size: number): number =>
    integerAt(seed + n, LANE.customerTaxRate, customerIndex, size);
  return [
    COUNTRY_TAX_IDS[draw(0, COUNTRY_TAX_IDS.length)] ?? 'US1',
    divisionTaxId(draw(1, DIVISION_TAX_RATES)),
  ];
}

/** Five for each of the divisions DA, DB, ... FJ, and one for FK. */
function divisionTaxId(index: number): string {
  const division = Math.floor(index / 5);
  const letters = String.fromCharCode(68 + Math.floor(division / 26), 65 + (division % 26));
  return `${letters}${(index % 5) + 1}`;
}

function sectorId(index: number): string {
  return `S${String(index).padStart(2, '0')}`;
}

/* Addresses and zip codes. */

/** Addresses of the exchanges, of the companies, and of the customers. */
export function* addressRows(
  roster: Roster,
  { zipCodes }: Scale,
  seed: number,
): Generator<TableRow<'address'>> {
  const count = EXCHANGES.length + roster.companies + roster.customers;
  for (let i = 0; i < count; i++) {
    const street = pick(STREETS, fractionAt(seed, LANE.address, i));
    yield {
      ad_id: ID_SHIFT + i + 1,
      ad_line1: `${1 + integerAt(seed + 1, LANE.address, i, 9_999)} ${street} Street`,
      ad_line2: integerAt(seed + 2, LANE.address, i, 3) === 0 ? `Apt. ${i % 100}` : '',
      ad_zc_code: zipCode(integerAt(seed + 3, LANE.address, i, zipCodes)),
      ad_ctry: integerAt(seed + 4, LANE.address, i, 5) === 0 ? 'CANADA' : 'USA',
    };
  }
}

export function* zipCodeRows({ zipCodes }: Scale): Generator<TableRow<'zip_code'>> {
  for (let i = 0; i < zipCodes; i++) {
    const town = TOWNS[i % TOWNS.length] ?? '';
    yield { zc_code: zipCode(i), zc_town: town, zc_div: `D${Math.floor(i / 300)}` };
  }
}

function zipCode(index: number): string {
  return String(10_000 + index * 6);
}
