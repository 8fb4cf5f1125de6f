/**
 * The market exchange (MEE), which completes the orders that the brokerage sends:
 *
 *     market order ──▶ a second or so ──▶ Trade-Result at the present price ──▶ ticker
 *     limit order ──▶ when its price comes ──▶ ticker ──▶ Market-Feed triggers it
 *                     ──▶ as a market order
 *
 * Each Trade-Result puts two entries on the ticker: its own trade, and one more. The second is a
 * limit order that reached its price, if there is one, else a trade in which this brokerage has no
 * part. Twenty entries are a Market-Feed, so there is one for 10 Trade-Results. The brokerage, not
 * the exchange, decides which orders a Market-Feed triggers.
 *
 * Prices depend on the time alone, so limit orders need no polling: a timer fires when an order
 * reaches its price.
 */
import { assert, type Clock, type Random } from '#engine';
import type {
  MarketFeedInput,
  MarketFeedResult,
  TickerEntry,
  TriggeredOrder,
} from '../transactions/market-feed.ts';
import type { Population } from '../model/population.ts';
import type { TradeResultInput } from '../transactions/trade-result.ts';

export interface MarketExchangeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly population: Pick<Population, 'roster' | 'market'>;
  /** The brokerage's time, at a moment of the clock. */
  readonly timeAt: (monotonicMs: number) => number;
  readonly transactions: ExchangeTransactions;
}

/**
 * `dueMs`: the moment of the clock at which the transaction should begin. Resolves to null if it
 * has failed; the recorder has the reason.
 */
export interface ExchangeTransactions {
  readonly tradeResult: (input: TradeResultInput, dueMs: number) => Promise<unknown>;
  readonly marketFeed: (input: MarketFeedInput, dueMs: number) => Promise<MarketFeedResult | null>;
}

/** An order that the brokerage has committed. */
export type SubmittedOrder = TriggeredOrder;

export const TICKER_ENTRIES = 20;
const DELAY_MS_MEAN = 1_000;
const DELAY_MS_MAX = 5_000;
/**
 * Quantities of ticker entries: for a limit order that reached its price, and for trades of others.
 */
const TRIGGER_QUANTITY = 375;
const OTHERS_QUANTITIES = [325, 425];

export class MarketExchange {
  readonly #options: MarketExchangeOptions;
  readonly #indexOf: ReadonlyMap<string, number>;
  readonly #closed = new AbortController();
  /** Aborted by `drain`: then no order waits for the market any more. */
  #hurry = new AbortController();
  #forgotten = new AbortController();
  /** Limit orders that reached their price, for the ticker. */
  #due: TickerEntry[] = [];
  #ticker: TickerEntry[] = [];
  /**
   * Orders that will lead to a Trade-Result, and transactions in flight; the exchange is idle at 0.
   */
  #inFlight = 0;
  #waiting = 0;
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(options: MarketExchangeOptions) {
    this.#options = options;
    const { roster } = options.population;
    const indexes = Array.from({ length: roster.securities }, (_, i) => i);
    this.#indexOf = new Map(indexes.map((index) => [roster.symbol(index), index]));
  }

  /** Limit orders that have not reached their price yet. */
  get waiting(): number {
    return this.#waiting;
  }

  submit(order: SubmittedOrder): void {
    if (isMarket(order)) this.#complete(order);
    else void this.#awaitPrice(order, this.#index(order));
  }

  /**
   * Completes at once every market order and every triggered order; resolves when that is done.
   * From now on the exchange sends no Market-Feed, which would trigger more; the ticker entries
   * wait for `resume`.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#hurry.abort();
    if (this.#inFlight === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  resume(): void {
    this.#isDraining = false;
    this.#hurry = new AbortController();
    this.#sendTicker();
  }

  /** Forgets the ticker, and the limit orders not yet triggered, which the caller cancels. */
  forget(): void {
    this.#forgotten.abort();
    this.#forgotten = new AbortController();
    this.#due = [];
    this.#ticker = [];
  }

