/**
 * One client of a brokerage: the customers (CE), the exchange that they trade at (MEE), and the
 * upkeep (DM). They run in one process with the client library, as the paper merges them (section
 * 3.3).
 *
 *     paced      open loop: a clock starts transactions, whether earlier ones have ended or not
 *     unpaced    closed loop: each user begins the next transaction when the last has ended
 *
 *     begin ──warm-up──▶ from ──measured──▶ to ──drain──▶ every order completed, everything settled
 *
 * Users have no think time or typing time: they keep the brokerage busy.
 */
import type { Clock, Random } from '#engine';
import type { Brokerage } from '../transactions/index.ts';
import type { Population } from '../model/population.ts';
import type { CustomerRange } from './draws.ts';
import { CustomerInputs, type TransactionRequest } from './inputs.ts';
import { MarketExchange } from './market-exchange.ts';
import { type Interval, Recorder, type TransactionRecords } from './recorder.ts';

export interface CustomerEmulatorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly population: Pick<Population, 'roster' | 'scale' | 'market'>;
  readonly brokerage: Brokerage;
  readonly range?: CustomerRange | undefined;
  readonly nextTradeId: () => number;
  /** The moment of the clock at which the initial trades end. */
  readonly originMs: number;
  /**
   * With this many customers' transactions in flight, the brokerage does not keep up, and the run
   * is given up. Default 5,000. Lower: a short stall of a fast system ends the run. Higher:
   * completing them takes minutes.
   */
  readonly inFlightMax?: number | undefined;
}

export type CustomerLoad =
  | {
      readonly kind: 'paced';
      /** Customers' transactions; there is one Trade-Result for 8.9 of them. */
      readonly perSecond: number;
      /**
       * Where in the gap between two transactions this client begins its own, from 0 to 1: several
       * clients take turns.
       */
      readonly phase: number;
    }
  | { readonly kind: 'unpaced'; readonly users: number };

export interface EmulatedRun extends Interval {
  readonly load: CustomerLoad;
  readonly beginMs: number;
  /** Whether this client runs Data-Maintenance; one client does it for all. */
  readonly hasMaintenance: boolean;
  readonly signal: AbortSignal;
}

export interface EmulatorResult {
  readonly records: TransactionRecords;
  /**
   * Customers' transactions that were due and had not ended, at either end of the measured
   * interval.
   */
  readonly backlogFrom: number;
  readonly backlogTo: number;
  /** Whether the run was given up because the backlog was too large. */
  readonly isOverrun: boolean;
  /** The first failure in all runs so far. */
  readonly firstFailure: string | null;
  /** Trade-Results that the brokerage has acknowledged in all runs so far. */
  readonly tradeResults: number;
}

const IN_FLIGHT_MAX = 5_000;

/** The share of one of several clients: what all of them have in flight ends within one drain. */
export function inFlightMaxOf(clients: number): number {
  return Math.ceil(IN_FLIGHT_MAX / clients);
}

const MAINTENANCE_GAP_MS = 60_000;

export class CustomerEmulator {
  readonly exchange: MarketExchange;
  readonly #options: CustomerEmulatorOptions;
  readonly #recorder: Recorder;
  readonly #inputs: CustomerInputs;
  #inFlight = 0;
  #isOverrun = false;

