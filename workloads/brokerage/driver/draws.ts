/**
 * The random draws that all inputs are built from: shares, ids and times, customers and their
 * accounts, days of the market.
 */
import type { Random } from '#engine';
import { drawCustomer } from '../model/customer-skew.ts';
import type { Roster } from '../model/population.ts';

/** Returns true with a probability of `percent` %. */
export function isPercent(random: Random, percent: number): boolean {
  return 100 * random.fraction() < percent;
}

/** Returns one of the keys; the probability of each is its share of the sum. */
export function pickByShare<K extends string>(
  random: Random,
  shares: Readonly<Record<K, number>>,
): K {
  const keys = Object.keys(shares) as K[];
  const sum = keys.reduce((all, key) => all + shares[key], 0);
  let left = sum * random.fraction();
  for (const key of keys) {
    left -= shares[key];
    if (left < 0) return key;
  }
  return keys.at(-1) as K;
}

/**
 * Returns `count` different whole numbers from 0 to `below` - 1, or all of them, in random order.
 */
export function pickDistinct(random: Random, count: number, below: number): readonly number[] {
  const left = Array.from({ length: below }, (_, i) => i);
  const take = (): number => left.splice(random.integer(0, left.length - 1), 1)[0] as number;
  return Array.from({ length: Math.min(count, below) }, take);
}

/*
 * The benchmark's non-uniform draw, which prefers some ids and times: OR-ing two uniform numbers
 * sets bits more often than not.
 *
 *     ((uniform(min, max) OR uniform(0, bits) << shift) modulo the range) + min
 */

export interface NonUniform {
  /** Greatest value of the second number. */
  readonly bits: number;
  readonly shift: number;
}

/** For trade ids. */
export const IDS: NonUniform = { bits: 65_535, shift: 7 };
/** For moments, in milliseconds of trading time. */
export const TIMES: NonUniform = { bits: 4_095, shift: 16 };

/** For weeks. */
const WEEKS: NonUniform = { bits: 255, shift: 0 };

/** A whole number from `min` to `max`, both included. */
export function drawNonUniform(
  random: Random,
  { min, max }: { readonly min: number; readonly max: number },
  { bits, shift }: NonUniform,
): number {
  const uniform = BigInt(random.integer(min, max));
  const more = BigInt(random.integer(0, bits)) << BigInt(shift);
  return Number((uniform | more) % BigInt(max - min + 1)) + min;
}

/**
 * The range of customers that a client is responsible for: half of its draws come from there, half
 * from all.
 */
export interface CustomerRange {
  readonly first: number;
  readonly end: number;
}

const OWN_RANGE_PERCENT = 50;

/** The draws that most transactions begin with: the customer, the account and the security. */
export class Participants {
  readonly roster: Roster;
  readonly #random: Random;
  readonly #range: CustomerRange;

  constructor(random: Random, roster: Roster, range: CustomerRange) {
    this.roster = roster;
    this.#random = random;
    this.#range = range;
  }

  /** Returns the index of a customer. */
  customer(): number {
    const { customers } = this.roster;
    const { first, end } = this.#range;
    const isAnywhere = end - first >= customers || !isPercent(this.#random, OWN_RANGE_PERCENT);
    for (;;) {
      const customer = drawCustomer(this.#random, customers);
      if (isAnywhere || (customer >= first && customer < end)) return customer;
    }
  }

  accountOf(customer: number): number {
    return this.#random.pick(this.roster.accountIds(customer));
  }

  account(): number {
    return this.accountOf(this.customer());
  }

  /** Returns the index of a security that the account trades in. */
  securityOf(accountId: number): number {
    return this.#random.pick(this.roster.basket(accountId));
  }

  /** Returns the index of any security. */
  security(): number {
    return this.#random.integer(0, this.roster.securities - 1);
  }

  companyId(): number {
    return this.roster.companyId(this.#random.integer(0, this.roster.companies - 1));
  }
}

/*
 * The day that Market-Watch compares with: a week by the non-uniform draw, and within it Friday in
 * 60 % of all cases, Monday in 20 %, another day in the rest.
 */

type Weekday = keyof typeof SHARES;

const SHARES = { monday: 20, tuesday: 20 / 3, wednesday: 20 / 3, thursday: 20 / 3, friday: 60 };
const WEEKDAYS = Object.keys(SHARES) as readonly Weekday[];
const DAY_MS = 24 * 3_600_000;
/** 1970 began on a Thursday. */
const FIRST_MONDAY = 4;

export class MarketDays {
  readonly #random: Random;
  /** The days of each week that has any, oldest first. */
  readonly #weeks: readonly ReadonlyMap<Weekday, number>[];

  constructor(random: Random, days: readonly number[]) {
    this.#random = random;
    const weeks = Map.groupBy(days, weekOf);
    this.#weeks = [...weeks.values()].map(
      (week) => new Map(week.map((day) => [weekdayOf(day), day])),
    );
  }

  /** Returns one of the days; draws again if the drawn week is incomplete and lacks the weekday. */
  draw(): number {
    for (;;) {
      const week = drawNonUniform(this.#random, { min: 0, max: this.#weeks.length - 1 }, WEEKS);
      const day = this.#weeks[week]?.get(pickByShare(this.#random, SHARES));
      if (day !== undefined) return day;
    }
  }
}

function weekOf(timeMs: number): number {
  return Math.floor((Math.floor(timeMs / DAY_MS) - FIRST_MONDAY) / 7);
}

function weekdayOf(timeMs: number): Weekday {
  const day = (Math.floor(timeMs / DAY_MS) - FIRST_MONDAY) % 7;
  return WEEKDAYS[day] as Weekday;
}
