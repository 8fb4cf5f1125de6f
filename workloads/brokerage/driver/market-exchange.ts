/**
 * The market exchange (MEE), which completes what the brokerage sends it:
 *
 *     market order ──▶ a second or so ──▶ Trade-Result at the present price ──▶ ticker
 *     limit order ──▶ when its price comes ──▶ ticker ──▶ Market-Feed triggers it ──▶ as a market order
 *
 * Each Trade-Result puts two entries on the ticker: its own trade, and one more, which is a limit order whose price has
 * come, if there is one, else somebody's trade that this brokerage has no part in. Twenty entries are a
 * Market-Feed, so there is one for 10 Trade-Results. Which orders a Market-Feed triggers, the brokerage says, not we.
 *
 * Prices follow from the time alone, so a limit order needs no watching: a timer rings when its price comes.
 */
import type { Clock, Random } from '#engine';
import type {
  MarketFeedInput,
  MarketFeedResult,
  Population,
  TickerEntry,
  TradeResultInput,
  TradeTypeId,
  TriggeredOrder,
} from '../model/index.ts';

export interface MarketExchangeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly population: Pick<Population, 'roster' | 'market'>;
  /** The brokerage's time, at a moment of the clock. */
  readonly timeAt: (monotonicMs: number) => number;
  readonly transactions: ExchangeTransactions;
}

/** `dueMs`: the moment of the clock at which it should begin. Null if it has failed; somebody else knows why. */
export interface ExchangeTransactions {
  readonly tradeResult: (input: TradeResultInput, dueMs: number) => Promise<unknown>;
  readonly marketFeed: (input: MarketFeedInput, dueMs: number) => Promise<MarketFeedResult | null>;
}

/** An order that the brokerage has committed. */
export type SubmittedOrder = TriggeredOrder;

export const TICKER_ENTRIES = 20;
const DELAY_MS_MEAN = 1_000;
const DELAY_MS_MAX = 5_000;
/** Of a limit order whose price has come, and of trades of others. */
const TRIGGER_QUANTITY = 375;
const OTHERS_QUANTITIES = [325, 425];

export class MarketExchange {
  readonly #options: MarketExchangeOptions;
  readonly #indexOf: ReadonlyMap<string, number>;
  readonly #closed = new AbortController();
  /** While draining nobody waits for the market. */
  #hurry = new AbortController();
  #forgotten = new AbortController();
  /** Limit orders whose price has come, for the ticker. */
  #due: TickerEntry[] = [];
  #ticker: TickerEntry[] = [];
  /** Orders that will bring a Trade-Result, and transactions underway; the exchange is idle at 0. */
  #underway = 0;
  #waiting = 0;
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(options: MarketExchangeOptions) {
    this.#options = options;
    const { roster } = options.population;
    const indexes = Array.from({ length: roster.securities }, (_, i) => i);
    this.#indexOf = new Map(indexes.map((index) => [roster.symbol(index), index]));
  }

  /** Limit orders whose price has not come yet. */
  get waiting(): number {
    return this.#waiting;
  }

  submit(order: SubmittedOrder): void {
    if (isMarket(order)) this.#complete(order);
    else void this.#awaitPrice(order);
  }

  /**
   * Completes at once every order that was submitted for completion; resolves when that is done. No Market-Feed is sent from
   * now on, for it would trigger more; what is on the ticker waits for `resume`.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#hurry.abort();
    if (this.#underway === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  resume(): void {
    this.#isDraining = false;
    this.#hurry = new AbortController();
    this.#sendTicker();
  }

  /** Limit orders that have not been triggered never will be, for somebody has cancelled them. */
  forget(): void {
    this.#forgotten.abort();
    this.#forgotten = new AbortController();
    this.#due = [];
    this.#ticker = [];
  }

  /** Nothing is sent any more, and no timer is left. */
  close(): void {
    this.#isDraining = true;
    this.#closed.abort();
    this.#hurry.abort();
    this.#forgotten.abort();
  }

  async #awaitPrice(order: SubmittedOrder): Promise<void> {
    const { clock, population } = this.#options;
    const now = this.#now();
    const index = this.#index(order);
    const direction = order.tradeTypeId === 'TLS' ? 'at least' : 'at most';
    const comesAt = population.market.reaches(index, { direction, price: order.price }, now);
    const entry = { symbol: order.symbol, quantity: TRIGGER_QUANTITY };
    if (comesAt <= now) {
      this.#due.push({ ...entry, price: population.market.price(index, now) });
      return;
    }
    this.#waiting++;
    const { signal } = this.#forgotten;
    // Nobody waits for these: they may take a quarter of an hour.
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

  /** A limit order gets the better of its own price and the present one. */
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
    this.#underway++;
    void work().then(() => {
      this.#underway--;
      if (this.#underway > 0) return;
      this.#onIdle?.();
      this.#onIdle = undefined;
    });
  }

  #now(): number {
    return this.#options.timeAt(this.#options.clock.monotonicMs());
  }

  #index({ symbol }: SubmittedOrder): number {
    return this.#indexOf.get(symbol) ?? 0;
  }
}

function isMarket({ tradeTypeId }: SubmittedOrder): boolean {
  return (tradeTypeId as TradeTypeId) === 'TMB' || tradeTypeId === 'TMS';
}
