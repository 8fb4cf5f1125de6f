/**
 * Which transaction comes next: a deck of 890 cards, shuffled, dealt, and shuffled again.
 *
 * The other two of the mix, Trade-Result and Market-Feed, come from the market exchange: of 101 Trade-Orders one is
 * rolled back, so a deck brings 100 Trade-Results, and with them 10 Market-Feeds: 1,000 transactions in all. Unlike
 * independent draws, a deck makes the mix exact every 890 cards, so short runs have it, too.
 */
import type { Random } from '#engine';
import type { TransactionType } from '../../model/index.ts';

/** What the customer emulator issues. */
export type Card = Exclude<
  TransactionType,
  'tradeResult' | 'marketFeed' | 'dataMaintenance' | 'tradeCleanup'
>;

/** Cards of each kind; in tenths of a percent of the mix. */
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

/** All transactions that follow from one deck. */
export const MIX_OF_DECK = 1_000;
/** Trade-Results that follow from one deck. */
export const TRADES_OF_DECK = 100;
export const DECK_SIZE: number = Object.values(CARDS).reduce((sum, count) => sum + count, 0);

export class Deck {
  readonly #random: Random;
  readonly #cards: Card[];
  #dealt = 0;

  constructor(random: Random) {
    this.#random = random;
    const names = Object.keys(CARDS) as Card[];
    this.#cards = names.flatMap((card) => Array.from({ length: CARDS[card] }, () => card));
  }

  deal(): Card {
    if (this.#dealt % DECK_SIZE === 0) this.#shuffle();
    return this.#cards[this.#dealt++ % DECK_SIZE] as Card;
  }

  /** Fisher and Yates: every order is equally likely. */
  #shuffle(): void {
    for (let last = DECK_SIZE - 1; last > 0; last--) {
      const chosen = this.#random.integer(0, last);
      const card = this.#cards[last] as Card;
      this.#cards[last] = this.#cards[chosen] as Card;
      this.#cards[chosen] = card;
    }
  }
}
