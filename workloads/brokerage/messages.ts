/** The messages between the experiment and its client processes: plain data. */
import { decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { mergeHistograms } from '#results';
import type { EmulatorResult, Load } from './driver/customer-emulator.ts';
import type { Records, TypeRecord } from './driver/recorder.ts';
import type { Scale, TransactionType } from './model/index.ts';
import type { DatabaseAddress } from './systems/address.ts';
import type { StoreCounts } from '../harness/stores/store-counts.ts';

/** What a client receives at its start. */
export interface ClientOptions {
  readonly database: DatabaseAddress;
  readonly scale: Scale;
  readonly seed: number;
  /** Index of this client, from 0. */
  readonly client: number;
  readonly clients: number;
  /** First id for new trades: sessions on the same data have different ones. */
  readonly firstTradeId: number;
  /** When the initial trades ended, by the clock that all processes share. */
  readonly originMs: number;
}

/** Messages to a client, which answers each one when it is done. */
export type Order = PrepareOrder | RunOrder;
export type Answer = { readonly kind: 'prepared' } | RunAnswer;

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
  readonly load: Load;
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

export function encodeRecords(records: Records): RunAnswer['records'] {
  return mapTypes(records, ({ histogram, ...rest }) => ({
    ...rest,
    histogram: encodeIntoCompressedBase64(histogram),
  }));
}

/** Merges the measurements of several clients. */
export function mergeRecords(answers: readonly RunAnswer[]): Records {
  const [first] = answers;
  if (first === undefined) throw new Error('there are no measurements to merge');
  return mapTypes(first.records, (_, type) => {
    const all = answers.map(({ records }) => records[type]);
    const sum = (of: 'ended' | 'rolledBack' | 'conflicts' | 'retried' | 'failed'): number =>
      all.reduce((total, one) => total + one[of], 0);
    const histograms = all.map(({ histogram }) => decodeFromCompressedBase64(histogram));
    return {
      ended: sum('ended'),
      rolledBack: sum('rolledBack'),
      conflicts: sum('conflicts'),
      retried: sum('retried'),
      failed: sum('failed'),
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
