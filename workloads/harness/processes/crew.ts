/**
 * The processes of an experiment. The run ends when one of them ends unexpectedly: without having
 * been stopped or killed by the crew. Each process is started with execa, is ready when it says so,
 * and is reported with its last lines:
 *
 *     start ─▶ options as JSON in argv ─▶ "ready" over IPC ─▶ messages, either way ─▶ its end
 *
 *     await using crew = new Crew(signal);
 *     const oracle = await crew.start({ name: 'oracle', program, options });
 *     await crew.during(measure());     // Rejects when one ends unexpectedly.
 *     await crew.stop();                // In reverse start order.
 *
 * When the block is left in any way, no process remains: those not stopped are killed. If this
 * process is killed, the others end themselves (serve.ts).
 */
import { systemClock } from '#engine';
import { forgetLive, hearLive, isLive } from '../watch/live.ts';
import {
  type AnyHost,
  byTurns,
  type PlaceOf,
  type ProgramSignal,
  type RemoteHost,
  startHere,
  type StartedProgram,
} from './program.ts';

export interface CrewOptions {
  /** How long a process may take until it is ready, in milliseconds. Default 60,000. */
  readonly readyMsMax?: number | undefined;
  /** How long a process may take to stop, in milliseconds. Default 30,000. */
  readonly stopMsMax?: number | undefined;
  /** Where each process runs, by its name. Default: all where this process does. */
  readonly placeOf?: PlaceOf | undefined;
}

export class Crew implements AsyncDisposable {
  readonly #signal: AbortSignal;
  readonly #readyMsMax: number;
  readonly #stopMsMax: number;
  /** Where the process of a name runs, each time that it is started; undefined for here. */
  readonly placeOf: PlaceOf;
  /** The live processes, in start order. */
  readonly #members = new Set<Member>();
  /** The first unexpected end rejects it, and so does the signal. */
  readonly #failed = Promise.withResolvers<never>();
  /** Processes that were asked to stop, or were killed: their end is expected. */
  readonly #leaving = new Set<Member>();

  constructor(signal: AbortSignal, options: CrewOptions = {}) {
    const { readyMsMax = 60_000, stopMsMax = 30_000, placeOf = byTurns([]) } = options;
    this.#signal = signal;
    this.placeOf = placeOf;
    this.#readyMsMax = readyMsMax;
    this.#stopMsMax = stopMsMax;
    this.#failed.promise.catch(() => {}); // `during` reports it.
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort(); // An aborted signal calls no new listener.
  }