  /** Afterwards nothing is sent, and no timer is left. */
  close(): void {
    this.#isDraining = true;
    this.#closed.abort();
    this.#hurry.abort();
    this.#forgotten.abort();
  }

  async #awaitPrice(order: SubmittedOrder, index: number): Promise<void> {
    const { clock, population } = this.#options;
    const now = this.#now();
    const direction = order.tradeTypeId === 'TLS' ? 'at least' : 'at most';
    const comesAt = population.market.reaches(index, { direction, price: order.price }, now);
    const entry = { symbol: order.symbol, quantity: TRIGGER_QUANTITY };
    if (comesAt <= now) {
      this.#due.push({ ...entry, price: population.market.price(index, now) });
      return;
    }
    this.#waiting++;
    const { signal } = this.#forgotten;
    // Nothing waits for these sleeps, which may take a quarter of an hour.
    await clock.sleep(comesAt - now, signal, { background: true });
    this.#waiting--;
    if (signal.aborted) return;
    this.#due.push({ ...entry, price: order.price });
  }

  #complete(order: SubmittedOrder): void {
    const { clock, random } = this.#options;
    const delayMs = Math.min(DELAY_MS_MAX, -Math.log(1 - random.fraction()) * DELAY_MS_MEAN);
    const dueMs = clock.monotonicMs() + delayMs;
    this.#track(async () => {
      await clock.sleep(delayMs, this.#hurry.signal);
      if (!this.#closed.signal.aborted) await this.#sendResult(order, dueMs);
    });
  }

  async #sendResult(order: SubmittedOrder, dueMs: number): Promise<void> {
    const now = this.#now();
    const tradePrice = this.#tradePrice(order, now);
    const { tradeId, symbol, quantity } = order;
    const sent = this.#options.transactions.tradeResult({ tradeId, tradePrice, now }, dueMs);
    this.#ticker.push({ symbol, price: tradePrice, quantity });
    this.#ticker.push(this.#due.shift() ?? this.#othersTrade(now));
    this.#sendTicker();
    await sent;
  }

  /**
   * A limit order trades at the better of its own price and the current one; market orders and
   * stop-losses trade at the current one.
   */
  #tradePrice(order: SubmittedOrder, now: number): number {
    const present = this.#options.population.market.price(this.#index(order), now);
    if (order.tradeTypeId === 'TLB') return Math.min(order.price, present);
    if (order.tradeTypeId === 'TLS') return Math.max(order.price, present);
    return present;
  }

  #othersTrade(now: number): TickerEntry {
    const { random, population } = this.#options;
    const index = random.integer(0, population.roster.securities - 1);
    return {
      symbol: population.roster.symbol(index),
      price: population.market.price(index, now),
      quantity: random.pick(OTHERS_QUANTITIES),
    };
  }

  #sendTicker(): void {
    while (this.#ticker.length >= TICKER_ENTRIES && !this.#isDraining) {
      const entries = this.#ticker.slice(0, TICKER_ENTRIES);
      this.#ticker = this.#ticker.slice(TICKER_ENTRIES);
      this.#track(() => this.#sendFeed(entries));
    }
  }

  async #sendFeed(entries: readonly TickerEntry[]): Promise<void> {
    const { clock, transactions } = this.#options;
    const input = { entries, now: this.#now() };
    const result = await transactions.marketFeed(input, clock.monotonicMs());
    for (const order of result?.triggered ?? []) this.#complete(order);
  }

  #track(work: () => Promise<void>): void {
    this.#inFlight++;
    void work().then(() => {
      this.#inFlight--;
      if (this.#inFlight > 0) return;
      this.#onIdle?.();
      this.#onIdle = undefined;
    });
  }

  #now(): number {
    return this.#options.timeAt(this.#options.clock.monotonicMs());
  }

  #index({ symbol }: SubmittedOrder): number {
    const index = this.#indexOf.get(symbol);
    assert(index !== undefined, 'the symbol of an order is that of a security');
    return index;
  }
}

function isMarket({ tradeTypeId }: SubmittedOrder): boolean {
  return tradeTypeId === 'TMB' || tradeTypeId === 'TMS';
}
