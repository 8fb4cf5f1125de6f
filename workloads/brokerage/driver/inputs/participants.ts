/** The draws that most transactions begin with: the customer, the account and the security. */
import type { Random } from '#engine';
import { drawCustomer } from '../../model/customer-skew.ts';
import type { Roster } from '../../model/index.ts';
import { isPercent } from './chance.ts';

/**
 * The range of customers that a client is responsible for: half of its draws come from there, half
 * from all.
 */
export interface CustomerRange {
  readonly first: number;
  readonly end: number;
}

const OWN_RANGE_PERCENT = 50;

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
