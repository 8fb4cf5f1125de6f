/**
 * The size of the brokerage. The rules of the specification (2.6.1) derive all counts from the
 * customers. The profiles depart from the specification, to load in seconds instead of hours.
 */
import { PercolatorError } from '#engine';
import type { Sizes } from '#harness';

export interface Scale {
  /** A multiple of 100; of 1,000 (a load unit) in the larger profiles. */
  readonly customers: number;
  /** Days of 8 hours whose trades are loaded. The specification has 300. */
  readonly initialTradeDays: number;
  /** Days of DAILY_MARKET per security. The specification has 1,305: five years. */
  readonly dailyMarketDays: number;
  /** Largest body of a news item. The specification has up to 100,000. */
  readonly newsBytes: number;
  /** The specification has 14,741. */
  readonly zipCodes: number;
  /**
   * Period of the triangle wave that prices follow: even, so that it turns at a whole millisecond.
   * The specification has 900,000.
   */
  readonly pricePeriodMs: number;
  /**
   * The times that frame 2 of Trade-Lookup and Trade-Update asks for begin at least this long
   * before the end of the initial trades: 32 h in the specification.
   */
  readonly backOffMs: number;
  /**
   * Companies and securities, as a multiple of what the specification has for these customers.
   * Default 1. Customers who trade more often than the specification's need more, or the
   * Market-Feeds of so few securities wait for each other.
   */
  readonly listings?: number;
}

const HOUR_MS = 3_600_000;

/**
 * For tests: it loads within a second or two, and breaks every scaling rule except the proportions.
 */
export const TINY: Scale = scaleWith({
  customers: 100,
  initialTradeDays: 0.25,
  dailyMarketDays: 10,
  newsBytes: 200,
  zipCodes: 100,
  backOffMs: HOUR_MS / 4,
});

const STANDARD = scaleWith({
  initialTradeDays: 1,
  dailyMarketDays: 60,
  pricePeriodMs: 3_000,
  backOffMs: HOUR_MS,
});

/** By `--profile`. */
export const SCALES: Sizes<Scale> = {
  smoke: { ...TINY, pricePeriodMs: 2_000 },
  quick: { ...STANDARD, customers: 200, initialTradeDays: 0.5 },
  standard: STANDARD,
  full: scaleWith({ customers: 5_000, newsBytes: 5_000 }),
};

/** The counts that follow from the scale (2.6.1). */
export interface BrokerageCounts {
  readonly customers: number;
  readonly brokers: number;
  readonly companies: number;
  readonly securities: number;
  /** Number of ids of initial trades, including those of aborted trades. */
  readonly tradeIds: number;
}

/** Of one customer: one in 500 seconds, 8 hours a day. */
const TRADES_PER_DAY = 57.6;

export function countsOf({ customers, initialTradeDays, listings = 1 }: Scale): BrokerageCounts {
  return {
    customers,
    brokers: customers / 100,
    companies: (listings * customers) / 2,
    securities: Math.floor(listings * customers * 0.685),
    tradeIds: Math.round(initialTradeDays * TRADES_PER_DAY * customers),
  };
}

/** @throws INVALID_ARGUMENT with one clear sentence */
export function validateScale({ customers, pricePeriodMs }: Scale): void {
  if (!(customers > 0 && customers % 100 === 0)) {
    const message = `customers must be a multiple of 100, not ${customers}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  // Only then does the wave turn at whole milliseconds, so that it reaches its highest price.
  if (!(pricePeriodMs >= 2_000 && pricePeriodMs % 2 === 0)) {
    const message = `the period of prices must be an even number of milliseconds from 2000 on, not ${pricePeriodMs}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
}

function scaleWith(given: Partial<Scale>): Scale {
  return {
    customers: 1_000,
    initialTradeDays: 5,
    dailyMarketDays: 261,
    newsBytes: 1_000,
    zipCodes: 14_741,
    pricePeriodMs: 900_000,
    backOffMs: 32 * HOUR_MS,
    ...given,
  };
}
