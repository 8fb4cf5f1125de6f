/**
 * What is measured of one transaction: its duration by outcome, and a span with one span for each
 * step.
 *
 *     percolator.transaction    start and commit timestamp, kind, outcome
 *       ├─ percolator.begin               a start timestamp, under the lease
 *       ├─ percolator.prewrite            in two, `.primary` and `.secondaries`, when it runs again
 *       ├─ percolator.timestamp           the commit timestamp
 *       ├─ percolator.notify              only where it is waited for
 *       ├─ percolator.commit.primary      the commit point
 *       └─ percolator.commit.secondaries  in the background: ends after the transaction
 *
 * The transaction of an observer's run is *linked* to the transaction whose commit caused the run,
 * if that was committed in this process: then the notification comes with its span. A notification
 * that a scan has found comes from the storage, with nothing but the commit timestamp of its cause;
 * no span is stored with it. So both spans say the timestamp, and a search for
 * `percolator.commit_timestamp` finds the cause from any process.
 *
 * All of it is done for the operator, so no transaction ends differently because a tracer throws:
 * each call of it is made by `Recorder.attempt`.
 *
 * A user's span that is active where `transact` or `begin` is called becomes the parent. That of a
 * run is none: a worker's runs would all belong to whatever was active when the worker was started.
 */
import { type Attributes, ROOT_CONTEXT, type Span, type SpanContext } from '@opentelemetry/api';
import { SpanStatusCode, trace, type Tracer } from '@opentelemetry/api';
import type { Timestamp } from '../bigtable/index.ts';
import { errorType, type Recorder, stopwatch } from './measured.ts';

export type StepName =
  | 'begin'
  | 'prewrite'
  | 'prewrite.primary'
  | 'prewrite.secondaries'
  | 'timestamp'
  | 'notify'
  | 'commit.primary'
  | 'commit.secondaries';

/** What a run of an observer answers. */
export interface RunCause {
  readonly observer: string;
  /** Of the commit that caused the run. */
  readonly commitTimestamp: Timestamp;
  /** Its span, if it was committed in this process. */
  readonly span: SpanContext | undefined;
}

/** One step of a transaction, as a span. */
export interface TraceStep {
  /** @param error what it has thrown, in a list; none: it has succeeded */
  readonly ends: (...error: readonly [unknown?]) => void;
}

export class TransactionTrace {
  readonly #recorder: Recorder;
  readonly #end: (attributes?: Attributes) => void;
  readonly #tracer: Tracer | undefined;
  readonly #span: Span | undefined;

  constructor(
    recorder: Recorder,
    tracer: Tracer | undefined,
    { kind, cause }: { readonly kind?: string | undefined; readonly cause?: RunCause | undefined },
  ) {
    this.#recorder = recorder;
    this.#end = stopwatch(recorder, 'percolator.transaction.duration', {});
    if (tracer === undefined) return;
    this.#span = recorder.attempt(() => {
      const span = tracer.startSpan('percolator.transaction', {
        attributes: {
          ...(kind !== undefined && kind !== '' && { 'percolator.transaction.kind': kind }),
          ...(cause !== undefined && {
            'percolator.observer.name': cause.observer,
            'percolator.cause.commit_timestamp': cause.commitTimestamp,
          }),
        },
        root: cause !== undefined,
        links: cause?.span === undefined ? [] : [{ context: cause.span }],
      });
      return span.isRecording() ? span : undefined;
    });
    this.#tracer = this.#span && tracer;
  }

  /** For links to this transaction. */
  get spanContext(): SpanContext | undefined {
    return this.#do((span) => span.spanContext());
  }

  /** Begins a step, which `during` ends. Undefined if no spans are wanted. */
  step(name: StepName): TraceStep | undefined {
    const span = this.#do((parent) => {
      const context = trace.setSpan(ROOT_CONTEXT, parent);
      return this.#tracer?.startSpan(`percolator.${name}`, {}, context);
    });
    if (span === undefined) return undefined;
    return {
      ends: (...error) =>
        this.#do(() => {
          if (error.length > 0) {
            span.setAttribute('error.type', errorType(error[0]));
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        }),
    };
  }

  hasBegun(startTimestamp: Timestamp): void {
    this.#do((span) => span.setAttribute('percolator.start_timestamp', startTimestamp));
  }

  /** At the start timestamp, if nothing was written. */
  committed(commitTimestamp: Timestamp, wrote: boolean): void {
    this.#do((span) => span.setAttribute('percolator.commit_timestamp', commitTimestamp));
    this.#ended(wrote ? 'committed' : 'read');
  }

  discarded(): void {
    this.#ended('discarded');
  }

  failed(error: unknown): void {
    const attributes = { 'error.type': errorType(error) };
    this.#do((span) => span.setStatus({ code: SpanStatusCode.ERROR }));
    this.#ended('failed', attributes);
  }

  #ended(outcome: string, attributes: Attributes = {}): void {
    const all = { 'percolator.outcome': outcome, ...attributes };
    this.#end(all);
    this.#do((span) => span.setAttributes(all).end());
  }

  /** Does nothing without a span. */
  #do<T>(act: (span: Span) => T): T | undefined {
    const span = this.#span;
    return span && this.#recorder.attempt(() => act(span));
  }
}

/** Ends the step when the work of its caller has ended. The work itself is not changed. */
export function during<T>(step: TraceStep | undefined, work: Promise<T>): Promise<T> {
  if (step === undefined) return work;
  work.then(
    () => step.ends(),
    (error: unknown) => step.ends(error),
  );
  return work;
}
