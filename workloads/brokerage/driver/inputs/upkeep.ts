/** Inputs of Data-Maintenance: one table after the other, with a random row. */
import type { Random } from '#engine';
import type { DataMaintenanceInput } from '../../model/index.ts';
import type { Participants } from './participants.ts';

/** In the order of the specification. */
const TABLES = [
  'account_permission',
  'address',
  'company',
  'customer',
  'customer_taxrate',
  'daily_market',
  'exchange',
  'financial',
  'news_item',
  'security',
  'taxrate',
  'watch_item',
] as const satisfies readonly DataMaintenanceInput['table'][];
const VOLUME_MAX = 100;

export class Maintenance {
  readonly #random: Random;
  readonly #participants: Participants;
  #made = 0;

  constructor(random: Random, participants: Participants) {
    this.#random = random;
    this.#participants = participants;
  }

  next(now: number): DataMaintenanceInput {
    const { roster } = this.#participants;
    const table = TABLES[this.#made++ % TABLES.length] as (typeof TABLES)[number];
    switch (table) {
      case 'account_permission':
        return { table, accountId: this.#participants.account() };
      case 'address':
      case 'customer':
      case 'customer_taxrate':
      case 'watch_item':
        return { table, customerId: roster.customerId(this.#participants.customer()) };
      case 'company':
      case 'financial':
      case 'news_item':
        return { table, companyId: this.#participants.companyId() };
      case 'daily_market':
        return { table, ...this.#dailyMarket() };
      case 'exchange':
        return { table, now };
      case 'security':
        return { table, symbol: roster.symbol(this.#participants.security()) };
      case 'taxrate':
        return { table, taxRateId: this.#random.pick(roster.taxRateIds) };
      default:
        return table;
    }
  }

  #dailyMarket(): { readonly symbol: string; readonly day: number; readonly volume: number } {
    const { roster } = this.#participants;
    return {
      symbol: roster.symbol(this.#participants.security()),
      day: this.#random.pick(roster.marketDays),
      volume: this.#random.integer(1, VOLUME_MAX),
    };
  }
}
