/**
 * Mutations and conditions in HBase's form.
 *
 *     set                 Put, at its timestamp; the value after one byte (MARK)
 *     erase [t, t]        Delete of one version
 *     erase [0, t]        Delete of all versions up to t
 *     a cell exists       a Condition on its column and time range: "not equal to NOT_A_VALUE"
 *     no cell exists      a Condition on them, too: "equal to nothing"
 *
 * HBase has no erase of any other range. And a Delete also hides what is put later at a timestamp
 * that it erases, until a major compaction (`manifest.tombstones`).
 */
import { type CellFilter, type Mutation, TIMESTAMP_MAX } from '../bigtable.ts';
import { invalid } from '../validate.ts';
import {
  type Action,
  type Condition,
  messageOf,
  type MutationProto,
  type QualifierValue,
} from './messages.ts';
import { COMPARE, DELETE, ENDPOINT, FILTERS, MUTATION } from './names.ts';
import { MARK } from './reads.ts';

const NO_VALUE = new Uint8Array();
/** No stored value equals it, because each begins with MARK. */
const NOT_A_VALUE = Buffer.from([MARK - 1]);

/** The Put or the Delete of one row; both if some mutations set and others erase. */
export function protosOf(row: Buffer, mutations: readonly Mutation[]): readonly MutationProto[] {
  const sets = lastSets(mutations);
  const erases = mutations.flatMap((mutation) => (mutation.kind === 'erase' ? [mutation] : []));
  const protos: MutationProto[] = [];
  if (sets.length > 0) {
    const values = sets.map(({ family, qualifier, timestamp, value }) => ({
      family,
      value: { qualifier: Buffer.from(qualifier), timestamp, value: marked(value) },
    }));
    protos.push({ row, mutateType: MUTATION.put, columnValue: byFamily(values) });
  }
  if (erases.length > 0) {
    const values = erases.map(({ family, qualifier, from, to }) => ({
      family,
      value: {
        qualifier: Buffer.from(qualifier),
        timestamp: to,
        deleteType: from === to ? DELETE.oneVersion : DELETE.multipleVersions,
      },
    }));
    protos.push({ row, mutateType: MUTATION.delete, columnValue: byFamily(values) });
  }
  return protos;
}

/** @throws INVALID_ARGUMENT for a filter of a check that HBase cannot evaluate */
export function checkCondition({ family, qualifier }: CellFilter): void {
  if (qualifier !== undefined) return;
  throw invalid(`HBase checks columns by name, not a whole family such as ${family}`);
}

/** One call of the endpoint: if all conditions hold, all mutations, else nothing. */
export function endpointCall(
  row: Buffer,
  conditions: readonly Condition[],
  mutations: readonly Mutation[],
): Action {
  const request = { mutationRequest: protosOf(row, mutations), condition: conditions };
  const { serviceName, methodName } = ENDPOINT;
  return {
    serviceCall: {
      row,
      serviceName,
      methodName,
      request: messageOf('MutateRowsRequest').encode(request),
    },
  };
}

export function exists(row: Buffer, filter: CellFilter): Condition {
  return conditionOf(row, filter, { compareType: COMPARE.notEqual, value: NOT_A_VALUE });
}

export function isAbsent(row: Buffer, filter: CellFilter): Condition {
  return conditionOf(row, filter, { compareType: COMPARE.equal, value: NO_VALUE });
}

function conditionOf(
  row: Buffer,
  { family, qualifier = '', from = 0, to = TIMESTAMP_MAX }: CellFilter,
  { compareType, value }: { readonly compareType: number; readonly value: Uint8Array },
): Condition {
  const serializedComparator = messageOf('BinaryComparator').encode({ comparable: { value } });
  return {
    row,
    family: Buffer.from(family),
    qualifier: Buffer.from(qualifier),
    compareType,
    comparator: { name: FILTERS.binary, serializedComparator },
    timeRange: { from, to: to + 1 },
  };
}

/** Only the last set of each cell: HBase would apply them in no particular order. */
function lastSets(mutations: readonly Mutation[]): readonly Extract<Mutation, { kind: 'set' }>[] {
  const sets = mutations.flatMap((mutation) => (mutation.kind === 'set' ? [mutation] : []));
  if (sets.length < 2) return sets;
  const byCell = new Map(
    sets.map((set) => [`${set.family}:${set.timestamp}:${set.qualifier}`, set]),
  );
  return [...byCell.values()];
}

function byFamily(
  values: readonly { readonly family: string; readonly value: QualifierValue }[],
): MutationProto['columnValue'] {
  return [...Map.groupBy(values, ({ family }) => family)].map(([family, some]) => ({
    family: Buffer.from(family),
    qualifierValue: some.map(({ value }) => value),
  }));
}

function marked(value: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(value.length + 1);
  bytes[0] = MARK;
  bytes.set(value, 1);
  return bytes;
}
