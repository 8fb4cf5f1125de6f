/**
 * The world of the explorer: the real engine in processes, one storage in memory, an oracle, and
 * messages that wait.
 *
 *     open ─▶ take(choice) ─▶ all that can run runs until it waits ─▶ take(choice) ...
 *
 * Nothing but choices decides what happens: time stands still, chance has a fixed seed, and no
 * message moves without one. So a state is the scenario and the choices, and is reached again by
 * taking them again, in Node as in a browser.
 *
 * The world carries no step of the protocol: it delivers what the engine sends to a storage that
 * applies it.
 */
import {
  assert,
  createRandom,
  PercolatorError,
  unreachable,
} from '../../../../engine/base/index.ts';
import type { Timestamp } from '../../../../engine/bigtable/index.ts';
import { openDatabase, type Percolator } from '../../../../engine/database.ts';
import type { RecordedTransaction, Recorder } from '../../invariants/recording.ts';
import type { History, Violation } from '../../judges/history.ts';
import { cellOf, type ExplorerScenario, type TaskClient } from '../scenario.ts';
import type { Umpire } from '../../simulation/umpire.ts';
import type { ExplorerChoice, WrittenChoice } from './choice.ts';
import { doorTo, type OracleNews, oracleFor, rangesFor } from './door.ts';
import {
  describeAnswer,
  describeRequest,
  type ExplorerAnswer,
  type ExplorerMessage,
  type ExplorerRequest,
  isMutation,
  placeOfRequest,
} from './message.ts';
import { ExplorerProcess, type ExplorerSleeper, quiet } from './process.ts';
import { WorldStorage } from './storage.ts';
import { taskClient } from './task.ts';

