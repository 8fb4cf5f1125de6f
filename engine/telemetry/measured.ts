/**
 * The storage and the oracle, measured: decorators, so that neither measures itself.
 *
 *     transactions ──▶ batching ──▶ measured ──▶ storage      each call that is really sent
 *     transactions ──▶ measured ──▶ oracle                    each timestamp that is waited for
 *
 * A measured call is sent in the same turn of the event loop, and its promise is the storage's own:
 * neither the order of mutations nor the turn in which a refusal is seen changes (commit.ts relies
 * on both).
 */
import type { Attributes } from '@opentelemetry/api';
import { type Clock, PercolatorError } from '../base/index.ts';
import { type Bigtable, decorate, type Timestamp } from '../bigtable/index.ts';
import { type TimestampOracle, withNext } from '../oracle/index.ts';
import type { HistogramName } from './metrics.ts';

/** Where measurements go. */
export interface Recorder {
  readonly clock: Clock;
  record(name: HistogramName, value: number, attributes: Attributes): void;
  /** Makes a call of a meter or tracer. Undefined if it throws, which only a warning says. */
  attempt<T>(call: () => T): T | undefined;
}

/**
 * What `error.type` says: the code of a `PercolatorError`, otherwise the class. No message: it may
 * hold a user's data.
 */
export function errorType(error: unknown): string {
  if (error instanceof PercolatorError) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}

/** Records seconds since this call, under `name`, when `ended` is called. */
export function stopwatch(
  recorder: Recorder,
  name: HistogramName,
  attributes: Attributes,
): (more?: Attributes) => void {
  const sinceMs = recorder.clock.monotonicMs();
  return (more) => {
    const seconds = (recorder.clock.monotonicMs() - sinceMs) / 1_000;
    recorder.record(name, seconds, more === undefined ? attributes : { ...attributes, ...more });
  };
}

export function measuredStore(recorder: Recorder, store: Bigtable): Bigtable {
  /** Measures the call; the rows are those of the answer, unless they are given. */
  function measured<T>(
    operation: string,
    call: () => Promise<T>,
    { rows, of = () => ({}) }: Measuring<T> = {},
  ): Promise<T> {
    const attributes = { 'db.operation.name': operation };
    const end = stopwatch(recorder, 'percolator.store.call.duration', attributes);
    const sizeIs = (count: number): void =>
      recorder.record('percolator.store.call.rows', count, attributes);
    if (rows !== undefined) sizeIs(rows);
    const answer = call();
    answer.then(
      (value) => {
        const { found, error } = of(value);
        end(error === undefined ? undefined : { 'error.type': errorType(error) });
        if (found !== undefined) sizeIs(found);
      },
      (error: unknown) => end({ 'error.type': errorType(error) }),
    );
    return answer;
  }
  return decorate(store, {
    readRow: (...given) => measured('readRow', () => store.readRow(...given), { rows: 1 }),
    readRows: (table, rows, filters) =>
      measured('readRows', () => store.readRows(table, rows, filters), { rows: rows.length }),
    readRange: (...given) =>
      measured('readRange', () => store.readRange(...given), {
        of: ({ length: found }) => ({ found }),
      }),
    checkAndMutateRow: (conditional) =>
      measured('checkAndMutateRow', () => store.checkAndMutateRow(conditional), { rows: 1 }),
    checkAndMutateRows: (conditionals) =>
      measured('checkAndMutateRows', () => store.checkAndMutateRows(conditionals), {
        rows: conditionals.length,
        of: (answers) => ({ error: answers.find((answer) => answer instanceof Error) }),
      }),
    mutateRows: (rows) =>
      measured('mutateRows', () => store.mutateRows(rows), { rows: rows.length }),
    sampleRowKeys: (table) => measured('sampleRowKeys', () => store.sampleRowKeys(table)),
    createTable: (...given) => measured('createTable', () => store.createTable(...given)),
    listTables: () => measured('listTables', () => store.listTables()),
    dropTable: (table) => measured('dropTable', () => store.dropTable(table)),
  });
}

interface Measuring<T> {
  readonly rows?: number;
  /** What an answer says: how many rows were found, and an error in it. */
  readonly of?: (answer: T) => { readonly found?: number; readonly error?: unknown };
}

export function measuredOracle(
  recorder: Recorder,
  ages: TimestampAges,
  oracle: TimestampOracle,
): TimestampOracle {
  return withNext(oracle, () => {
    const end = stopwatch(recorder, 'percolator.timestamp.duration', {});
    const answer = oracle.next();
    answer.then(
      (timestamp) => {
        end();
        ages.note(timestamp);
      },
      (error: unknown) => end({ 'error.type': errorType(error) }),
    );
    return answer;
  });
}

/*
 * How long ago a timestamp was handed out: timestamps count, and do not tell the time.
 *
 * The process notes when it receives a timestamp, once in a while. Of an older timestamp it then
 * knows that it was handed out before the first noted one above it. So an age is a lower bound: too
 * small by the distance of two notes, and never more than the time since the first note. That is
 * what an alarm needs. All notes are this process's own, so no clock of another host counts.
 */

interface Note {
  readonly timestamp: Timestamp;
  readonly ms: number;
}

/** Milliseconds between two notes, at first. Doubles each time that there are too many. */
const APART_MS = 1_000;
/** Enough for an hour by the second, then for two hours by two seconds, and so on. */
const NOTES_MAX = 3_600;

export class TimestampAges {
  readonly #clock: Clock;
  /** Both numbers only grow. */
  #notes: Note[] = [];
  #apartMs = APART_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a note is due. */
  get isDue(): boolean {
    const last = this.#notes.at(-1);
    return last === undefined || this.#clock.monotonicMs() - last.ms >= this.#apartMs;
  }

  /** The timestamp was just handed out. */
  note(timestamp: Timestamp): void {
    if (!this.isDue || timestamp <= (this.#notes.at(-1)?.timestamp ?? 0)) return;
    this.#notes.push({ timestamp, ms: this.#clock.monotonicMs() });
    if (this.#notes.length <= NOTES_MAX) return;
    this.#notes = this.#notes.filter((_, i) => i % 2 === 0);
    this.#apartMs *= 2;
  }

  /** At least how many seconds ago; 0 if that is not known. */
  secondsSince(timestamp: Timestamp): number {
    let [low, high] = [0, this.#notes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#notes[middle]?.timestamp ?? 0) > timestamp) high = middle;
      else low = middle + 1;
    }
    const above = this.#notes[low];
    return above === undefined ? 0 : (this.#clock.monotonicMs() - above.ms) / 1_000;
  }
}
