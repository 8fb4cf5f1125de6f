/**
 * The things that exist: each answer is computed from a number alone. In memory are only short
 * lists (sectors, industries, tax rates, days of the market) and the baskets that were drawn.
 */
import { assert } from '#engine';
import { countsOf, type Scale } from '../model/scale.ts';
import type { InitialTrades, Roster } from '../model/population.ts';
import { rankOf, tierOf } from '../model/customer-skew.ts';
import { daysBefore } from './calendar.ts';
import { customerRow, permissionRows } from './persons.ts';
import { FIRST_NAMES, LAST_NAMES, COMPANY_FIRST, COMPANY_SECOND, COMPANY_THIRD } from './words.ts';
import { accountId, companyId, customerId, LANE, ownerOf } from './ids.ts';
import { integerAt } from '../../harness/chance.ts';
import { industries, sectors, taxRates } from './fixed-rows.ts';

/**
 * Least and most securities of an account, by the tier of its owner, and then by the owner's number
 * of accounts, starting with the smallest number in the tier.
 */
const BASKETS: readonly (readonly (readonly [number, number])[])[] = [
  [
    [6, 14],
    [4, 16],
    [2, 18],
    [2, 18],
  ],
  [
    [7, 13],
    [5, 15],
    [4, 16],
    [3, 17],
    [2, 18],
    [2, 18],
    [2, 18],
  ],
  [
    [4, 16],
    [4, 16],
    [3, 17],
    [3, 17],
    [2, 18],
    [2, 18],
  ],
];

export function createRoster(scale: Scale, seed: number, trades: InitialTrades): Roster {
  const counts = countsOf(scale);
  const baskets = new Map<number, readonly number[]>();
  return {
    ...counts,
    trades,
    sectorNames: sectors().map(({ sc_name }) => sc_name),
    industryNames: industries().map(({ in_name }) => in_name),
    taxRateIds: taxRates(seed).map(({ tx_id }) => tx_id),
    marketDays: daysBefore(scale.dailyMarketDays),
    customer: (index) => customerRow(index, counts.customers, seed),
    customerId,
    tier: tierOf,
    accountIds,
    permissions: (account) => permissionRows(account, counts.customers, seed),
    basket: (account) => {
      const basket = baskets.get(account) ?? drawBasket(account, counts.securities, seed);
      baskets.set(account, basket);
      return basket;
    },
    brokerName,
    companyId,
    companyName,
    symbol,
    companyOf: (securityIndex) => securityIndex % counts.companies,
    issue: (securityIndex) => (securityIndex < counts.companies ? 'COMMON' : 'PREF_A'),
  };
}

function accountIds(customerIndex: number): readonly number[] {
  return Array.from({ length: accountCount(customerIndex) }, (_, n) => accountId(customerIndex, n));
}

/** The broker belongs to the owner's load unit of 1,000 customers. */
export function brokerOf(account: number, customers: number, seed: number): number {
  const unit = Math.floor(ownerOf(account) / 1_000);
  const brokers = Math.min(10, customers / 100 - unit * 10);
  return unit * 10 + integerAt(seed, LANE.accountBroker, account, brokers);
}

/** Unique, because it ends with the broker's number. */
function brokerName(index: number): string {
  const last = LAST_NAMES[(index * 7 + Math.floor(index / FIRST_NAMES.length)) % LAST_NAMES.length];
  return `${FIRST_NAMES[index % FIRST_NAMES.length]} ${last} ${index + 1}`;
}

/** Unique: all combinations of words are used before a number is added. */
function companyName(index: number): string {
  const first = index % COMPANY_FIRST.length;
  const second = Math.floor(index / COMPANY_FIRST.length);
  const third = Math.floor(second / COMPANY_SECOND.length);
  const name = [
    COMPANY_FIRST[first],
    COMPANY_SECOND[(second + first) % COMPANY_SECOND.length],
    COMPANY_THIRD[third % COMPANY_THIRD.length],
  ].join(' ');
  const again = Math.floor(third / COMPANY_THIRD.length);
  return again === 0 ? name : `${name} ${again + 1}`;
}

/** Four letters: the index, spread over all words of that length. Beyond them, one letter more. */
function symbol(securityIndex: number): string {
  const again = Math.floor(securityIndex / 26 ** 4);
  let number = (securityIndex * 45_677 + 12_345) % 26 ** 4;
  let letters = '';
  for (let i = 0; i < 4; i++) {
    letters = String.fromCharCode(65 + (number % 26)) + letters;
    number = Math.floor(number / 26);
  }
  return again === 0 ? letters : `${letters}${String.fromCharCode(64 + again)}`;
}

/**
 * Tier 1: 1 to 4, tier 2: 2 to 8, tier 3: 5 to 10; exactly 5 on average. Within a tier, busier
 * customers do not have more accounts.
 */
function accountCount(customerIndex: number): number {
  const rank = rankOf(customerIndex);
  const [first, size, least, most] = (
    [
      [0, 200, 1, 4],
      [200, 600, 2, 8],
      [800, 200, 5, 10],
    ] as const
  )[tierOf(customerIndex) - 1] as readonly [number, number, number, number];
  const spread = ((rank - first) * 677) % size;
  // The upper half mirrors the lower one, so that the mean is exact even if `size` is no multiple
  // of the number of counts.
  const lower = Math.min(spread, size - 1 - spread);
  const count = least + Math.floor((lower * (most - least + 1)) / size);
  return spread === lower ? count : least + most - count;
}

function drawBasket(account: number, securities: number, seed: number): readonly number[] {
  const owner = ownerOf(account);
  const tier = tierOf(owner);
  const least = [1, 2, 5][tier - 1] ?? 1;
  const range = BASKETS[tier - 1]?.[accountCount(owner) - least];
  assert(range !== undefined, 'every tier has baskets for each number of accounts');
  const size = range[0] + integerAt(seed, LANE.basketSize, account, range[1] - range[0] + 1);
  return drawDistinct(size, (n) => integerAt(seed + n, LANE.basket, account, securities));
}

/** `size` different numbers, in the order in which they are drawn. */
export function drawDistinct(size: number, draw: (n: number) => number): readonly number[] {
  const drawn = new Set<number>();
  for (let n = 0; drawn.size < size; n++) drawn.add(draw(n));
  return [...drawn];
}
