/**
 * A brokerage for tests of the driver: it remembers only calls and limit orders, and has
 * configurable response times, conflicts and failures.
 */
import type { Clock } from '#engine';
import type {
  Brokerage,
  Execution,
  Inputs,
  Results,
  TransactionType,
} from '../transactions/index.ts';
import type { MarketFeedInput, TriggeredOrder } from '../transactions/market-feed.ts';
import type { TradeOrderInput } from '../transactions/trade-order.ts';

export interface FakeBrokerageOptions {
  readonly clock: Clock;
  /** The symbol of orders that name company and issue instead. */
  readonly symbol?: string;
  /** How long each transaction takes. */
  readonly responseMs: number;
  readonly attemptsOf?: ((type: TransactionType) => number) | undefined;
  /** Orders that Trade-Cleanup finds submitted, but not completed. */
  readonly submitted?: number | undefined;
  /** Throws for a transaction that fails. */
  readonly failing?: ((type: TransactionType) => void) | undefined;
}

export interface BrokerageCall {
  readonly type: TransactionType;
  readonly input: Inputs[TransactionType];
  readonly atMs: number;
}

export class FakeBrokerage implements Brokerage {
  readonly name = 'fake';
  readonly brokerUpdate = 'omit';
  readonly calls: BrokerageCall[] = [];
  readonly tables: Brokerage['tables'] = { rows: () => noRows() };
  settledCalls = 0;
  /** How many calls had ended when `settled` was called last. */
  endedAtSettled = 0;
  #ended = 0;
  readonly #options: FakeBrokerageOptions;
  readonly #requests = new Map<number, TriggeredOrder>();

  constructor(options: FakeBrokerageOptions) {
    this.#options = options;
  }

  async execute<T extends TransactionType>(
    type: T,
    input: Inputs[T],
  ): Promise<Execution<Results[T]>> {
    const { clock, responseMs, attemptsOf, failing } = this.#options;
    this.calls.push({ type, input, atMs: clock.monotonicMs() });
    await clock.sleep(responseMs);
    this.#ended++;
    failing?.(type);
    return { result: this.#resultOf(type, input) as Results[T], attempts: attemptsOf?.(type) ?? 1 };
  }

  async settled(): Promise<void> {
    this.settledCalls++;
    this.endedAtSettled = this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  inputsOf<T extends TransactionType>(type: T): readonly Inputs[T][] {
    return this.calls.flatMap((call) => (call.type === type ? [call.input as Inputs[T]] : []));
  }

  /** Returns only what the driver reads. */
  #resultOf(type: TransactionType, input: Inputs[TransactionType]): unknown {
    if (type === 'tradeOrder') return this.#order(input as TradeOrderInput);
    if (type === 'marketFeed') return { triggered: this.#trigger(input as MarketFeedInput) };
    if (type === 'tradeCleanup') return this.#cleanUp();
    return {};
  }

  #cleanUp(): unknown {
    const requests = this.#requests.size;
    this.#requests.clear();
    return { requests, submitted: this.#options.submitted ?? 0 };
  }

  #order(order: TradeOrderInput): unknown {
    const { tradeId, tradeTypeId, quantity, requestedPrice, security } = order;
    const symbol = 'symbol' in security ? security.symbol : (this.#options.symbol ?? '');
    if (!order.rollBack && requestedPrice > 0) {
      const price = requestedPrice;
      this.#requests.set(tradeId, { tradeId, tradeTypeId, symbol, quantity, price });
    }
    const outcome = order.rollBack ? 'rolled back' : 'committed';
    return { outcome, frame3: { symbol, requestedPrice } };
  }

  #trigger({ entries }: MarketFeedInput): readonly TriggeredOrder[] {
    const triggered = entries.flatMap((entry) =>
      [...this.#requests.values()].filter(
        ({ symbol, tradeTypeId, price }) =>
          symbol === entry.symbol &&
          (tradeTypeId === 'TLS' ? price <= entry.price : price >= entry.price),
      ),
    );
    for (const { tradeId } of triggered) this.#requests.delete(tradeId);
    return [...new Set(triggered)];
  }
}

async function* noRows(): AsyncGenerator<never> {}
