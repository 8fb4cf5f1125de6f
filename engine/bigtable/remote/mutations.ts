/** Converts the contract's mutations to Bigtable's, and splits them into calls. */
import type { protos } from '@google-cloud/bigtable-api';
import { unreachable } from '../../base/index.ts';
import { type Mutation, type RowMutation, TIMESTAMP_MAX } from '../bigtable.ts';
import type { MutateRowsEntry } from './data-calls.ts';
import { toMicros } from './micros.ts';

type ProtoMutation = protos.google.bigtable.v2.IMutation;

/** The maximum of one row, and of one call. */
export const MUTATIONS_MAX = 100_000;
/**
 * Limits of a call with several rows: it should not take long, and its failure should not cost
 * much.
 */
const BATCH_MUTATIONS = 10_000;
const BATCH_BYTES = 4 << 20;
/** Approximate size of a mutation in addition to its value. */
const MUTATION_BYTES = 64;

export function toProto(mutation: Mutation): ProtoMutation {
  const { family: familyName } = mutation;
  const columnQualifier = Buffer.from(mutation.qualifier);
  switch (mutation.kind) {
    case 'set': {
      const { value } = mutation;
      const timestampMicros = toMicros(mutation.timestamp);
      return { setCell: { familyName, columnQualifier, timestampMicros, value } };
    }
    case 'erase': {
      const { from, to } = mutation;
      const timeRange = {
        ...(from > 0 ? { startTimestampMicros: toMicros(from) } : {}),
        // The end is exclusive; if absent, the range is open.
        ...(to < TIMESTAMP_MAX ? { endTimestampMicros: toMicros(to + 1) } : {}),
      };
      return { deleteFromColumn: { familyName, columnQualifier, timeRange } };
    }
    default:
      return unreachable(mutation);
  }
}

export interface Batch {
  readonly table: string;
  readonly entries: MutateRowsEntry[];
}

/**
 * Splits rows into calls of one table each, none too large. Skips rows without mutations, which
 * Bigtable refuses.
 */
export function batchesOf(rows: readonly RowMutation[]): readonly Batch[] {
  const batches: Batch[] = [];
  const open = new Map<string, { batch: Batch; mutations: number; bytes: number }>();
  for (const { table, row, mutations } of rows) {
    if (mutations.length === 0) continue;
    const bytes = bytesOf(mutations);
    let current = open.get(table);
    const isFull =
      current === undefined ||
      current.mutations + mutations.length > BATCH_MUTATIONS ||
      current.bytes + bytes > BATCH_BYTES;
    if (current === undefined || isFull) {
      current = { batch: { table, entries: [] }, mutations: 0, bytes: 0 };
      open.set(table, current);
      batches.push(current.batch);
    }
    current.batch.entries.push({ rowKey: Buffer.from(row), mutations: mutations.map(toProto) });
    current.mutations += mutations.length;
    current.bytes += bytes;
  }
  return batches;
}

/** About how many bytes they take on the wire. */
export function bytesOf(mutations: readonly Mutation[]): number {
  let bytes = 0;
  for (const mutation of mutations) {
    bytes += MUTATION_BYTES + (mutation.kind === 'set' ? mutation.value.length : 0);
  }
  return bytes;
}
