/**
 * The brokerage of figure 9 as the load, as in the paper's figure 10: customers begin transactions
 * by the clock, the exchange completes their orders, and workers add trades to the totals of
 * brokers.
 *
 *     customers, by the clock ──▶ each runs until it has ended (attempts.ts): an arrival
 *     orders ──▶ the exchange ──▶ Trade-Result, Market-Feed: followers, which come when orders do
 */
import { sum } from 'simple-statistics';
import { type Clock, createRandom, systemClock } from '#engine';
import { counted, createLatencyHistogram, percentileMs } from '#results';
import { checkBrokerage, shorten } from '../brokerage/check/check.ts';
import type { BrokenCondition } from '../brokerage/check/facts.ts';
import { CustomerEmulator, type EmulatedRun } from '../brokerage/driver/customer-emulator.ts';
import type { TransactionRecords } from '../brokerage/driver/recorder.ts';
import {
  type Brokerage,
  type Inputs,
  type Results,
  TRANSACTIONS,
  type TransactionType,
} from '../brokerage/transactions/index.ts';
import type { Population } from '../brokerage/model/population.ts';
import type { Scale } from '../brokerage/model/scale.ts';
import { checkIndexes } from '../brokerage/percolator/check-indexes.ts';
import { loadPopulation } from '../brokerage/percolator/load.ts';
import { openOnPercolator } from '../brokerage/transactions/on-percolator.ts';
import { createPopulation } from '../brokerage/population/population.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { type Arrival, Persistence, type Unfinished } from './attempts.ts';
import {
  auditAtRest,
  type CheckResult,
  type FailoverWorkload,
  OPEN_MAX,
  type SteadyLoad,
  type WorkloadParts,
} from './workload.ts';

export interface TradingOptions {
  readonly scale: Scale;
}

/** What the exchange and the upkeep send. The rest of the mix comes from customers. */
const FOLLOWERS: ReadonlySet<TransactionType> = new Set([
  'tradeResult',
  'marketFeed',
  'dataMaintenance',
  'tradeCleanup',
]);
const CUSTOMERS = (Object.keys(TRANSACTIONS) as readonly TransactionType[]).filter(
  (type) => !FOLLOWERS.has(type),
);
/** The clock that all processes of a machine share. */
const sharedClock: Clock = { ...systemClock, monotonicMs };
const PROGRESS_MS = 200;

export class TradingWorkload implements FailoverWorkload {
  readonly arrivals: Unfinished<Arrival>[] = [];
  readonly followers: Unfinished<Arrival>[] = [];
  open = 0;
  readonly #options: TradingOptions & WorkloadParts;
  readonly #population: Population;
  readonly #persistence: Persistence;
  readonly #brokerage: Brokerage;
  readonly #emulator: CustomerEmulator;
  readonly #failure = Promise.withResolvers<never>();
  /** Ids of the orders whose customers know that they are committed. */
  readonly #orders: number[] = [];
  #ending: Promise<void> = Promise.resolve();
  #tradeResults = 0;

