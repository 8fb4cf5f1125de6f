/**
 * The client processes of one system, from the first load to the last, as the experiment sees them:
 * it tells them when to begin, watches them while they measure, and asks for their results.
 *
 *     now ──▶ begin ──warm-up──▶ from: look at the processors ──▶ to: look again ──drain──▶ answers
 */
import { sum } from 'simple-statistics';
import { systemClock } from '#engine';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { Crew, type Member } from '../harness/processes/index.ts';
import { cpuSecondsOf } from '../harness/processes/processor-time.ts';
import type { StoreCounts } from '../harness/watched-stores.ts';
import type { CustomerLoad } from './driver/customer-emulator.ts';
import { CUSTOMER_TRANSACTIONS } from './driver/deck.ts';
import type { TransactionRecords } from './driver/recorder.ts';
import {
  type ClientAnswer,
  type ClientOrder,
  type ClientProcessOptions,
  mergeRecords,
  type PrepareOrder,
  type RunAnswer,
} from './messages.ts';
import type { Population } from './model/population.ts';
import type { LoadedDatabase, MeasuredProcesses } from './systems/database.ts';

export interface TradeLoad {
  /** Trade-Results per second of all clients together; null: as many as `users` can complete. */
  readonly tradesPerSecond: number | null;
  /** Of all clients together, at full speed. */
  readonly users: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
}

export interface RunResult {
  readonly offered: TradeLoad;
  readonly records: TransactionRecords;
  /** Processor seconds in the measured interval, by part; null if that of a process is unknown. */
  readonly cpuSeconds: Readonly<Record<string, number>> | null;
  /** Customers' transactions of all clients in flight at either end of the measured interval. */
  readonly backlogFrom: number;
  readonly backlogTo: number;
  /** Whether a client gave the run up because its backlog was too large. */
  readonly isOverrun: boolean;
  /** Calls of the store by the first client; null unless they are counted. */
  readonly store: StoreCounts | null;
}

const PROGRAM = new URL('client-process.ts', import.meta.url);
/** Upper bound on how long messages are on their way. */
const LEAD_MS = 200;

/** Longest time that clients may take to prepare, or to complete their orders after the end. */
const DRAIN_MS_MAX = 120_000;
/** Longest time that a client may take to collect what earlier runs have left. */
const COLLECT_MS_MAX = 1_800_000;

export interface ClientsOptions {
  readonly population: Population;
  readonly clients: number;
  /** What counts as the end of the initial trades, by the clock that all processes share. */
  readonly originMs: number;
  readonly signal: AbortSignal;
}

export class SystemClients implements AsyncDisposable {
  readonly database: LoadedDatabase;
  readonly #crew: Crew;
  readonly #members: Member[] = [];
  readonly #answers: PromiseWithResolvers<ClientAnswer>[] = [];
  readonly #trades: number[] = [];
  #firstFailure: string | null = null;

  constructor(database: LoadedDatabase, crew: Crew) {
    this.database = database;
    this.#crew = crew;
  }

  static async open(
    database: LoadedDatabase,
    { population, clients, originMs, signal }: ClientsOptions,
  ): Promise<SystemClients> {
    const opened = new SystemClients(database, new Crew(signal));
    const { scale, seed, roster } = population;
    const firstTradeId = roster.trades.lastId + 1;
    const { address } = database;
    try {
      await opened.start({ address, scale, seed, clients, firstTradeId, originMs });
      return opened;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Trade-Results that the brokerage has acknowledged since the start. */
  get tradeResults(): number {
    return sum(this.#trades);
  }

  /** The error of the first transaction that failed; null if none has. */
  get firstFailure(): string | null {
    return this.#firstFailure;
  }

  async start(options: Omit<ClientProcessOptions, 'client'>): Promise<void> {
    for (let client = 0; client < options.clients; client++) {
      this.#answers[client] = Promise.withResolvers();
      const member = await this.#crew.start({
        name: `client ${client + 1}`,
        program: PROGRAM,
        options: { ...options, client } satisfies ClientProcessOptions,
        onMessage: (message) => this.#answers[client]?.resolve(message as ClientAnswer),
      });
      this.#members.push(member);
    }
  }

  async run(offered: TradeLoad): Promise<RunResult> {
    const parts = { clients: this.#members.map(({ pid }) => pid), ...this.database.servers };
    await this.#prepare({ collects: false }, DRAIN_MS_MAX);
    const beginMs = monotonicMs() + LEAD_MS;
    const fromMs = beginMs + 1_000 * offered.warmupSeconds;
    const toMs = fromMs + 1_000 * offered.seconds;
    const gathered = this.#tell((client) => {
      const load = this.#loadOf(offered, client);
      return { kind: 'run', load, beginMs, fromMs, toMs };
    });
    await this.#until(fromMs);
    const before = readParts(parts);
    await this.#until(toMs);
    const after = readParts(parts);
    const answers = (await this.#within(gathered, DRAIN_MS_MAX)).filter(
      (answer) => answer.kind === 'finished',
    );
    for (const [client, answer] of answers.entries()) {
      this.#trades[client] = answer.tradeResults;
      this.#firstFailure ??= answer.firstFailure;
    }
    return { offered, ...merged(answers), cpuSeconds: difference(before, after) };
  }