  constructor(options: CustomerEmulatorOptions) {
    const { clock, random, brokerage, population, range, nextTradeId } = options;
    const recorder = new Recorder(clock, brokerage);
    this.#options = options;
    this.#recorder = recorder;
    this.#inputs = new CustomerInputs({
      random: random.fork('customers'),
      population,
      range,
      nextTradeId,
    });
    this.exchange = new MarketExchange({
      clock,
      random: random.fork('exchange'),
      population,
      timeAt: (monotonicMs) => this.#timeAt(monotonicMs),
      transactions: {
        tradeResult: (input, dueMs) => recorder.execute('tradeResult', input, dueMs),
        marketFeed: (input, dueMs) => recorder.execute('marketFeed', input, dueMs),
      },
    });
  }

  /**
   * Called before a run, with no transaction in flight. The client forgets orders that still wait
   * for their price, and if it `cleansUp` for all clients, cancels them in the brokerage. Each run
   * completes all other orders before it ends, so one that is left is a failure: once it is
   * cancelled, no later check can find it.
   * @throws if the cleanup fails
   */
  async prepare({ cleansUp }: { readonly cleansUp: boolean }): Promise<void> {
    this.exchange.forget();
    if (!cleansUp) return;
    const { brokerage, population } = this.#options;
    const firstTradeId = population.roster.trades.lastId + 1;
    const { result } = await brokerage.execute('tradeCleanup', { firstTradeId, now: this.#now() });
    if (result.submitted === 0) return;
    this.#recorder.noteFailure('tradeCleanup', `orders never completed: ${result.submitted}`);
  }

  async run(run: EmulatedRun): Promise<EmulatorResult> {
    this.#recorder.measure(run);
    this.#isOverrun = false;
    this.exchange.resume();
    const backlogFrom = this.#inFlightAt(run.fromMs, run.signal);
    const backlogTo = this.#inFlightAt(run.toMs, run.signal);
    const customers =
      run.load.kind === 'paced' ? this.#pace(run, run.load) : this.#users(run, run.load);
    await Promise.all([customers, this.#maintain(run)]);
    // After an overrun the customers have stopped before the interval ends.
    const backlogs = await Promise.all([backlogFrom, backlogTo]);
    await this.#drain(run);
    run.signal.throwIfAborted();
    return {
      records: this.#recorder.records,
      backlogFrom: backlogs[0],
      backlogTo: backlogs[1],
      isOverrun: this.#isOverrun,
      firstFailure: this.#recorder.firstFailure,
      tradeResults: this.#recorder.tradeResults,
    };
  }

  /** Each transaction has its own scheduled moment, regardless of earlier ones. */
  async #pace(
    { beginMs, toMs, signal }: EmulatedRun,
    { perSecond, phase }: Extract<CustomerLoad, { readonly kind: 'paced' }>,
  ): Promise<void> {
    const { clock, inFlightMax = IN_FLIGHT_MAX } = this.#options;
    const gapMs = 1_000 / perSecond;
    for (let n = 0; !signal.aborted; n++) {
      const dueMs = beginMs + (n + phase) * gapMs;
      if (dueMs >= toMs) return;
      const earlyMs = dueMs - clock.monotonicMs();
      if (earlyMs > 0) await clock.sleep(earlyMs, signal);
      if (this.#inFlight >= inFlightMax) {
        this.#isOverrun = true;
        return;
      }
      void this.#issue(dueMs);
    }
  }

  async #users(
    { toMs, signal }: EmulatedRun,
    { users }: Extract<CustomerLoad, { readonly kind: 'unpaced' }>,
  ): Promise<void> {
    const { clock } = this.#options;
    const user = async (): Promise<void> => {
      while (clock.monotonicMs() < toMs && !signal.aborted) await this.#issue(clock.monotonicMs());
    };
    await Promise.all(Array.from({ length: users }, user));
  }

  /** Never rejects: the recorder collects failures. */
  async #issue(dueMs: number): Promise<void> {
    this.#inFlight++;
    await this.#execute(this.#inputs.next(this.#now()), dueMs);
    this.#inFlight--;
  }

  async #execute(issued: TransactionRequest, dueMs: number): Promise<void> {
    if (issued.type !== 'tradeOrder') {
      await this.#recorder.execute(issued.type, issued.input, dueMs);
      return;
    }
    const { input } = issued;
    const result = await this.#recorder.execute('tradeOrder', input, dueMs);
    if (result?.outcome !== 'committed' || result.frame3 === null) return;
    const { symbol, requestedPrice } = result.frame3;
    const { tradeId, tradeTypeId, quantity } = input;
    this.exchange.submit({ tradeId, tradeTypeId, symbol, quantity, price: requestedPrice });
  }

  async #maintain({ fromMs, toMs, hasMaintenance, signal }: EmulatedRun): Promise<void> {
    const { clock } = this.#options;
    if (!hasMaintenance) return;
    for (let dueMs = fromMs; dueMs < toMs; dueMs += MAINTENANCE_GAP_MS) {
      await clock.sleep(dueMs - clock.monotonicMs(), signal);
      if (signal.aborted) return;
      const input = this.#inputs.nextMaintenance(this.#now());
      await this.#recorder.execute('dataMaintenance', input, dueMs);
    }
  }

  async #inFlightAt(momentMs: number, signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    await clock.sleep(momentMs - clock.monotonicMs(), signal);
    return this.#inFlight;
  }

  async #drain({ signal }: EmulatedRun): Promise<void> {
    if (signal.aborted) return;
    const { clock, brokerage } = this.#options;
    while (this.#inFlight > 0 && !signal.aborted) await clock.sleep(1, signal);
    await this.exchange.drain();
    await brokerage.settled();
  }

  #now(): number {
    return this.#timeAt(this.#options.clock.monotonicMs());
  }

  #timeAt(monotonicMs: number): number {
    const { population, originMs } = this.#options;
    return population.roster.trades.endMs + Math.floor(monotonicMs - originMs);
  }
}
