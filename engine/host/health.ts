/**
 * Whether a process does its work now, and if not, why, in one sentence.
 *
 *     live    its event loop turns
 *     ready   it is live, it is not being stopped, and each of its probes has answered in time:
 *
 *             oracle      the storage, and it holds the lease, or watches another's
 *             locks       nothing besides
 *             worker      a timestamp, each table of its observers, no warning against its work
 *             collector   a timestamp, the storage, no warning
 *
 * A process that cannot do its work is not ready, even if nothing is wrong with the process itself:
 * a worker without its table runs nothing, and must not look like one that has nothing to do.
 *
 * Questions cannot load the process: an answer counts for a second, and all that ask meanwhile
 * share it. A probe that has not answered is not asked a second time, for a minute. An event loop
 * that stands still answers nothing, so a monitoring system needs a limit of time; when the loop
 * turns again, the process is not ready for a while, and says how long it stood.
 */
import { type Clock, hasCode, PercolatorError } from '../base/index.ts';
import type { Percolator } from '../database.ts';

/** One thing that must answer. */
export interface Probe {
  /** For the sentence: `the oracle`. */
  readonly of: string;
  /** Resolves to a sentence if it does not work; rejects if it does not answer. */
  readonly ask: () => Promise<string | undefined>;
}

/** Milliseconds in which a probe must answer. Too small: a busy storage is taken for a dead one. */
const ANSWER_MS = 5_000;
/** Milliseconds until a probe that has not answered is asked again: the question may be lost. */
const LOST_MS = 60_000;
/** Milliseconds for which an answer counts. */
const FRESH_MS = 1_000;
/** Milliseconds between two looks whether the event loop turns. */
const LOOK_MS = 100;
/** Milliseconds late at which the event loop has stood still. Too small: any busy host has. */
const STANDSTILL_MS = 2_000;
/** Milliseconds for which a standstill counts. */
const REMEMBERED_MS = 10_000;

interface Asked {
  readonly answer: Promise<string | undefined>;
  readonly sinceMs: number;
}

export class Health {
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #probes: readonly Probe[] | undefined;
  /** Those that have not answered yet, and since when. */
  readonly #asked = new Map<Probe, Asked>();
  #whyStopping: string | undefined;
  #standstill: { readonly lateMs: number; readonly untilMs: number } | undefined;
  #last: { readonly answer: Promise<string | undefined>; readonly untilMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    void this.#watchLoop();
  }

  /** The process has started. Until then it is not ready. */
  started(probes: readonly Probe[]): void {
    this.#probes = probes;
    this.#last = undefined;
  }

  /** From now on it is not ready. */
  stops(why: string): void {
    this.#whyStopping ??= why;
  }

  close(): void {
    this.#over.abort();
  }

  whyNotLive(): string | undefined {
    const { lateMs, untilMs } = this.#standstill ?? { lateMs: 0, untilMs: 0 };
    if (this.#clock.monotonicMs() >= untilMs) return undefined;
    return `the event loop has stood still for ${(lateMs / 1_000).toFixed(1)} s a moment ago`;
  }

  async whyNotReady(): Promise<string | undefined> {
    const why = this.#whyStopping ?? this.whyNotLive();
    if (why !== undefined) return why;
    if (this.#probes === undefined) return 'it is starting';
    const nowMs = this.#clock.monotonicMs();
    if (this.#last === undefined || nowMs >= this.#last.untilMs) {
      const answer = this.#askAll(this.#probes);
      this.#last = { answer, untilMs: nowMs + FRESH_MS };
    }
    return this.#last.answer;
  }

  async #askAll(probes: readonly Probe[]): Promise<string | undefined> {
    const answers = await Promise.all(probes.map((probe) => this.#ask(probe)));
    return answers.find((answer) => answer !== undefined);
  }

  async #ask(probe: Probe): Promise<string | undefined> {
    const { of } = probe;
    const { answer, sinceMs } = this.#askOnce(probe);
    const over = new AbortController();
    const leftMs = sinceMs + ANSWER_MS - this.#clock.monotonicMs();
    const late = this.#clock.sleep(leftMs, over.signal, { background: true }).then(() => {
      const seconds = Math.round((this.#clock.monotonicMs() - sinceMs) / 1_000);
      return `${of} has not answered for ${seconds} s`;
    });
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      return `${of} does not answer (${error instanceof PercolatorError ? error.code : 'a bug'})`;
    } finally {
      over.abort('answered');
    }
  }

  /** The question that has no answer yet, or a new one. */
  #askOnce(probe: Probe): Asked {
    const nowMs = this.#clock.monotonicMs();
    const former = this.#asked.get(probe);
    if (former !== undefined && nowMs < former.sinceMs + LOST_MS) return former;
    const asked = { answer: probe.ask(), sinceMs: nowMs };
    this.#asked.set(probe, asked);
    const end = (): void => {
      if (this.#asked.get(probe) === asked) this.#asked.delete(probe);
    };
    asked.answer.then(end, end);
    return asked;
  }

  async #watchLoop(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const beganMs = this.#clock.monotonicMs();
      await this.#clock.sleep(LOOK_MS, signal, { background: true });
      const nowMs = this.#clock.monotonicMs();
      const lateMs = nowMs - beganMs - LOOK_MS;
      if (lateMs < STANDSTILL_MS) continue;
      this.#standstill = { lateMs, untilMs: nowMs + REMEMBERED_MS };
    }
  }
}

/** What a process that has opened a database must reach: a timestamp, and these tables. */
export function probesOf(percolator: Percolator, tables: readonly string[]): readonly Probe[] {
  const timestamp = async (): Promise<undefined> => {
    await percolator.snapshot().then((snapshot) => snapshot.close());
  };
  const storage = async (): Promise<string | undefined> => {
    if (tables.length === 0) await percolator.store.listTables();
    for (const table of new Set(tables)) {
      const isThere = await percolator.storedName(table).then(
        () => true,
        (error: unknown) => {
          if (hasCode(error, 'TABLE_NOT_FOUND')) return false;
          throw error;
        },
      );
      if (!isThere) return `table ${table}, which observers of this process need, does not exist`;
    }
    return undefined;
  };
  return [
    { of: 'the oracle', ask: timestamp },
    { of: 'the storage', ask: storage },
  ];
}
