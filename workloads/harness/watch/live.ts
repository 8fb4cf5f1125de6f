/**
 * What a script and its processes show of themselves while they run, if it was started with
 * `--watch`; otherwise nothing here does anything.
 *
 *     the script ──▶ live.show(probes), live.event('kill -9')
 *     its processes ──▶ live.show(probes): told to the script by the channel that they have
 *        │ once a second
 *        ▼
 *     the timeline, for the record ──▶ a thread, which serves the page (viewers-thread.ts)
 *
 * A process has one page, as it has one terminal, so `live` is not handed down. The thread also has
 * the clock: of a viewer, and of the drawing of a page, the script notices nothing but the time of
 * the processor that they take.
 */
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { type RunRecord, type Timeline, UsageError } from '#results';
import type { Progress } from '../command-line/progress.ts';
import { joined, type Probe, ProbeReader, type Reading } from './probes.ts';
import { GrowingTimeline, type Sample } from './timeline.ts';

/** In the environment of the processes of a watched run. */
const WATCHED = 'PERCOLATOR_BENCH_WATCHED';
const SECOND_MS = 1_000;
/** What a process said counts for so long: one that is busy, or was killed, says nothing. */
const TOLD_MS_MAX = 3_000;
/** How long the last viewers may take to receive the report, in milliseconds. */
const END_MS_MAX = 3_000;

/** What a process of a run tells the script. */
export interface LiveMessage {
  readonly kind: 'live';
  readonly reading: Reading;
}

/** The run of this process that is watched, or the way to the process that has it. */
let shown: Shown | undefined;

type Shown = Pick<WatchedRun, 'show' | 'event' | 'phase'>;

const NOTHING: Disposable = { [Symbol.dispose]: () => {} };

export const live = {
  /** Whether it is worth the while to prepare something for a probe. */
  get isWatched(): boolean {
    return shown !== undefined || process.env[WATCHED] === '1';
  },

  /** Shows these until they are disposed of. */
  show(probes: readonly Probe[]): Disposable {
    if (process.env[WATCHED] === '1' && process.send !== undefined) shown ??= toldToParent();
    return shown?.show(probes) ?? NOTHING;
  },

  /** Something that happens now, in a few words. */
  event(label: string): void {
    shown?.event(label);
  },

  /** What is measured from now on, in a few words, within the phase of the progress. */
  phase(label: string): void {
    shown?.phase(label);
  },
};

function toldToParent(): Shown {
  const reader = new ProbeReader();
  let lastMs = performance.now();
  setInterval(() => {
    const nowMs = performance.now();
    const reading = reader.read((nowMs - lastMs) / 1000);
    lastMs = nowMs;
    const message = { kind: 'live', reading } satisfies LiveMessage;
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  }, SECOND_MS).unref();
  return { show: (probes) => reader.show(probes), event: () => {}, phase: () => {} };
}

/** To be called with what a process of this run has told. @param from the process */
export function hearLive(from: object, { reading }: LiveMessage): void {
  if (shown instanceof WatchedRun) shown.hear(from, reading);
}

/** To be called when a process has ended: what it told counts no more. */
export function forgetLive(from: object): void {
  if (shown instanceof WatchedRun) shown.forget(from);
}

export function isLive(message: unknown): message is LiveMessage {
  return (message as { readonly kind?: unknown } | null)?.kind === 'live';
}

/** What the thread is told. Times are seconds since the run began. */
export type ToViewers =
  | { readonly kind: 'record'; readonly record: RunRecord }
  | {
      readonly kind: 'second';
      readonly seconds: number;
      readonly samples: readonly Sample[];
      readonly status: string;
    }
  | { readonly kind: 'event'; readonly seconds: number; readonly label: string }
  | { readonly kind: 'phase'; readonly seconds: number; readonly label: string | undefined }
  /** The record is the last one; `line` says so to the viewers. */
  | { readonly kind: 'end'; readonly line: string };

/** What it says. */
export type FromViewers =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'refused'; readonly sentence: string }
  /** A second has passed. */
  | { readonly kind: 'second'; readonly cores: readonly Sample[] };

interface Told {
  readonly atMs: number;
  readonly samples: readonly Sample[];
  timesUs: Reading['timesUs'];
}

export class WatchedRun {
  readonly #thread: Worker;
  readonly #startedMs = performance.now();
  readonly #reader = new ProbeReader();
  readonly #timeline = new GrowingTimeline();
  readonly #told = new Map<object, Told>();
  readonly #ended: Promise<void>;
  #lastMs = performance.now();
  #isOver = false;
  #phase: string | undefined;
  /** What the line at the top of the page says of the phase. */
  status: () => string = () => 'beginning';

  private constructor(thread: Worker) {
    this.#thread = thread;
    this.#ended = new Promise((resolve) => void thread.once('exit', () => resolve()));
  }

