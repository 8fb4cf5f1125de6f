/**
 * The messages between the benchmark and its client processes, sent by structured clone, so that
 * bytes stay bytes.
 */
import type { SharedDatabase } from '../harness/processes/index.ts';
import type { EngineSettings } from '../harness/engine-settings.ts';
import type { SliceOptions } from './case.ts';
import type { Dimensions } from './data.ts';
import type { RecordedMessages } from './recorded-messages.ts';

/** What a client receives at its start. */
export interface ClientOptions {
  readonly database: SharedDatabase;
  readonly data: Dimensions;
  readonly engine: EngineSettings;
}

/** All messages but `begin` are answered. */
export type ToClient =
  | { readonly kind: 'begin'; readonly messages: RecordedMessages }
  | { readonly kind: 'prepare'; readonly name: string; readonly share: ClientSlice }
  | { readonly kind: 'run' }
  | { readonly kind: 'report written' };

/** A client's part of a slice. */
export type ClientSlice = Omit<SliceOptions, 'signal'>;

export interface SliceResult {
  readonly kind: 'finished';
  /** By the machine's monotonic clock, like `endedUs`. */
  readonly beganUs: number;
  readonly endedUs: number;
  /** Processor time of the client. */
  readonly cpuUs: number;
}

/** The operation that wrote each row last, as far as this client knows. */
export interface WrittenReport {
  readonly kind: 'written';
  readonly raw: readonly (readonly [row: number, operation: number])[];
  readonly percolator: readonly (readonly [row: number, operation: number])[];
}

export type FromClient = { readonly kind: 'prepared' } | SliceResult | WrittenReport;
