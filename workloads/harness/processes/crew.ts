/**
 * The processes of an experiment. The run ends when one of them ends unexpectedly: without having
 * been stopped or killed by the crew.
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
import { type End, Member, type MemberOptions } from './member.ts';

export interface CrewTimes {
  /** How long a process may take until it is ready, in milliseconds. Default 60,000. */
  readonly readyMsMax?: number | undefined;
  /** How long a process may take to stop, in milliseconds. Default 30,000. */
  readonly stopMsMax?: number | undefined;
}

export class Crew implements AsyncDisposable {
  readonly #signal: AbortSignal;
  readonly #readyMsMax: number;
  readonly #stopMsMax: number;
  /** The live processes, in start order. */
  readonly #members = new Set<Member>();
  /** The first unexpected end rejects it, and so does the signal. */
  readonly #failed = Promise.withResolvers<never>();
  /** Processes that were asked to stop, or were killed: their end is expected. */
  readonly #leaving = new Set<Member>();

  constructor(signal: AbortSignal, { readyMsMax = 60_000, stopMsMax = 30_000 }: CrewTimes = {}) {
    this.#signal = signal;
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
    const member = new Member(options);
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
      throw new Error(`${member.name} (process ${member.pid}) was not ready after ${seconds} s`);
    });
    late.catch(() => {}); // The race below reports it.
    try {
      await Promise.race([member.ready, late]);
    } finally {
      over.abort();
    }
  }
}