  /**
   * Serves the page at the port of the loopback interface; 0 is a free one.
   * @throws UsageError if the port is taken
   */
  static async open(port: number, say: (line: string) => void): Promise<WatchedRun> {
    const thread = new Worker(new URL('viewers-thread.ts', import.meta.url), {
      workerData: { port, pid: process.pid },
    });
    const run = new WatchedRun(thread);
    const url = await run.#listen();
    thread.unref(); // A page keeps no script alive.
    // Nothing samples without it, and what other processes tell would grow.
    thread.on('error', (error) => {
      say(`The page of --watch has ended: ${error.message}`);
      run.#isOver = true;
      if (shown === run) shown = undefined;
    });
    say(`Watch it at ${url}`);
    process.env[WATCHED] = '1';
    shown = run;
    return run;
  }

  get timeline(): Timeline {
    return this.#timeline.timeline;
  }

  show(probes: readonly Probe[]): Disposable {
    return this.#reader.show(probes);
  }

  event(label: string): void {
    const seconds = this.#seconds();
    this.#timeline.event(seconds, label);
    this.#tell({ kind: 'event', seconds, label });
  }

  phase(label?: string): void {
    this.#phase = label;
    const seconds = this.#seconds();
    this.#timeline.phase(seconds, label);
    this.#tell({ kind: 'phase', seconds, label });
  }

  readonly onRecord = (record: RunRecord): void => this.#tell({ kind: 'record', record });

  /** What another process read. Its times wait for the next second here. */
  hear(from: object, { samples, timesUs }: Reading): void {
    const waiting = this.#told.get(from)?.timesUs ?? {};
    const names = [...Object.keys(waiting), ...Object.keys(timesUs)];
    const all = names.map((name) => [name, [...(waiting[name] ?? []), ...(timesUs[name] ?? [])]]);
    this.#told.set(from, {
      atMs: performance.now(),
      samples,
      timesUs: Object.fromEntries(all) as Reading['timesUs'],
    });
  }

  forget(from: object): void {
    this.#told.delete(from);
  }

  /** The viewers receive the report, for a few seconds at most. */
  async end(line: string): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    shown = undefined;
    delete process.env[WATCHED];
    this.#tell({ kind: 'end', line });
    const late = setTimeout(() => void this.#thread.terminate(), END_MS_MAX);
    this.#thread.ref();
    await this.#ended;
    clearTimeout(late);
  }

  async #listen(): Promise<string> {
    const listening = Promise.withResolvers<string>();
    this.#thread.on('message', (message: FromViewers) => {
      if (message.kind === 'second') this.#sample(message.cores);
      else if (message.kind === 'listening') listening.resolve(message.url);
      else listening.reject(new UsageError(message.sentence));
    });
    this.#thread.once('error', listening.reject);
    return listening.promise;
  }

  #sample(cores: readonly Sample[]): void {
    if (this.#isOver) return;
    const nowMs = performance.now();
    const own = this.#reader.read((nowMs - this.#lastMs) / 1000);
    this.#lastMs = nowMs;
    const samples = [...joined([own, ...this.#takeTold(nowMs)]), ...cores];
    const seconds = this.#seconds();
    this.#timeline.add(seconds, samples);
    this.#tell({ kind: 'second', seconds, samples, status: this.#words() });
  }

  #takeTold(nowMs: number): readonly Reading[] {
    const readings: Reading[] = [];
    for (const [from, told] of this.#told) {
      if (nowMs - told.atMs > TOLD_MS_MAX) this.#told.delete(from);
      else readings.push({ samples: told.samples, timesUs: told.timesUs });
      told.timesUs = {};
    }
    return readings;
  }

  #words(): string {
    const status = this.status();
    const phase = this.#phase ?? '';
    return phase === '' || status.startsWith(phase) ? status : `${phase}; ${status}`;
  }

  #seconds(): number {
    return Math.round((performance.now() - this.#startedMs) / 10) / 100;
  }

  #tell(message: ToViewers): void {
    this.#thread.postMessage(message);
  }
}

/** So many of something have a throughput; a few points have none. */
const MANY = 100;

/** A progress whose phases are also those of the timeline, and whose units are its throughput. */
export function watchedProgress(progress: Progress, run: WatchedRun): Progress {
  let unitShown: Disposable = NOTHING;
  let done = 0;
  return {
    phase: (name, total, unit = '') => {
      unitShown[Symbol.dispose]();
      done = 0;
      run.phase(name);
      run.status = () => statusOf(name, { done, total, unit });
      progress.phase(name, total, unit);
      const isMany = unit !== '' && (total === 0 || total >= MANY);
      unitShown = isMany
        ? run.show([{ panel: 'throughput', series: unit, rate: () => done }])
        : NOTHING;
    },
    update: (amount) => {
      done = amount;
      progress.update(amount);
    },
    note: (line) => progress.note(line),
    end: () => {
      unitShown[Symbol.dispose]();
      run.phase();
      progress.end();
    },
  };
}

interface Done {
  readonly done: number;
  readonly total: number;
  readonly unit: string;
}

function statusOf(name: string, { done, total, unit }: Done): string {
  const of = total > 0 ? ` of ${total.toLocaleString('en')}` : '';
  return done === 0 && total === 0 ? name : `${name}: ${done.toLocaleString('en')}${of} ${unit}`;
}
