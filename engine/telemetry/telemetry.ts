/**
 * Metrics and traces of a process, through the API of OpenTelemetry.
 *
 *     const telemetry = createTelemetry({ meter, tracer });
 *     await openPercolator({ folder: 'data', telemetry });
 *
 * Meter and tracer are handed in, like clock and randomness: the engine looks up no global one.
 * Without a telemetry nothing is measured, and an operation costs one comparison more.
 *
 * What counts already, such as `Percolator.counters`, is read when metrics are collected, and costs
 * nothing in between (`watch`). Only what no counter can hold is recorded when it happens:
 * durations and sizes. One telemetry serves all databases, workers and services of a process;
 * metrics.ts says what becomes of several sources of one metric.
 */
import type {
  Attributes,
  BatchObservableCallback,
  Histogram,
  Meter,
  Observable,
  Tracer,
} from '@opentelemetry/api';
import {
  assert,
  type Clock,
  systemClock,
  unreachable,
  type Warning,
  Warnings,
} from '../base/index.ts';
import { checkOptions, CLOCK, FUNCTION, objectWith, type OptionRules } from '../base/options.ts';
import type { Bigtable } from '../bigtable/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';
import {
  errorType,
  measuredOracle,
  measuredStore,
  type Recorder,
  stopwatch,
  TimestampAges,
} from './measured.ts';
import {
  type HistogramName,
  type Metric,
  METRICS,
  type ReadName,
  ROWS,
  SECONDS,
} from './metrics.ts';
import { type RunCause, TransactionTrace } from './transaction-trace.ts';

export interface TelemetryOptions {
  /** Where metrics go. Default: nowhere. */
  readonly meter?: Meter | undefined;
  /** Where spans go. Default: nowhere. */
  readonly tracer?: Tracer | undefined;
  /** For durations. Default: this machine's. */
  readonly clock?: Clock | undefined;
  /**
   * Called when meter or tracer throws, which changes the outcome of nothing. Default: Node prints
   * the first warning on standard error.
   */
  readonly onWarning?: ((warning: Warning) => unknown) | undefined;
}

const RULES: OptionRules<TelemetryOptions> = {
  meter: objectWith('a meter of OpenTelemetry', { createHistogram: FUNCTION }),
  tracer: objectWith('a tracer of OpenTelemetry', { startSpan: FUNCTION }),
  clock: CLOCK,
  onWarning: FUNCTION,
};

/** One number, read when metrics are collected. */
export interface Reading {
  readonly metric: ReadName;
  /** Undefined: there is no such number now. */
  readonly value: number | undefined;
  readonly attributes?: Attributes;
}

/** @throws INVALID_ARGUMENT for a wrong option */
export function createTelemetry(options: TelemetryOptions): Telemetry {
  checkOptions('createTelemetry', options, RULES);
  return new Telemetry(options);
}

export class Telemetry implements Recorder {
  readonly clock: Clock;
  /** By the measured oracle: timestamps of two databases have no order in common. */
  readonly #ages = new WeakMap<TimestampOracle, TimestampAges>();
  readonly #warnings: Warnings;
  readonly #tracer: Tracer | undefined;
  readonly #histograms = new Map<HistogramName, Histogram>();
  readonly #readings: Readings;
  /** By the store: two databases of one store must see that it is one. */
  readonly #measured = new WeakMap<Bigtable, Bigtable>();

  /** Use `createTelemetry`. */
  constructor({ meter, tracer, clock = systemClock, onWarning }: TelemetryOptions) {
    this.clock = clock;
    this.#warnings = new Warnings(onWarning);
    this.#tracer = tracer;
    this.#readings = new Readings(meter);
    if (meter === undefined) return;
    for (const [name, { kind, unit, description }] of entriesOf(METRICS)) {
      if (kind !== 'histogram') continue;
      const advice = { explicitBucketBoundaries: [...(unit === 's' ? SECONDS : ROWS)] };
      const histogram = meter.createHistogram(name, { unit, description, advice });
      this.#histograms.set(name as HistogramName, histogram);
    }
  }

  record(name: HistogramName, value: number, attributes: Attributes): void {
    const histogram = this.#histograms.get(name);
    if (histogram !== undefined) this.attempt(() => histogram.record(value, attributes));
  }