/** A message in flight. */
export interface InFlight {
  readonly message: ExplorerMessage;
  /** Whether its sender still waits for the answer. */
  isAwaited: boolean;
  readonly sender: ExplorerProcess;
  readonly resolve: (answer: ExplorerAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** What a choice did, for pictures. */
export interface ExplorerEvent {
  /** The number of the choice, from 1. */
  readonly step: number;
  readonly kind: ExplorerChoice['kind'];
  /** The number of the process; absent for time. */
  readonly process?: number | undefined;
  readonly message?: ExplorerMessage | undefined;
  /** What the storage or the oracle answered, whether or not the sender heard it. */
  readonly answer?: string | undefined;
}

/** One actor of the scenario, through all lives of its process. */
export interface ActorState {
  process: ExplorerProcess;
  percolator: Percolator;
  news: OracleNews;
  /** Tasks begun, in all lives. */
  begun: number;
  /** Whether a task is in progress. */
  isAtWork: boolean;
  lives: number;
  /** What it was told last: a sentence. */
  says: string;
}

/** The transaction that wrote what is there before the story, and the first timestamp after it. */
const PAST = { startTimestamp: 5, commitTimestamp: 6 } as const;
const FIRST: Timestamp = PAST.commitTimestamp + 1;
/** No story takes so many ranges. */
const RANGES_END: Timestamp = 1_000_000;
/** Choices by which nothing goes wrong. */
const CALM: ReadonlySet<string> = new Set(['start', 'deliver', 'follow']);
/** Messages that are answered at once, before who sends them is said to be stuck. */
const ANSWERS_MAX = 3_000;

export class ExplorerWorld {
  readonly scenario: ExplorerScenario;
  nowMs = 0;
  readonly sleepers: ExplorerSleeper[] = [];
  /** In the order sent. */
  readonly inFlight: InFlight[] = [];
  /** All that was ever sent, by number. */
  readonly sent: ExplorerMessage[] = [];
  readonly actors: ActorState[] = [];
  /** What happened, one line each: the same in every JavaScript engine. */
  readonly log: string[] = [];
  readonly events: ExplorerEvent[] = [];
  /** How many choices were taken. */
  steps = 0;
  /** The choices, each `next` as what it delivered. */
  readonly taken: WrittenChoice[] = [];
  /** What a judge found while it happened. */
  readonly violations: Violation[] = [];
  readonly transactions: RecordedTransaction[] = [];
  readonly #storage: WorldStorage;
  readonly #dead = new Set<string>();
  /** Numbers the moments at which something was asked or heard. */
  #ticks = 0;
  /** Messages are answered at once, and not logged. */
  #isAutomatic = true;
  #answered = 0;
  #isCalm = true;

  private constructor(scenario: ExplorerScenario) {
    this.scenario = scenario;
    this.#storage = new WorldStorage();
  }

  static async open(scenario: ExplorerScenario): Promise<ExplorerWorld> {
    const world = new ExplorerWorld(scenario);
    await world.#begin();
    return world;
  }

  /** Everything that can happen next, in a fixed order. */
  choices(): readonly ExplorerChoice[] {
    return [
      ...this.actors.flatMap((actor, of) => [...choicesOfActor(actor, of)]),
      ...this.actors.flatMap(({ process }, of) =>
        this.#dead.has(process.name) ? [] : [{ kind: 'presume dead', of } as const],
      ),
      ...this.actors.flatMap(({ process }, of) =>
        this.inFlight.some(({ sender, isAwaited }) => isAwaited && sender === process)
          ? [{ kind: 'follow', of } as const]
          : [],
      ),
      ...this.inFlight.flatMap((one) => [...choicesOfMessage(one)]),
      ...this.sent
        .filter(({ request }) => isMutation(request))
        .map(({ number: of }) => ({ kind: 'copy', of }) as const),
    ];
  }

  /** Resolves to whether the choice was possible; if not, nothing has happened. */
  async take(choice: WrittenChoice): Promise<boolean> {
    if (choice.kind === 'next') {
      for (let i = 0; i < choice.of; i++) {
        const oldest = this.inFlight.find(({ isAwaited }) => isAwaited);
        if (oldest === undefined) return i > 0;
        await this.take({ kind: 'deliver', of: oldest.message.number });
      }
      return true;
    }
    this.steps++;
    if (!CALM.has(choice.kind)) this.#isCalm = false;
    const isTaken = await this.#take(choice as ExplorerChoice);
    if (isTaken) this.taken.push(choice);
    else this.steps--;
    await quiet();
    return isTaken;
  }

  /** Whether the others have heard that it is dead. */
  isDead(name: string): boolean {
    return this.#dead.has(name);
  }

  /** Above all that were handed out. */
  get nextTimestamp(): Timestamp {
    return this.scenario.ownRanges === true ? RANGES_END : this.#storage.nextTimestamp;
  }

  get horizon(): Timestamp {
    return this.#storage.horizon;
  }

  /** What clients and storage know by now. */
  get history(): History {
    return {
      transactions: this.transactions,
      records: this.#storage.records,
      rollbacks: this.#storage.rollbacks,
    };
  }

  /** What the simulator's umpire has found. */
  get umpire(): Umpire {
    return this.#storage.umpire;
  }

  /** Nothing has gone wrong, all tasks have ended, and all messages were answered. */
  get isAtRest(): boolean {
    return this.#isCalm && this.inFlight.length === 0 && !this.actors.some((one) => one.isAtWork);
  }

  cells(): ReturnType<WorldStorage['cells']> {
    return this.#storage.cells();
  }

  /**
   * All others stop for good, and what is in flight stays there. A new process works with them
   * presumed dead, and its messages are answered at once.
   */
  async end<T>(work: (actor: ActorState) => Promise<T>): Promise<T | undefined> {
    for (const { process } of this.actors) {
      process.kill();
      this.#dead.add(process.name);
    }
    this.sleepers.length = 0;
    this.inFlight.length = 0;
    this.#isAutomatic = true;
    const actor = await this.#openActor(this.actors.length, 'the last reader');
    try {
      return await this.#run(work(actor));
    } catch (error) {
      this.#judgeError(actor.process, error);
      return undefined;
    }
  }

  clientOf(actor: ActorState): TaskClient {
    const { percolator, process } = actor;
    const { observers = [] } = this.scenario;
    const tell = (sentence: string): void => {
      actor.says = sentence;
      this.tell(process.name, sentence);
    };
    return taskClient({ percolator, recorder: this.#recorderOf(process), observers, tell });
  }

  #recorderOf(process: ExplorerProcess): Recorder {
    return {
      process: process.name,
      nowMs: () => ++this.#ticks,
      sink: {
        began: (transaction) => void this.transactions.push(transaction),
        ended: (ending) => {
          const at = this.transactions.findIndex(
            ({ startTimestamp }) => startTimestamp === ending.startTimestamp,
          );
          const before = this.transactions[at];
          if (before !== undefined) this.transactions[at] = { ...before, ...ending };
        },
        violation: (violation) => void this.violations.push(violation),
      },
    };
  }

  tell(who: string, what: string): void {
    if (!this.#isAutomatic) this.log.push(`${this.steps} ${who}: ${what}`);
  }

  /** Before the story: tables, what is in them, and all processes with a lease. */
  async #begin(): Promise<void> {
    const founder = await this.#openActor(-1, 'the past');
    for (const [table, definition] of Object.entries(this.scenario.tables)) {
      await founder.percolator.createTable(table, definition);
    }
    await this.#writeInitial(founder);
    if (this.scenario.ownRanges === true) await this.#storage.takePastRange(FIRST);
    founder.process.kill();
    for (const [index, { name }] of this.scenario.processes.entries()) {
      this.actors.push(await this.#openActor(index, name));
    }
    await quiet();
    this.#isAutomatic = false;
  }

  async #writeInitial(founder: ActorState): Promise<void> {
    const writes = Object.entries(this.scenario.initial);
    const { attempt } = this.clientOf(founder);
    assert(
      this.#storage.nextTimestamp <= PAST.startTimestamp,
      'tables are made before what is in them',
    );
    this.#storage.nextTimestamp = PAST.startTimestamp;
    await attempt(async (work) => {
      this.#storage.nextTimestamp = PAST.commitTimestamp;
      for (const [cell, value] of writes) work.set(cellOf(cell), value);
    });
    await founder.percolator.settled();
    this.#storage.nextTimestamp = this.scenario.firstTimestamp ?? FIRST;
  }

  async #openActor(index: number, name: string): Promise<ActorState> {
    const wasAutomatic = this.#isAutomatic;
    this.#isAutomatic = true;
    const process = new ExplorerProcess(index, name, this);
    const actor = { process, news: { horizon: 0, drops: 0 }, begun: 0 } as Partial<ActorState>;
    const send = (request: ExplorerRequest): Promise<ExplorerAnswer> =>
      this.#send(actor as ActorState, request);
    const ownRanges = this.scenario.ownRanges === true && index >= 0;
    const store = doorTo(this.#storage.store, send, ownRanges);
    const percolator = await openDatabase({
      store,
      oracle: ownRanges
        ? await rangesFor(store, process)
        : oracleFor(send, () => (actor as ActorState).news),
      clock: process.clock,
      random: createRandom(1).fork(name),
      liveness: { self: name, isDead: (token) => token !== name && this.#dead.has(token) },
      inDoubtAttemptsMax: this.scenario.inDoubtAttemptsMax ?? 2,
      lockWaitMsMax: this.scenario.lockWaitMsMax,
    });
    // Its lease, whose bound would otherwise cost the story a timestamp.
    (await percolator.begin()).discard();
    await quiet();
    this.#isAutomatic = wasAutomatic;
    return Object.assign(actor, { percolator, isAtWork: false, lives: 1, says: '' }) as ActorState;
  }

  #send(actor: ActorState, request: ExplorerRequest): Promise<ExplorerAnswer> {
    if (this.#isAutomatic) return this.#answerAtOnce(actor, request);
    const { process } = actor;
    const number = this.sent.length;
    const message = {
      number,
      process: process.index,
      sender: process.name,
      request,
      sentAt: this.steps,
    };
    this.sent.push(message);
    return new Promise((resolve, reject) => {
      this.inFlight.push({ message, isAwaited: true, sender: process, resolve, reject });
    });
  }

  async #answerAtOnce(actor: ActorState, request: ExplorerRequest): Promise<ExplorerAnswer> {
    // The lease of a new process: its bound is the last timestamp that was handed out.
    const isOpening = request.kind === 'timestamp' && actor.percolator === undefined;
    if (isOpening) return this.#storage.nextTimestamp - 1;
    if (++this.#answered > ANSWERS_MAX) return new Promise(() => {}); // It would go on forever.
    const answer = await this.#storage.apply(request);
    actor.news = { horizon: this.#storage.horizon, drops: this.#storage.drops };
    return answer;
  }

  /** Runs work whose messages are answered at once; time passes when all else waits. */
  async #run<T>(work: Promise<T>): Promise<T | undefined> {
    let isOver = false;
    const ended = work.finally(() => {
      isOver = true;
    });
    ended.catch(() => {});
    for (let turns = 0; turns < 2_000; turns++) {
      await quiet();
      if (isOver) return ended;
      const [next] = this.sleepers.toSorted((a, b) => a.wakeMs - b.wakeMs);
      if (next === undefined) continue;
      this.nowMs = Math.max(this.nowMs, next.wakeMs);
      next.wake();
    }
    this.violations.push({
      claim: 'progress: stuck',
      message: 'the last reader, for which all other processes are dead, does not come to an end',
    });
    return undefined;
  }

  async #take({ kind, of }: ExplorerChoice): Promise<boolean> {
    switch (kind) {
      case 'deliver':
      case 'lose':
      case 'lose answer':
      case 'give up':
        return this.#move(kind, of);
      case 'follow':
        return this.#follow(of);
      case 'copy':
        return this.#copy(of);
      case 'time':
        return this.#pass(of);
      case 'start':
      case 'crash':
      case 'restart':
      case 'presume dead':
      case 'pause':
      case 'suspend':
      case 'resume':
        return this.#steer(kind, of);
      default:
        return unreachable(kind);
    }
  }

  async #move(
    kind: 'deliver' | 'lose' | 'lose answer' | 'give up',
    number: number,
  ): Promise<boolean> {
    const at = this.inFlight.findIndex(({ message }) => message.number === number);
    const one = this.inFlight[at];
    if (one === undefined || (kind !== 'deliver' && !one.isAwaited)) return false;
    const { message, sender, isAwaited } = one;
    if (kind !== 'give up') this.inFlight.splice(at, 1);
    const what = describeRequest(message.request);
    if (kind === 'lose' || kind === 'give up') {
      one.isAwaited = false;
      this.tell(sender.name, `hears no answer: ${what}${kind === 'lose' ? ' (lost)' : ''}`);
      this.events.push({ step: this.steps, kind, process: sender.index, message });
      sender.deliver(() => one.reject(noAnswer(message)));
      return true;
    }
    const answer = await this.#applied(message);
    const heard = kind === 'deliver' ? '' : ' (and its answer is lost)';
    const told = this.#told(message, answer);
    this.events.push({ step: this.steps, kind, process: sender.index, message, answer: told });
    const who = isAwaited ? sender.name : `(late) ${sender.name}`;
    this.tell(who, `${what} ▸ ${told}${heard}`);
    if (!isAwaited) return true;
    if (kind === 'lose answer') sender.deliver(() => one.reject(noAnswer(message)));
    else if (answer instanceof PercolatorError) sender.deliver(() => one.reject(answer));
    else this.#hear(one, answer);
    return true;
  }

  #hear({ sender, resolve }: InFlight, answer: ExplorerAnswer): void {
    const actor = this.actors[sender.index];
    const news = { horizon: this.#storage.horizon, drops: this.#storage.drops };
    sender.deliver(() => {
      if (actor?.process === sender) actor.news = news;
      resolve(answer);
    });
  }

  /** A refusal of the storage is an answer, too. */
  async #applied(message: ExplorerMessage): Promise<ExplorerAnswer | PercolatorError> {
    try {
      return await this.#storage.apply(message.request);
    } catch (error) {
      if (error instanceof PercolatorError) return error;
      throw error;
    }
  }

  #told({ request }: ExplorerMessage, answer: ExplorerAnswer | PercolatorError): string {
    return answer instanceof PercolatorError ? answer.code : describeAnswer(request, answer);
  }

