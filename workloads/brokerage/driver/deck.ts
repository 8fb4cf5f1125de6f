/**
 * Which transaction comes next: a deck of 890 cards, shuffled, dealt, and shuffled again.
 *
 * The other two transactions of the mix, Trade-Result and Market-Feed, come from the market
 * exchange. One of 101 Trade-Orders is rolled back, so a deck leads to 100 Trade-Results, and with
 * them 10 Market-Feeds: 1,000 transactions in all. Unlike independent draws, a deck makes the mix
 * exact every 890 cards, so that short runs have the exact mix, too.
 */
import type { Random } from '#engine';
import { shuffled } from '../../harness/chance.ts';
import type { TransactionType } from '../transactions/index.ts';

/** Transactions that customers issue. */
export type Card = Exclude<
  TransactionType,
  'tradeResult' | 'marketFeed' | 'dataMaintenance' | 'tradeCleanup'
>;

/** Cards of each kind, in tenths of a percent of the mix. */
export const CARDS: Readonly<Record<Card, number>> = {
  brokerVolume: 49,
  customerPosition: 130,
  marketWatch: 180,
  securityDetail: 140,
  tradeLookup: 80,
  tradeOrder: 101,
  tradeStatus: 190,
  tradeUpdate: 20,
};

/** All transactions that result from one deck. */
export const MIX_OF_DECK = 1_000;
/** Trade-Results that result from one deck. */
export const TRADES_OF_DECK = 100;
export const DECK_SIZE: number = Object.values(CARDS).reduce((sum, count) => sum + count, 0);
/** Customers' transactions per Trade-Result: 8.9. */
export const CUSTOMER_TRANSACTIONS: number = DECK_SIZE / TRADES_OF_DECK;

export class Deck {
  readonly #random: Random;
  #cards: Card[];
  #dealt = 0;

  constructor(random: Random) {
    this.#random = random;
    const names = Object.keys(CARDS) as Card[];
    this.#cards = names.flatMap((card) => Array.from({ length: CARDS[card] }, () => card));
  }

  deal(): Card {
    if (this.#dealt % DECK_SIZE === 0) this.#cards = shuffled(this.#random, this.#cards);
    return this.#cards[this.#dealt++ % DECK_SIZE] as Card;
  }
}
