/**
 * The day that Market-Watch compares with: a week by the non-uniform draw, and within it Friday in
 * 60 % of all cases, Monday in 20 %, another day in the rest.
 */
import type { Random } from '#engine';
import { pickByShare } from './chance.ts';
import { drawNonUniform, WEEKS } from './non-uniform.ts';

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