  async #follow(of: number): Promise<boolean> {
    const { process } = this.actors[of] ?? {};
    const oldest = this.inFlight.find(({ sender, isAwaited }) => isAwaited && sender === process);
    return oldest !== undefined && this.#move('deliver', oldest.message.number);
  }

  async #copy(number: number): Promise<boolean> {
    const message = this.sent[number];
    if (message === undefined || !isMutation(message.request)) return false;
    if (this.inFlight.some((one) => one.message === message)) return false; // Not a copy yet.
    const answer = await this.#applied(message);
    const what = describeRequest(message.request);
    const told = this.#told(message, answer);
    const { process } = message;
    this.events.push({ step: this.steps, kind: 'copy', process, message, answer: told });
    this.tell(`(copy) ${message.sender}`, `${what} ▸ ${told}`);
    return true;
  }

  async #pass(ms: number): Promise<boolean> {
    if (ms <= 0) return false;
    const endMs = this.nowMs + ms;
    this.tell('time', `${ms} ms pass`);
    this.events.push({ step: this.steps, kind: 'time' });
    for (;;) {
      const [next] = this.sleepers
        .filter(({ process, wakeMs }) => process.isAlive && !process.isPaused && wakeMs <= endMs)
        .toSorted((a, b) => a.wakeMs - b.wakeMs);
      if (next === undefined) break;
      this.nowMs = Math.max(this.nowMs, next.wakeMs);
      next.wake();
      await quiet();
    }
    this.nowMs = endMs;
    return true;
  }

  async #steer(kind: ExplorerChoice['kind'], of: number): Promise<boolean> {
    const actor = this.actors[of];
    if (actor === undefined) return false;
    const { process } = actor;
    const isPossible = [...choicesOfActor(actor, of)].some((one) => one.kind === kind);
    const isNews = kind === 'presume dead' && !this.#dead.has(process.name);
    if (!isPossible && !isNews) return false;
    this.events.push({ step: this.steps, kind, process: of });
    if (kind === 'start') this.#start(actor);
    else this.tell(process.name, STEERED[kind] ?? kind);
    if (kind === 'pause' || kind === 'suspend') process.pause(kind === 'suspend');
    else if (kind === 'resume') this.#resume(process);
    else if (kind === 'presume dead') this.#dead.add(process.name);
    else if (kind === 'crash') this.#crash(actor);
    else if (kind === 'restart') await this.#restart(actor, of);
    return true;
  }

  #start(actor: ActorState): void {
    const tasks = this.scenario.processes[actor.process.index]?.tasks ?? [];
    const task = tasks[Math.min(actor.begun, tasks.length - 1)];
    assert(task !== undefined, 'a process that may start has a task');
    actor.begun++;
    actor.isAtWork = true;
    const { process } = actor;
    this.tell(process.name, `begins: ${task.does}`);
    const client = this.clientOf(actor);
    const end = (): void => {
      actor.isAtWork = false;
    };
    task.run(client).then(end, (error: unknown) => {
      end();
      client.tell(error instanceof PercolatorError ? error.code : String(error));
      this.#judgeError(process, error);
    });
  }

  /** The engine's own errors are answers; others are failed assertions. */
  #judgeError({ name }: ExplorerProcess, error: unknown): void {
    if (error instanceof PercolatorError) return;
    this.violations.push({ claim: 'engine: error', message: `${name} failed: ${String(error)}` });
  }

  #resume(process: ExplorerProcess): void {
    process.resume();
    for (const { wakeMs, wake } of this.sleepers.filter((one) => one.process === process)) {
      if (wakeMs <= this.nowMs) wake();
    }
  }

  /** What it has sent stays in flight; reads without a reader do not. */
  #crash({ process }: ActorState): void {
    process.kill();
    if (this.scenario.deathIsKnown !== false) this.#dead.add(process.name);
    for (const one of this.inFlight) if (one.sender === process) one.isAwaited = false;
    const left = this.inFlight.filter(
      ({ isAwaited, message }) => isAwaited || isMutation(message.request),
    );
    this.inFlight.splice(0, Infinity, ...left);
  }

  async #restart(actor: ActorState, of: number): Promise<void> {
    const { lives, begun } = actor;
    const name = `${this.scenario.processes[of]?.name ?? ''} ${lives + 1}`;
    const next = await this.#openActor(of, name);
    Object.assign(actor, next, { lives: lives + 1, begun });
  }
}

