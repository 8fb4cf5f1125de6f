/** Mutations that a simulated cluster has applied, in the words of the storage contract. */
import type { Mutation } from '../../../../engine/bigtable/index.ts';
import { type MutationProto, numberOf } from '../../../../engine/bigtable/hbase/messages.ts';
import { DELETE, MUTATION } from '../../../../engine/bigtable/hbase/names.ts';
import { text } from '../../../../engine/testing/hbase/stored-row.ts';

/** The client puts one byte before each value (reads.ts). */
const MARK_BYTES = 1;

export function mutationsOf(protos: readonly MutationProto[]): readonly Mutation[] {
  return protos.flatMap(({ mutateType, columnValue }) =>
    columnValue.flatMap(({ family, qualifierValue }) =>
      qualifierValue.map(({ qualifier, timestamp, value, deleteType }): Mutation => {
        const to = numberOf(timestamp);
        const cell = { family: text(family), qualifier: text(qualifier) };
        if (mutateType === MUTATION.put) {
          const bytes = value?.subarray(MARK_BYTES) ?? new Uint8Array();
          return { kind: 'set', ...cell, timestamp: to, value: bytes };
        }
        return { kind: 'erase', ...cell, from: deleteType === DELETE.oneVersion ? to : 0, to };
      }),
    ),
  );
}