  attempt<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      const sentence = `a meter or tracer failed, and what it was told of is not affected: ${String(error)}`;
      this.#warnings.begin('telemetry', { kind: 'callback', sentence, error });
      return undefined;
    }
  }

  /**
   * Reads the numbers whenever metrics are collected, until the returned function is called; what
   * has been counted by then counts on.
   */
  watch(read: () => readonly Reading[]): () => void {
    return this.#readings.watch(read);
  }

  /** The store, each call measured. */
  storeOf(store: Bigtable): Bigtable {
    const measured = this.#measured.get(store) ?? measuredStore(this, store);
    this.#measured.set(store, measured);
    return measured;
  }

  /** The oracle, each wait for a timestamp measured. */
  oracleOf(oracle: TimestampOracle): TimestampOracle {
    const ages = new TimestampAges(this.clock);
    const measured = measuredOracle(this, ages, oracle);
    this.#ages.set(measured, ages);
    return measured;
  }

  /** A database calls its measured oracle by an object of its own, whose ages are the same. */
  isCalledBy(oracle: TimestampOracle, caller: TimestampOracle): void {
    const ages = this.#ages.get(oracle);
    if (ages !== undefined) this.#ages.set(caller, ages);
  }

  /**
   * How long ago timestamps were handed out, as far as this process knows.
   * @param oracle what `oracleOf` returned, or what calls that
   */
  agesOf(oracle: TimestampOracle): TimestampAges {
    const ages = this.#ages.get(oracle);
    assert(ages !== undefined, 'the oracle is measured');
    return ages;
  }

  /** A transaction of a user begins. */
  transaction(kind: string | undefined): TransactionTrace {
    return new TransactionTrace(this, this.#tracer, { kind });
  }

  /** A transaction of an observer's run begins. */
  run(kind: string, cause: RunCause): TransactionTrace {
    return new TransactionTrace(this, this.#tracer, { kind, cause });
  }

  /** An observer begins to run for a cell. The function says how that ended. */
  observerRuns(observer: string): ObserverRunEnds {
    const name = 'percolator.observer.run.duration';
    const end = stopwatch(this, name, { 'percolator.observer.name': observer });
    return (outcome, error) =>
      end({
        'percolator.outcome': outcome,
        ...(outcome === 'failed' && { 'error.type': errorType(error) }),
      });
  }
}

/** How many of each kind are not over. */
export function readingsOfWarnings(warnings: readonly Warning[]): readonly Reading[] {
  return warnings.map(({ kind }) => ({
    metric: 'percolator.warning.active',
    value: 1,
    attributes: { 'percolator.warning': kind },
  }));
}

/** `clean`: there was nothing to do. */
type ObserverRunEnds = (outcome: 'committed' | 'clean' | 'failed', error?: unknown) => void;

/** Everything that is read when metrics are collected. */
class Readings {
  readonly #sources = new Set<() => readonly Reading[]>();
  /** Counts of sources that have ended. */
  readonly #ended = new Totals();
  /** What was observed last. An SDK goes on reporting it until something else is observed. */
  #last = new Totals();
  readonly #observables = new Map<ReadName, Observable>();

  constructor(meter: Meter | undefined) {
    if (meter === undefined) return;
    for (const [name, metric] of entriesOf(METRICS)) {
      const observable = observableOf(meter, name, metric);
      if (observable !== undefined) this.#observables.set(name as ReadName, observable);
    }
    meter.addBatchObservableCallback(this.#observe, [...this.#observables.values()]);
  }

  watch(read: () => readonly Reading[]): () => void {
    this.#sources.add(read);
    return () => {
      if (!this.#sources.delete(read)) return;
      for (const reading of read()) {
        if (METRICS[reading.metric].kind === 'counter') this.#ended.add(reading);
      }
    };
  }

  readonly #observe: BatchObservableCallback = (result) => {
    const totals = new Totals(this.#ended);
    for (const read of this.#sources) for (const reading of read()) totals.add(reading);
    totals.addNothingFor(this.#last);
    this.#last = totals;
    for (const { metric, value, attributes } of totals.all) {
      const observable = this.#observables.get(metric);
      if (observable !== undefined && value !== undefined) {
        result.observe(observable, value, attributes);
      }
    }
  };
}

function observableOf(meter: Meter, name: string, metric: Metric): Observable | undefined {
  const { kind, unit, description } = metric;
  switch (kind) {
    case 'histogram':
      return undefined;
    case 'counter':
      return meter.createObservableCounter(name, { unit, description });
    case 'sum':
      return meter.createObservableUpDownCounter(name, { unit, description });
    case 'largest':
    case 'smallest':
      return meter.createObservableGauge(name, { unit, description });
    default:
      return unreachable(kind);
  }
}

/** Readings of one metric with the same attributes become one. */
class Totals {
  readonly #totals: Map<string, Reading>;

  constructor(base?: Totals) {
    this.#totals = new Map(base === undefined ? [] : base.#totals);
  }

  get all(): Iterable<Reading> {
    return this.#totals.values();
  }

  /** Whatever `others` have and this lacks is nothing now. */
  addNothingFor(others: Totals): void {
    for (const [key, reading] of others.#totals) {
      if (this.#totals.has(key)) continue;
      const value = METRICS[reading.metric].kind === 'smallest' ? Number.NaN : 0;
      this.#totals.set(key, { ...reading, value });
    }
  }

  add(reading: Reading): void {
    const { metric, value, attributes } = reading;
    if (value === undefined) return;
    const key = attributes === undefined ? metric : `${metric} ${JSON.stringify(attributes)}`;
    const before = this.#totals.get(key)?.value;
    const total = before === undefined ? value : combined(METRICS[metric].kind, before, value);
    this.#totals.set(key, { ...reading, value: total });
  }
}

function combined(kind: Metric['kind'], one: number, other: number): number {
  if (kind === 'largest') return Math.max(one, other);
  return kind === 'smallest' ? Math.min(one, other) : one + other;
}

function entriesOf<K extends string, V>(record: Readonly<Record<K, V>>): readonly [K, V][] {
  return Object.entries(record) as [K, V][];
}