  /**
   * Resolves when the process is ready.
   * @throws an error that names the process, if it ends or takes too long; or as `during` does
   */
  async start(options: MemberOptions): Promise<Member> {
    this.#signal.throwIfAborted();
    const member = new Member({ host: this.placeOf(options.name), ...options });
    this.#members.add(member);
    void member.ended.then((end) => this.#onEnd(member, end));
    await this.during(this.#untilReady(member));
    return member;
  }

  /** Ids of all live processes, in start order. */
  get pids(): readonly number[] {
    return [...this.#members].map(({ pid }) => pid);
  }

  /**
   * Settles as `work` does, but rejects as soon as a process ends unexpectedly, with an error that
   * names the process, or as soon as the signal is aborted, with the signal's reason.
   */
  during<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#failed.promise, work]);
  }

  /**
   * Stops the given processes, by default all, one after the other from the last to the first: give
   * them in start order, because later ones may need earlier ones. Resolves with their ends, in the
   * order in which they were stopped.
   * @throws as `during` does, or an error that names the first process that did not end in good
   *   order; the processes before it in the list are then still running
   */
  async stop(members: readonly Member[] = [...this.#members]): Promise<readonly End[]> {
    const ends: End[] = [];
    for (const member of members.toReversed()) {
      this.#leaving.add(member);
      const end = await this.during(member.stop(this.#stopMsMax));
      if (!end.isOrderly) throw new Error(`asked to stop, ${end.description}`);
      ends.push(end);
    }
    return ends;
  }

  /** Ends a process as `kill -9` does, and resolves when it is gone. The run goes on without it. */
  async kill(member: Member): Promise<void> {
    this.#leaving.add(member);
    member.signal('SIGKILL');
    await member.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#onAbort);
    for (const member of this.#members) {
      this.#leaving.add(member);
      member.signal('SIGKILL');
    }
    await Promise.all([...this.#members].map(({ ended }) => ended));
  }

  readonly #onAbort = (): void => this.#failed.reject(this.#signal.reason as Error);

  #onEnd(member: Member, { description }: End): void {
    this.#members.delete(member);
    if (!this.#leaving.has(member)) this.#failed.reject(new Error(description));
  }

  async #untilReady(member: Member): Promise<void> {
    const over = new AbortController();
    const late = systemClock.sleep(this.#readyMsMax, over.signal).then(() => {
      if (over.signal.aborted) return;
      const seconds = this.#readyMsMax / 1000;
      throw new Error(`${member.title} was not ready after ${seconds} s`);
    });
    late.catch(() => {}); // The race below reports it.
    try {
      await Promise.race([member.ready, late]);
    } finally {
      over.abort();
    }
  }
}

/** The first message of every process; its value is the program's own. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly value: unknown;
}

/** The last message of a process that was asked to stop. */
export interface LeavingMessage {
  readonly kind: 'leaving';
  /** CPU time since its start, including the loading of the program. */
  readonly cpuSeconds: number;
}

/** The last message of its parent. */
export interface StopMessage {
  readonly kind: 'stop';
}

/** How a process ended. */
export interface End {
  /** The process finished, and left with exit code 0. */
  readonly isOrderly: boolean;
  /** The signal that ended the process; undefined if it ended on its own. */
  readonly signal: string | undefined;
  /** A sentence for the user: how it ended, and its last lines on stderr. */
  readonly description: string;
  /** The last lines alone. */
  readonly lastLines: readonly string[];
  /** CPU time used; 0 if the process ended before it could report it. */
  readonly cpuSeconds: number;
}

interface MemberOptions {
  /** Name in messages: `worker 2`. */
  readonly name: string;
  readonly program: URL;
  /** Options for the process, sent at its start. */
  readonly options: unknown;
  /** Called with every message after the first. */
  readonly onMessage?: ((message: unknown) => void) | undefined;
  /** Where it runs. Default: where this process does. */
  readonly host?: AnyHost | undefined;
}

/** Lines of stderr that are kept: a stack trace, and the lines before it. */
const LINES_MAX = 24;

/**
 * One process, as its parent sees it; the other half is serve.ts. Whether an end was expected is
 * for the starter to judge (`Crew`, chaos/fleet.ts).
 */
export class Member {
  readonly name: string;
  /** Resolves with the value of its ready message; rejects if it ends before. */
  readonly ready: Promise<unknown>;
  /** Resolves when the process has ended; never rejects. */
  readonly ended: Promise<End>;
  readonly #program: StartedProgram;
  readonly #host: AnyHost | undefined;
  readonly #lines: string[] = [];
  #cpuSeconds = 0;
  /** How long `stop` waited before it killed the process. */
  #waitedMs: number | undefined;

  constructor({ name, program, options, onMessage = () => {}, host }: MemberOptions) {
    this.name = name;
    this.#host = host;
    const ready = Promise.withResolvers<unknown>();
    const start = {
      program,
      options,
      onLine: (line: string) => this.#remember(line),
      onMessage: this.#guarded((message) => {
        if (isReady(message)) ready.resolve(message.value);
        else if (isLeaving(message)) this.#cpuSeconds = message.cpuSeconds;
        else if (isLive(message)) hearLive(this, message);
        else onMessage(message);
      }),
    };
    this.#program = isRemote(host) ? host.start(name, start) : startHere(start, host);
    this.ended = this.#end();
    void this.ended.then(({ description }) => {
      forgetLive(this);
      ready.reject(new Error(description));
    });
    this.ready = ready.promise;
    this.ready.catch(() => {}); // A caller that awaits it sees the error.
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** How messages call it. */
  get title(): string {
    const where = this.#host === undefined ? '' : ` on ${this.#host.name}`;
    return `${this.name} (process ${this.pid}${where})`;
  }

  /** Harmless if it has ended: a caller that waits for an answer also waits for the end. */
  send(message: unknown): void {
    this.#program.send(message);
  }

  /** Asks it to stop, and kills it after `forMs`; its end says whether it had to be killed. */
  async stop(forMs: number): Promise<End> {
    this.send({ kind: 'stop' } satisfies StopMessage);
    const over = new AbortController();
    const late = systemClock.sleep(forMs, over.signal).then(() => {
      if (over.signal.aborted) return;
      this.#waitedMs = forMs;
      this.signal('SIGKILL');
    });
    const end = await this.ended;
    over.abort();
    await late;
    return end;
  }

  signal(signal: ProgramSignal): void {
    this.#program.signal(signal);
  }

  /** Stops the process for a while, even if this program is killed meanwhile. */
  stopFor(forMs: number): Promise<void> {
    return this.#program.stopFor(forMs);
  }

  /** After an error of the listener, the process is killed, and not listened to. */
  #guarded(onMessage: (message: unknown) => void): (message: unknown) => void {
    let isDeaf = false;
    return (message) => {
      if (isDeaf) return;
      try {
        onMessage(message);
      } catch (error) {
        isDeaf = true;
        this.#lines.push(`${error instanceof Error ? error.stack : String(error)}`);
        this.signal('SIGKILL');
      }
    };
  }

  #remember(line: string): void {
    if (line.trim() === '') return;
    this.#lines.push(line);
    if (this.#lines.length > LINES_MAX) this.#lines.shift();
  }

  async #end(): Promise<End> {
    const { isOrderly, signal, how } = await this.#program.ended;
    const lastLines = [...this.#lines];
    const isLate = signal === 'SIGKILL' && this.#waitedMs !== undefined;
    const wasKilled = `did not stop within ${(this.#waitedMs ?? 0) / 1000} s and was killed`;
    const sentence = `${this.title} ${isLate ? wasKilled : how}`;
    const lines = lastLines.map((line) => `\n    ${line}`).join('');
    const description =
      lines === '' ? `${sentence}, and said nothing` : `${sentence}; it said last:${lines}`;
    return { isOrderly, signal, description, lastLines, cpuSeconds: this.#cpuSeconds };
  }
}

function isRemote(host: AnyHost | undefined): host is RemoteHost {
  return host !== undefined && 'start' in host;
}

function isReady(message: unknown): message is ReadyMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'ready';
}

function isLeaving(message: unknown): message is LeavingMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'leaving';
}

/** The answers of a process, one after the other, for a caller that asks one question at a time. */
export class Answers {
  readonly #answers: unknown[] = [];
  #waiting: ((answer: unknown) => void) | undefined;

  /** Pass it to the process as its `onMessage`. */
  readonly take = (answer: unknown): void => {
    if (this.#waiting === undefined) this.#answers.push(answer);
    else this.#waiting(answer);
    this.#waiting = undefined;
  };

  next(): Promise<unknown> {
    if (this.#answers.length > 0) return Promise.resolve(this.#answers.shift());
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}
