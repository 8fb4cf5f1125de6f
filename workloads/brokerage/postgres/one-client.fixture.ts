/**
 * The transactions of one client, one after the other, determined by a seed and by the brokerage's
 * answers. Customers act in turn, their orders complete a little later, ticker entries trigger
 * limit orders that reach their price, with upkeep in between and a clean-up at the end. Time is a
 * count of transactions.
 */
import { createRandom, type Random } from '#engine';
import type { Inputs, Results, TransactionType } from '../transactions/index.ts';
import type { Population } from '../model/population.ts';
import type { TickerEntry, TriggeredOrder } from '../transactions/market-feed.ts';
import { CustomerInputs, type TransactionRequest } from '../driver/inputs.ts';

const STEP_MS = 37;
const TICKER_ENTRIES = 20;
/** One of this many orders is from a person without permission; `CustomerInputs` makes none. */
const DENIED = 9;

export class OneClient {
  readonly #population: Population;
  readonly #random: Random;
  readonly #inputs: CustomerInputs;
  /** Orders to be completed. */
  readonly #submitted: TriggeredOrder[] = [];
  /** Limit orders that wait for their price. */
  #waiting: TriggeredOrder[] = [];
  #ticker: TickerEntry[] = [];
  #steps = 0;
  #orders = 0;

  constructor(population: Population, seed: number) {
    this.#population = population;
    this.#random = createRandom(seed);
    let tradeId = population.roster.trades.lastId;
    this.#inputs = new CustomerInputs({
      random: this.#random.fork('customers'),
      population,
      nextTradeId: () => ++tradeId,
    });
  }

  next(): TransactionRequest {
    this.#steps++;
    const now = this.#now;
    if (this.#steps % 15 === 0) {
      return { type: 'dataMaintenance', input: this.#inputs.nextMaintenance(now) };
    }
    if (this.#ticker.length >= TICKER_ENTRIES) {
      return {
        type: 'marketFeed',
        input: { entries: this.#ticker.splice(0, TICKER_ENTRIES), now },
      };
    }
    const order = this.#submitted[0];
    if (order !== undefined && this.#random.integer(0, 2) === 0) {
      const { tradeId, symbol } = order;
      return { type: 'tradeResult', input: { tradeId, tradePrice: this.#price(symbol), now } };
    }
    return this.#sometimesDenied(this.#inputs.next(now));
  }

  /** Cleans up everything that is still open. */
  cleanup(): TransactionRequest {
    const { lastId } = this.#population.roster.trades;
    return { type: 'tradeCleanup', input: { firstTradeId: lastId + 1, now: this.#now } };
  }

  /** Takes in the answer of the brokerage. */
  heard<T extends TransactionType>(type: T, input: Inputs[T], result: Results[T]): void {
    if (type === 'tradeOrder') {
      this.#ordered(input as Inputs['tradeOrder'], result as Results['tradeOrder']);
    }
    if (type === 'tradeResult') this.#completed();
    if (type === 'marketFeed') this.#triggered((result as Results['marketFeed']).triggered);
  }

  #ordered(input: Inputs['tradeOrder'], { outcome, frame3 }: Results['tradeOrder']): void {
    if (outcome !== 'committed' || frame3 === null) return;
    const { tradeId, tradeTypeId, quantity } = input;
    const { symbol, requestedPrice: price } = frame3;
    const order = { tradeId, tradeTypeId, symbol, quantity, price };
    if (frame3.isMarket) this.#submitted.push(order);
    else this.#waiting.push(order);
  }

  /**
   * Adds the completed trade to the ticker, and an entry that reaches the price of a limit order,
   * or just misses it.
   */
  #completed(): void {
    const order = this.#submitted.shift();
    if (order === undefined) return;
    const { symbol, quantity } = order;
    this.#ticker.push({ symbol, quantity, price: this.#price(symbol) });
    const [limited = order] = this.#waiting;
    const price = limited.price + this.#random.integer(-1, 1);
    this.#ticker.push({ symbol: limited.symbol, quantity: 375, price });
  }

  #triggered(orders: readonly TriggeredOrder[]): void {
    this.#submitted.push(...orders);
    const triggered = new Set(orders.map(({ tradeId }) => tradeId));
    this.#waiting = this.#waiting.filter(({ tradeId }) => !triggered.has(tradeId));
  }

  #sometimesDenied(issued: TransactionRequest): TransactionRequest {
    if (issued.type !== 'tradeOrder' || ++this.#orders % DENIED > 0) return issued;
    const executor = { ...issued.input.executor, taxId: 'unknown' };
    return { ...issued, input: { ...issued.input, executor } };
  }

  #price(symbol: string): number {
    const { roster, market } = this.#population;
    for (let i = 0; i < roster.securities; i++) {
      if (roster.symbol(i) === symbol) return market.price(i, this.#now);
    }
    throw new Error(`there is no security ${symbol}`);
  }

  get #now(): number {
    return this.#population.roster.trades.endMs + this.#steps * STEP_MS;
  }
}
