/**
 * The inputs of all customers' transactions, determined by the seed: which transaction comes next,
 * and its parameters.
 *
 * The deck and each group of transactions (orders; look-ups and updates; the other readings;
 * maintenance) draw from streams of their own, so that a change in one leaves the others unchanged.
 */
import type { Random } from '#engine';
import type { Inputs, Population } from '../../model/index.ts';
import { type Card, Deck } from './deck.ts';
import { type CustomerRange, Participants } from './participants.ts';
import { Readings } from './reading.ts';
import { TradeOrders } from './trade-order.ts';
import { TradeSelections } from './trade-selections.ts';
import { Maintenance } from './upkeep.ts';

export { DECK_SIZE } from './deck.ts';
export type { CustomerRange } from './participants.ts';

/** A transaction to execute. */
export type TransactionRequest = {
  readonly [T in keyof Inputs]: { readonly type: T; readonly input: Inputs[T] };
}[keyof Inputs];

export interface InputsOptions {
  readonly random: Random;
  readonly population: Pick<Population, 'roster' | 'scale'>;
  /** The customers of this client; default all. */
  readonly range?: CustomerRange | undefined;
  /** Returns the id of the next trade; ids of several clients must differ. */
  readonly nextTradeId: () => number;
}

export class CustomerInputs {
  readonly #deck: Deck;
  readonly #orders: TradeOrders;
  readonly #selections: TradeSelections;
  readonly #readings: Readings;
  readonly #maintenance: Maintenance;
  readonly #nextTradeId: () => number;

  constructor({ random, population, range, nextTradeId }: InputsOptions) {
    const { roster, scale } = population;
    const all = { first: 0, end: roster.customers };
    const streams = (name: string): readonly [Random, Participants] => {
      const stream = random.fork(name);
      return [stream, new Participants(stream.fork('participants'), roster, range ?? all)];
    };
    this.#deck = new Deck(random.fork('deck'));
    this.#orders = new TradeOrders(...streams('orders'));
    this.#selections = new TradeSelections(...streams('selections'), scale);
    this.#readings = new Readings(...streams('readings'));
    this.#maintenance = new Maintenance(...streams('maintenance'));
    this.#nextTradeId = nextTradeId;
  }

  /** Returns the customers' next transaction; `now` is the brokerage's time, in milliseconds. */
  next(now: number): TransactionRequest {
    const type: Card = this.#deck.deal();
    switch (type) {
      case 'tradeOrder':
        return { type, input: this.#orders.next(this.#nextTradeId(), now) };
      case 'tradeLookup':
        return { type, input: this.#selections.lookup() };
      case 'tradeUpdate':
        return { type, input: this.#selections.update() };
      case 'tradeStatus':
        return { type, input: this.#readings.tradeStatus() };
      case 'brokerVolume':
        return { type, input: this.#readings.brokerVolume() };
      case 'customerPosition':
        return { type, input: this.#readings.customerPosition() };
      case 'marketWatch':
        return { type, input: this.#readings.marketWatch() };
      case 'securityDetail':
        return { type, input: this.#readings.securityDetail() };
      default:
        return type;
    }
  }

  nextMaintenance(now: number): Inputs['dataMaintenance'] {
    return this.#maintenance.next(now);
  }
}