  constructor(options: TradingOptions & WorkloadParts) {
    const { percolator, scale, seed, signal } = options;
    const random = createRandom(seed);
    this.#options = options;
    this.#population = createPopulation(scale, seed);
    this.#persistence = new Persistence(percolator, random.fork('rests'), signal);
    this.#brokerage = openOnPercolator(percolator, {
      runsObserver: false,
      settle: this.#persistence.settle,
    });
    let tradeId = this.#population.roster.trades.lastId;
    this.#emulator = new CustomerEmulator({
      clock: sharedClock,
      random: random.fork('trading'),
      population: this.#population,
      brokerage: this.#persistent(this.#brokerage),
      nextTradeId: () => ++tradeId,
      originMs: monotonicMs(),
      inFlightMax: OPEN_MAX,
    });
    this.#failure.promise.catch(() => {}); // `failed` reports it.
  }

  get settled(): Persistence['settled'] {
    return this.#persistence.settled;
  }

  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  async load(): Promise<void> {
    const { percolator, signal } = this.#options;
    await loadPopulation(percolator, this.#population, { signal });
  }

  async measureCapacity(seconds: number): Promise<number> {
    const { concurrency: users } = this.#options;
    const beginMs = monotonicMs();
    const fromMs = beginMs + 500 * seconds;
    const times = { beginMs, fromMs, toMs: fromMs + 1000 * seconds };
    const records = await this.#run({ load: { kind: 'unpaced', users }, ...times });
    // The offered load must not complete orders of this one.
    await this.#emulator.prepare({ cleansUp: true });
    const ended = sum(CUSTOMERS.map((type) => records[type].ended));
    return ended / seconds;
  }

  async offer({ perSecond, onProgress, ...times }: SteadyLoad): Promise<{
    readonly lagP99Ms: number;
  }> {
    const { signal } = this.#options;
    const before = this.arrivals.length;
    const over = new AbortController();
    const telling = this.#tell(() => onProgress(this.arrivals.length - before), over.signal);
    const running = this.#run({ load: { kind: 'paced', perSecond, phase: 0 }, ...times });
    this.#ending = running.then(() => {});
    // The run ends when everything that it has begun has ended: `drain` waits for that.
    try {
      await Promise.race([
        this.#ending,
        sharedClock.sleep(times.toMs - monotonicMs(), AbortSignal.any([signal, over.signal])),
      ]);
    } finally {
      over.abort();
      await telling;
    }
    signal.throwIfAborted();
    return { lagP99Ms: latenessOf(this.arrivals.slice(before)) };
  }

  async drain(): Promise<void> {
    await this.#ending;
  }

  onObserved(): void {} // No customer waits for what the observer writes: the totals of brokers.

  async findUntold(): Promise<void> {}

  async check(): Promise<CheckResult> {
    const { percolator } = this.#options;
    const audited = await auditAtRest(percolator.store);
    const { findings, trades } = await checkBrokerage(this.#brokerage, {
      population: this.#population,
      isDrained: true,
      tradeResults: { acknowledged: this.#tradeResults, inFlightMax: 0 },
    });
    const { findings: more } = shorten(await checkIndexes(percolator));
    const lost = await this.#lostOrders();
    const wrong = [
      ...[...findings, ...more].map(inWords),
      ...(lost.length === 0
        ? []
        : [
            `${counted(lost.length, 'acknowledged orders')} lost, such as that of trade ${lost[0]}`,
          ]),
      ...audited.wrong,
    ];
    const right =
      `all ${this.#orders.length} acknowledged orders and ${this.#tradeResults} Trade-Results are among the ` +
      `${trades} trades, all conditions of the brokerage hold, each row is in its indexes, and fsck finds no error`;
    return { wrong, right, warnings: audited.warnings };
  }

  async #lostOrders(): Promise<readonly number[]> {
    const stored = new Set<number>();
    for await (const { t_id: id } of this.#brokerage.tables.rows('trade')) stored.add(id);
    return this.#orders.filter((id) => !stored.has(id));
  }

  /** A run of the driver, to its end. */
  async #run(
    run: Pick<EmulatedRun, 'load' | 'beginMs' | 'fromMs' | 'toMs'>,
  ): Promise<TransactionRecords> {
    const { signal } = this.#options;
    const ran = await this.#emulator.run({ ...run, hasMaintenance: true, signal });
    if (ran.isOverrun) throw new Error(`${OPEN_MAX} transactions wait for HBase`);
    this.#tradeResults = ran.tradeResults;
    return ran.records;
  }

  async #tell(tell: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sharedClock.sleep(PROGRESS_MS, signal);
      tell();
    }
  }

  /** The brokerage, but each transaction is repeated until it has ended, its attempts recorded. */
  #persistent(brokerage: Brokerage): Brokerage {
    return {
      name: brokerage.name,
      brokerUpdate: brokerage.brokerUpdate,
      tables: brokerage.tables,
      settled: () => this.#persistence.until(() => brokerage.settled()),
      execute: async (type, input, dueMs = monotonicMs()) => {
        const arrival = this.#begin(type, dueMs);
        const executing = (): ReturnType<typeof brokerage.execute<typeof type>> =>
          brokerage.execute(type, input);
        try {
          const executed = await this.#persistence.run(arrival.attempts, executing);
          this.#end(arrival);
          this.#remember(type, input, executed.result);
          return { ...executed, attempts: arrival.attempts.length };
        } catch (error) {
          this.#failure.reject(error);
          throw error;
        }
      },
      [Symbol.asyncDispose]: () => brokerage[Symbol.asyncDispose](),
    };
  }

  #begin(type: TransactionType, dueMs: number): Unfinished<Arrival> {
    const ends = { acknowledgedMs: undefined, completedMs: undefined };
    const arrival: Unfinished<Arrival> = { dueMs, attempts: [], ...ends };
    (FOLLOWERS.has(type) ? this.followers : this.arrivals).push(arrival);
    this.open++;
    return arrival;
  }

  #end(arrival: Unfinished<Arrival>): void {
    arrival.acknowledgedMs = monotonicMs();
    arrival.completedMs = arrival.acknowledgedMs;
    this.open--;
  }

  #remember(
    type: TransactionType,
    input: Inputs[TransactionType],
    result: Results[TransactionType],
  ): void {
    if (type !== 'tradeOrder' || !('outcome' in result) || result.outcome !== 'committed') return;
    this.#orders.push((input as Inputs['tradeOrder']).tradeId);
  }
}

/** How late transactions were begun, 99th percentile. */
function latenessOf(arrivals: readonly Arrival[]): number {
  const lateness = createLatencyHistogram();
  for (const { dueMs, attempts } of arrivals) {
    const beganMs = attempts[0]?.beganMs ?? dueMs;
    lateness.recordValue(Math.max(0, Math.round((beganMs - dueMs) * 1000)));
  }
  return percentileMs(lateness, 99);
}

function inWords({ condition, message }: BrokenCondition): string {
  return `${condition}: ${message}`;
}