  /** Deletes what earlier runs have left, so that the next run does not pay for it. */
  async collect(): Promise<void> {
    await this.#prepare({ collects: true }, COLLECT_MS_MAX);
  }

  /** Ends the clients in an orderly way: afterwards none of their work is in flight. */
  async stop(): Promise<void> {
    await this.#crew.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#crew[Symbol.asyncDispose]();
  }

  /** No client has work in flight: each run drains before it answers. */
  async #prepare({ collects }: Pick<PrepareOrder, 'collects'>, msMax: number): Promise<void> {
    const orderOf = (client: number): PrepareOrder => {
      const isFirst = client === 0;
      return { kind: 'prepare', cleansUp: isFirst, collects: isFirst && collects };
    };
    await this.#within(this.#tell(orderOf), msMax);
  }

  /** Resolves with the answers of all clients. */
  #tell(orderOf: (client: number) => ClientOrder): Promise<readonly ClientAnswer[]> {
    const answers = this.#members.map((member, client) => {
      const answer = Promise.withResolvers<ClientAnswer>();
      this.#answers[client] = answer;
      member.send(orderOf(client));
      return answer.promise;
    });
    return Promise.all(answers);
  }

  #loadOf({ tradesPerSecond, users }: TradeLoad, client: number): CustomerLoad {
    const clients = this.#members.length;
    if (tradesPerSecond === null) {
      const before = (index: number): number => Math.floor((users * index) / clients);
      return { kind: 'unpaced', users: before(client + 1) - before(client) };
    }
    const perSecond = (CUSTOMER_TRANSACTIONS * tradesPerSecond) / clients;
    return { kind: 'paced', perSecond, phase: client / clients };
  }

  async #until(momentMs: number): Promise<void> {
    await this.#crew.during(systemClock.sleep(Math.max(0, momentMs - monotonicMs())));
  }

  async #within(
    answers: Promise<readonly ClientAnswer[]>,
    msMax: number,
  ): Promise<readonly ClientAnswer[]> {
    const over = new AbortController();
    const late = systemClock.sleep(msMax, over.signal).then(() => null);
    try {
      const all = await this.#crew.during(Promise.race([answers, late]));
      if (all !== null) return all;
    } finally {
      over.abort();
    }
    throw new Error(`a client was not done within ${msMax / 1_000} s`);
  }
}

function merged(answers: readonly RunAnswer[]): Omit<RunResult, 'offered' | 'cpuSeconds'> {
  return {
    records: mergeRecords(answers),
    backlogFrom: sum(answers.map(({ backlogFrom }) => backlogFrom)),
    backlogTo: sum(answers.map(({ backlogTo }) => backlogTo)),
    isOverrun: answers.some(({ isOverrun }) => isOverrun),
    store: answers[0]?.store ?? null,
  };
}

function readParts(parts: MeasuredProcesses): ReadonlyMap<string, number | null> {
  return new Map(Object.entries(parts).map(([part, pids]) => [part, cpuSecondsOf(pids)]));
}

function difference(
  before: ReadonlyMap<string, number | null>,
  after: ReadonlyMap<string, number | null>,
): RunResult['cpuSeconds'] {
  const used: Record<string, number> = {};
  for (const [part, from] of before) {
    const to = after.get(part) ?? null;
    if (from === null || to === null) return null;
    used[part] = to - from;
  }
  return used;
}
