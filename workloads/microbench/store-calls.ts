/**
 * Watches the calls of a storage that read or mutate rows: their number, sizes and contents.
 *
 * No time is measured through it; it counts in a pass of its own, because counting takes time.
 */
import { type Bigtable, decorate } from '#engine';

const METHODS = [
  'readRow',
  'readRows',
  'readRange',
  'checkAndMutateRow',
  'checkAndMutateRows',
  'mutateRows',
] as const;

export type StoreMethod = (typeof METHODS)[number];

export interface StoreCall {
  readonly method: StoreMethod;
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
  return Object.values(value).reduce((sum: number, part) => sum + bytesIn(part), 0);
}