const STEERED: Partial<Record<ExplorerChoice['kind'], string>> = {
  crash: 'dies',
  restart: 'starts again',
  pause: 'is paused',
  suspend: 'is suspended with its machine',
  resume: 'goes on',
  'presume dead': 'is presumed dead by the others',
};

function* choicesOfActor({ process, isAtWork }: ActorState, of: number): Generator<ExplorerChoice> {
  if (!process.isAlive) {
    yield { kind: 'restart', of };
    return;
  }
  if (!isAtWork && !process.isPaused) yield { kind: 'start', of };
  if (process.isPaused) yield { kind: 'resume', of };
  else yield* [{ kind: 'pause', of } as const, { kind: 'suspend', of } as const];
  yield { kind: 'crash', of };
}

function* choicesOfMessage({ message, isAwaited }: InFlight): Generator<ExplorerChoice> {
  const { number: of, request } = message;
  yield { kind: 'deliver', of };
  if (!isAwaited) return;
  yield { kind: 'lose', of };
  if (!isMutation(request)) return;
  yield* [{ kind: 'lose answer', of } as const, { kind: 'give up', of } as const];
}

/** What a sender hears when no answer comes. */
function noAnswer({ request }: ExplorerMessage): PercolatorError {
  const place = placeOfRequest(request);
  return isMutation(request)
    ? new PercolatorError('STORE_IN_DOUBT', `mutating ${place} got no answer`)
    : new PercolatorError('STORE_UNAVAILABLE', `asking ${place} got no answer`);
}
