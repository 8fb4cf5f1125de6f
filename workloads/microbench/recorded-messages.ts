/**
 * The calls of a storage, watched: counted, and those of a transaction recorded once and sent again
 * without the engine, which shows the cost of the storage alone.
 *
 *     read       one column, as a snapshot reads it: lock, write record and data in one read
 *     prewrite   the conditional mutation that locks one cell
 *     commit     the conditional mutation that turns its lock into a write record
 *
 * So the decomposition sends the storage exactly the engine's requests, including filters and
 * bytes, even when the engine changes. No time is measured while calls are watched, because that
 * takes time.
 */
import { sum } from 'simple-statistics';
import {
  type Bigtable,
  decorate,
  entropySeed,
  localProcesses,
  openPercolator,
  type PercolatorOptions,
} from '#engine';

const METHODS = [
  'readRow',
  'readRows',
  'readRange',
  'checkAndMutateRow',
  'checkAndMutateRows',
  'mutateRows',
] as const;

interface StoreCall {
  readonly method: (typeof METHODS)[number];
  /** The arguments of the method. */
  readonly given: readonly unknown[];
  /** The value that it resolved to. */
  readonly answer: unknown;
}

/** The same storage; each call of one of `METHODS` is passed to `onCall` when it has succeeded. */
export function watchCalls(store: Bigtable, onCall: (call: StoreCall) => void): Bigtable {
  const watched = METHODS.map((method) => [
    method,
    async (...given: unknown[]) => {
      const answer: unknown = await Reflect.apply(store[method], store, given);
      onCall({ method, given, answer });
      return answer;
    },
  ]);
  return decorate(store, Object.fromEntries(watched) as Partial<Bigtable>);
}

export interface CallCounts {
  calls: number;
  /** Of all texts, values, numbers (8) and flags (1) in the arguments, before any encoding. */
  bytesSent: number;
  /** The same of the answers. */
  bytesReceived: number;
}

/** Adds a call to `counts`. */
export function countCall(counts: CallCounts, { given, answer }: StoreCall): void {
  counts.calls++;
  counts.bytesSent += bytesIn(given);
  counts.bytesReceived += bytesIn(answer);
}

function bytesIn(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return 8;
  if (typeof value === 'boolean') return 1;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 0;
  return sum(Object.values(value).map((part) => bytesIn(part)));
}

export type Conditional = Parameters<Bigtable['checkAndMutateRow']>[0];
export type Filters = Parameters<Bigtable['readRow']>[2];

export interface RecordedMessages {
  readonly readFilters: Filters;
  readonly prewrite: Conditional;
  readonly commit: Conditional;
  readonly startTimestamp: number;
  readonly commitTimestamp: number;
}

/** A process number above those that operating systems assign. */
const NO_PROCESS = 2 ** 31 - 1;

/** Commits one cell and reads it, in an existing table. */
export async function recordMessages(
  { store, oracle }: { readonly store: Bigtable } & Pick<PercolatorOptions, 'oracle'>,
  cell: { readonly table: string; readonly row: string; readonly column: string },
  value: Uint8Array,
): Promise<RecordedMessages> {
  const calls: StoreCall[] = [];
  const ofCell = (call: StoreCall): boolean => JSON.stringify(call.given).includes(cell.row);
  const watched = watchCalls(store, (call) => {
    if (ofCell(call)) calls.push(call);
  });
  await using percolator = await openPercolator({
    store: watched,
    oracle,
    liveness: endedProcess(),
  });
  await percolator.transact(async (transaction) => {
    transaction.set(cell, value);
  });
  await percolator.settled();
  const [prewriteCall, commitCall] = calls.splice(0);
  await using snapshot = await percolator.snapshot();
  await snapshot.get(cell);
  const [readCall] = calls;
  return recordedOf(readCall, prewriteCall, commitCall);
}

/**
 * A run that ends early leaves prewrites without their commits. Their locks name this owner: if it
 * lived, dropping the table would wait for each of them until its time to live has passed.
 */
function endedProcess(): NonNullable<PercolatorOptions['liveness']> {
  const local = localProcesses(String(entropySeed()));
  return { ...local, self: local.self.replace(`/${process.pid}/`, `/${NO_PROCESS}/`) };
}

function recordedOf(
  readCall: StoreCall | undefined,
  prewriteCall: StoreCall | undefined,
  commitCall: StoreCall | undefined,
): RecordedMessages {
  const prewrite = prewriteCall && conditionalOf(prewriteCall);
  const commit = commitCall && conditionalOf(commitCall);
  const startTimestamp = timestampSet(prewrite?.ifNotFound, 'lock');
  const commitTimestamp = timestampSet(commit?.ifFound, 'write');
  if (prewrite === undefined || commit === undefined || readCall?.method !== 'readRow') {
    throw new Error('a transaction of one cell no longer sends two conditional mutations');
  }
  const readFilters = readCall.given[2] as Filters;
  return { readFilters, prewrite, commit, startTimestamp, commitTimestamp };
}

function conditionalOf({ method, given }: StoreCall): Conditional | undefined {
  if (method === 'checkAndMutateRow') return given[0] as Conditional;
  if (method === 'checkAndMutateRows') return (given[0] as readonly Conditional[])[0];
  return undefined;
}

function timestampSet(mutations: Conditional['ifFound'], kind: string): number {
  const found = mutations?.find((one) => one.kind === 'set' && one.qualifier.endsWith(`:${kind}`));
  if (found?.kind !== 'set') throw new Error(`the recorded mutation sets no ${kind}`);
  return found.timestamp;
}

/** The same message for another row, at other timestamps. */
export function sendAs(
  recorded: RecordedMessages,
  message: 'prewrite' | 'commit',
  as: { readonly row: string; readonly startTimestamp: number; readonly commitTimestamp: number },
): Conditional {
  const { anyOf, ifFound, ifNotFound } = recorded[message];
  const at = (timestamp: number): number => {
    if (timestamp === recorded.startTimestamp) return as.startTimestamp;
    return timestamp === recorded.commitTimestamp ? as.commitTimestamp : timestamp;
  };
  return {
    ...recorded[message],
    row: as.row,
    anyOf: anyOf.map((filter) => movedFilter(filter, at)),
    ifFound: ifFound?.map((mutation) => moved(mutation, at)),
    ifNotFound: ifNotFound?.map((mutation) => moved(mutation, at)),
  };
}

type Filter = Filters[number];

function movedFilter(filter: Filter, at: (timestamp: number) => number): Filter {
  const { from, to } = filter;
  const moveOne = (timestamp: number | undefined): number | undefined =>
    timestamp === undefined ? undefined : at(timestamp);
  return { ...filter, from: moveOne(from), to: moveOne(to) };
}

type Mutation = NonNullable<Conditional['ifFound']>[number];

function moved(mutation: Mutation, at: (timestamp: number) => number): Mutation {
  return mutation.kind === 'set'
    ? { ...mutation, timestamp: at(mutation.timestamp) }
    : { ...mutation, from: at(mutation.from), to: at(mutation.to) };
}
