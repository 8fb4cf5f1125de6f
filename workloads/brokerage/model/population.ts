/**
 * The data before the first transaction, and what a driver may know about it.
 *
 * Scale and seed determine a population completely. Things are numbered from 0 (`index`); the ids
 * of customers, accounts and trades are above 2^32, so that no system can keep them in 32 bits.
 */
import type { Scale } from './scale.ts';
import type { TableRow, TableName } from './tables.ts';

export interface Population {
  readonly scale: Scale;
  readonly seed: number;
  readonly roster: Roster;
  readonly market: Market;
  /** Generates the rows of a table in the order of the primary key; may be called again. */
  rows<T extends TableName>(table: T): Iterable<TableRow<T>>;
}

/** The things that exist: numbers, short lists and pure functions. */
export interface Roster {
  readonly customers: number;
  readonly brokers: number;
  readonly companies: number;
  readonly securities: number;
  readonly trades: InitialTrades;
  readonly sectorNames: readonly string[];
  readonly industryNames: readonly string[];
  readonly taxRateIds: readonly string[];
  /** Days for which DAILY_MARKET has rows, oldest first. */
  readonly marketDays: readonly number[];

  readonly customer: (index: number) => TableRow<'customer'>;
  readonly customerId: (index: number) => number;
  /** 1, 2 or 3: a fifth, three fifths and a fifth of each thousand customers. */
  readonly tier: (customerIndex: number) => number;
  /** The ids of the customer's accounts, in order. */
  readonly accountIds: (customerIndex: number) => readonly number[];
  /** The persons that may trade on the account, the owner first (ap_acl '0000'). */
  readonly permissions: (accountId: number) => readonly TableRow<'account_permission'>[];
  /** Indexes of the securities that the account trades in. */
  readonly basket: (accountId: number) => readonly number[];
  readonly brokerName: (index: number) => string;
  readonly companyId: (index: number) => number;
  readonly companyName: (index: number) => string;
  readonly symbol: (securityIndex: number) => string;
  readonly companyOf: (securityIndex: number) => number;
  readonly issue: (securityIndex: number) => string;
}

/** The trades that are loaded, all completed. Ids are assigned in the order of submission. */
export interface InitialTrades {
  readonly firstId: number;
  /** The id of the last trade. New trades have larger ids: begin with `lastId + 1`. */
  readonly lastId: number;
  /** Whether the trade was rolled back, so that it does not exist: one of 101. */
  readonly isAborted: (tradeId: number) => boolean;
  /** Earliest submission of the first trade. */
  readonly startMs: number;
  /** All trades are completed by then: a run's clock begins here. */
  readonly endMs: number;
}

/**
 * Prices: each security goes up and down between $20 and $30 in a straight line, from a start of
 * its own, so a price is computed and never stored. Cents, rounded down.
 */
export interface Market {
  readonly pricePeriodMs: number;
  readonly price: (securityIndex: number, timeMs: number) => number;
  /**
   * Returns the first moment from `fromMs` on at which the price is at most, or at least, `limit`;
   * within one period.
   */
  readonly reaches: (
    securityIndex: number,
    limit: { readonly direction: 'at most' | 'at least'; readonly price: number },
    fromMs: number,
  ) => number;
}
