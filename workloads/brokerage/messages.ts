/** The messages between the experiment and its client processes: plain data. */
import { decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { sum } from 'simple-statistics';
import { mergeHistograms } from '#results';
import type { EmulatorResult, CustomerLoad } from './driver/customer-emulator.ts';
import type { TransactionRecords, TypeRecord } from './driver/recorder.ts';
import type { Scale } from './model/scale.ts';
import type { TransactionType } from './transactions/index.ts';
import type { DatabaseAddress } from './systems/database.ts';
import type { StoreCounts } from '../harness/watched-stores.ts';

/** What a client receives at its start. */
export interface ClientProcessOptions {
  readonly address: DatabaseAddress;
  readonly scale: Scale;
  readonly seed: number;
  /** Index of this client, from 0. */
  readonly client: number;
  readonly clients: number;
  /** First id for new trades. */
  readonly firstTradeId: number;
  /** When the initial trades ended, by the clock that all processes share. */
  readonly originMs: number;
}

/** Messages to a client, which answers each one when it is done. */
export type ClientOrder = PrepareOrder | RunOrder;
export type ClientAnswer = { readonly kind: 'prepared' } | RunAnswer;

/**
 * Tells the client to forget the limit orders of the last run. If it `cleansUp`, it also cancels
 * those of all clients in the brokerage; if it `collects`, it deletes what earlier runs have left.
 */
export interface PrepareOrder {
  readonly kind: 'prepare';
  readonly cleansUp: boolean;
  readonly collects: boolean;
}

export interface RunOrder {
  readonly kind: 'run';
  readonly load: CustomerLoad;
  /** Times by the clock that all processes share. */
  readonly beginMs: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface RunAnswer extends Omit<EmulatorResult, 'records'> {
  readonly kind: 'finished';
  readonly records: Readonly<Record<TransactionType, TypeAnswer>>;
  /** Calls of the store in the measured interval; null unless they were asked for. */
  readonly store: StoreCounts | null;
}

export interface TypeAnswer extends Omit<TypeRecord, 'histogram'> {
  /** The histogram, compressed. */
  readonly histogram: string;
}

export function encodeRecords(records: TransactionRecords): RunAnswer['records'] {
  return mapTypes(records, ({ histogram, ...rest }) => ({
    ...rest,
    histogram: encodeIntoCompressedBase64(histogram),
  }));
}

/** Merges the measurements of several clients. */
export function mergeRecords(answers: readonly RunAnswer[]): TransactionRecords {
  const [first] = answers;
  if (first === undefined) throw new Error('there are no measurements to merge');
  return mapTypes(first.records, (_, type) => {
    const all = answers.map(({ records }) => records[type]);
    const sumOf = (of: 'ended' | 'rolledBack' | 'conflicts' | 'retried' | 'failed'): number =>
      sum(all.map((one) => one[of]));
    const histograms = all.map(({ histogram }) => decodeFromCompressedBase64(histogram));
    return {
      ended: sumOf('ended'),
      rolledBack: sumOf('rolledBack'),
      conflicts: sumOf('conflicts'),
      retried: sumOf('retried'),
      failed: sumOf('failed'),
      histogram: mergeHistograms(histograms),
    };
  });
}

function mapTypes<A, B>(
  of: Readonly<Record<TransactionType, A>>,
  map: (value: A, type: TransactionType) => B,
): Readonly<Record<TransactionType, B>> {
  const entries = Object.entries(of) as [TransactionType, A][];
  return Object.fromEntries(entries.map(([type, value]) => [type, map(value, type)])) as Record<
    TransactionType,
    B
  >;
}
