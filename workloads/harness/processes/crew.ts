/**
 * The processes of an experiment: all are needed, so the end of one is the end of the run.
 *
 *     await using crew = new Crew(signal);
 *     const oracle = await crew.start({ name: 'oracle', program, options });
 *     await crew.during(measure());     // Rejects as soon as a process has ended, and says which, and what it said.
 *     await crew.stop();                // In good order, the last one first.
 *
 * However the block is left, no process is: what has not been stopped is killed. If we are killed
 * ourselves, the processes see to it (serve.ts).
 */
import { systemClock } from '#engine';
import { type End, Member, type MemberOptions } from './member.ts';

export interface CrewTimes {
  /** How long a process may take until it is ready, in milliseconds. Default 60,000. */
  readonly readyMsMax?: number | undefined;
  /** How long it may take to stop. Default 30,000. */
  readonly stopMsMax?: number | undefined;
}

export class Crew implements AsyncDisposable {
  readonly #signal: AbortSignal;
  readonly #readyMsMax: number;
  readonly #stopMsMax: number;
  /** In the order in which they were started. */
  readonly #members = new Set<Member>();
  /** Rejected by the first end that was not meant to be, and by the signal. */
  readonly #failed = Promise.withResolvers<never>();
  /** Those that were asked to stop, or were killed: their end is no surprise. */
  readonly #leaving = new Set<Member>();

  constructor(signal: AbortSignal, { readyMsMax = 60_000, stopMsMax = 30_000 }: CrewTimes = {}) {
    this.#signal = signal;
    this.#readyMsMax = readyMsMax;
    this.#stopMsMax = stopMsMax;
    this.#failed.promise.catch(() => {}); // Whoever waits in `during` hears of it.
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * Resolves when the process is ready.
   * @throws an error that names the process, if it ends or takes too long; or why the signal was aborted
   */
  async start(options: MemberOptions): Promise<Member> {
    this.#signal.throwIfAborted();
    const member = new Member(options);
    this.#members.add(member);
    void member.ended.then((end) => this.#onEnd(member, end));
    await this.during(this.#untilReady(member));
    return member;
  }

  /** Of all that are alive, in the order in which they were started. */
  get pids(): readonly number[] {
    return [...this.#members].map(({ pid }) => pid);
  }

  /** As `work`; but rejects as soon as a process has ended that should not have, or the signal is aborted. */
  during<T>(work: Promise<T>): Promise<T> {
    return Promise.race([this.#failed.promise, work]);
  }

  /**
   * Stops some of them, or all, one after the other and the last one first: who was started first, others
   * may need to the end. Resolves with how they ended.
   * @throws an error that names the first one that did not end in good order
   */
  async stop(members: readonly Member[] = [...this.#members]): Promise<readonly End[]> {
    const ends: End[] = [];
    for (const member of members.toReversed()) {
      this.#leaving.add(member);
      const end = await this.during(member.stop(this.#stopMsMax));
      if (!end.isOrderly) throw new Error(`when it was asked to stop, ${end.description}`);
      ends.push(end);
    }
    return ends;
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
    late.catch(() => {}); // The race below has it.
    try {
      await Promise.race([member.ready, late]);
    } finally {
      over.abort();
    }
  }
}
