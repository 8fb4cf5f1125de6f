/**
 * The client processes of one system, as the experiment sees them: it tells them when to begin,
 * watches them while they measure, and asks for their results.
 *
 *     now ──▶ begin ──warm-up──▶ from: look at the processors ──▶ to: look again ──drain──▶ answers
 */
import { systemClock } from '#engine';
import { type Crew, type Member } from '../harness/processes/index.ts';
import type { Load } from './driver/customer-emulator.ts';
import { CUSTOMER_TRANSACTIONS } from './driver/inputs/deck.ts';
import type { Records } from './driver/recorder.ts';
import {
  type Answer,
  type ClientOptions,
  mergeRecords,
  type Order,
  type PrepareOrder,
  type RunAnswer,
} from './messages.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { cpuSecondsOf } from '../harness/processes/processor-time.ts';
import type { StoreCounts } from '../harness/stores/store-counts.ts';

/** Ids of the processes whose processor time counts, by what they are for. */
export type MeasuredProcesses = Readonly<Record<string, readonly number[]>>;

export interface OfferedLoad {
  /** Trade-Results per second of all clients together; null: as many as `users` can complete. */
  readonly tradesPerSecond: number | null;
  /** Of all clients together, at full speed. */
  readonly users: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
}

export interface RunResult {
  readonly offered: OfferedLoad;
  readonly records: Records;
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

export class Clients {
  readonly #crew: Crew;
  readonly #members: Member[] = [];
  readonly #answers: PromiseWithResolvers<Answer>[] = [];
  readonly #trades: number[] = [];
  #firstFailure: string | null = null;

  constructor(crew: Crew) {
    this.#crew = crew;
  }

  get pids(): readonly number[] {
    return this.#members.map(({ pid }) => pid);
  }

  /** Trade-Results that the brokerage has acknowledged since the start. */
  get tradeResults(): number {
    return this.#trades.reduce((sum, count) => sum + count, 0);
  }

  get firstFailure(): string | null {
    return this.#firstFailure;
  }

  async start(options: Omit<ClientOptions, 'client'>): Promise<void> {
    for (let client = 0; client < options.clients; client++) {
      this.#answers[client] = Promise.withResolvers();
      const member = await this.#crew.start({
        name: `client ${client + 1}`,
        program: PROGRAM,
        options: { ...options, client } satisfies ClientOptions,
        onMessage: (message) => this.#answers[client]?.resolve(message as Answer),
      });
      this.#members.push(member);
    }
  }

  async run(offered: OfferedLoad, parts: MeasuredProcesses): Promise<RunResult> {
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

  /** No client has work in flight: each run drains before it answers. */
  async #prepare({ collects }: Pick<PrepareOrder, 'collects'>, msMax: number): Promise<void> {
    const orderOf = (client: number): PrepareOrder => {
      const isFirst = client === 0;
      return { kind: 'prepare', cleansUp: isFirst, collects: isFirst && collects };
    };
    await this.#within(this.#tell(orderOf), msMax);
  }

  /** Resolves with the answers of all clients. */
  #tell(orderOf: (client: number) => Order): Promise<readonly Answer[]> {
    const answers = this.#members.map((member, client) => {
      const answer = Promise.withResolvers<Answer>();
      this.#answers[client] = answer;
      member.send(orderOf(client));
      return answer.promise;
    });
    return Promise.all(answers);
  }

  #loadOf({ tradesPerSecond, users }: OfferedLoad, client: number): Load {
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

  async #within(answers: Promise<readonly Answer[]>, msMax: number): Promise<readonly Answer[]> {
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
  const sum = (of: 'backlogFrom' | 'backlogTo'): number =>
    answers.reduce((total, answer) => total + answer[of], 0);
  return {
    records: mergeRecords(answers),
    backlogFrom: sum('backlogFrom'),
    backlogTo: sum('backlogTo'),
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
