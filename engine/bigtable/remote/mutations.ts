/**
 * Converts the contract's mutations to Bigtable's, splits blind ones into calls, and joins
 * conditional ones of a row.
 */
import type { protos } from '@google-cloud/bigtable-api';
import { hasCode, PercolatorError, unreachable } from '../../base/index.ts';
import {
  type CellFilter,
  type ConditionalRowMutation,
  type Mutation,
  type RowMutation,
  TIMESTAMP_MAX,
} from '../bigtable.ts';
import { answersTo } from '../decorate.ts';
import type { MutateRowsEntry } from './data-calls.ts';
import { CHECK_BYTES_MAX } from './filter-tree.ts';
import { toMicros } from './row-assembly.ts';

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
function bytesOf(mutations: readonly Mutation[]): number {
  let bytes = 0;
  for (const mutation of mutations) {
    bytes += MUTATION_BYTES + (mutation.kind === 'set' ? mutation.value.length : 0);
  }
  return bytes;
}

/*
 * Many conditional mutations of one row, in few calls.
 *
 * The second phase of a commit mutates each cell of a row if the cell's lock is still there, and
 * the public API has one check for each call. A call for each cell would cost the emulator, which
 * copies the row for each, the square of the cells. But a filter may drop the first k - 1 cells
 * that it finds, and then passes one exactly if there are k. So k mutations that each need one cell
 * are one call, atomic like any other, that applies all of them or none:
 *
 *     the k cells are all there?  yes ─▶ all were applied: k times true
 *                                 no  ─▶ none was; a read tells which cells are not there: false;
 *                                        the others are joined again
 *
 * Only some calls for one row are in flight at the same time. Its server takes them in turn anyway,
 * and the deadline of each begins when it is sent: a row of many cells would use it up in the
 * queue. After a call without an answer, no further one is sent for the row.
 */

type ConditionalAnswer = boolean | Error;
type RowConditionals = readonly ConditionalRowMutation[];

/** How the store sends what is joined here. */
export interface Sender {
  one(conditional: ConditionalRowMutation): Promise<boolean>;
  /** All of them, which are of one row, if their cells are all there; else none. */
  all(conditionals: RowConditionals): Promise<boolean>;
  /** Whether each one's cell is there, by a read of their row. */
  present(conditionals: RowConditionals): Promise<readonly boolean[]>;
}

/** Calls in flight for one row: enough to hide the way to the server. */
const CALLS_IN_FLIGHT = 4;
/**
 * The emulator compiles the names of all cells of a call for each of them, and copies the row for
 * each call: few cells cost copies, and many cost names.
 */
const CELLS_MAX = 50;
/** Of the mutations of one call; a larger one fails as a whole. */
const BYTES_MAX = 4 << 20;

type Answers = Map<ConditionalRowMutation, ConditionalAnswer>;

/** The answers in the order of `conditionals`; the answer to a failed one is its error. */
export async function answersByRow(
  conditionals: RowConditionals,
  sender: Sender,
): Promise<readonly ConditionalAnswer[]> {
  const copies = conditionals.map((one) => ({ ...one })); // One may come twice.
  const rows = Map.groupBy(copies, ({ table, row }) => `${table}\0${row}`);
  const answers: Answers = new Map();
  await Promise.all([...rows.values()].map((ofRow) => sendRow(ofRow, sender, answers)));
  return copies.map((one) => answers.get(one) ?? false);
}

/** Sends the calls of one row, some at a time. */
async function sendRow(ofRow: RowConditionals, sender: Sender, answers: Answers): Promise<void> {
  const calls = callsOf(ofRow);
  let next = 0;
  let lost: PercolatorError | undefined;
  const sendSome = async (): Promise<void> => {
    for (let call = calls[next++]; call !== undefined; call = calls[next++]) {
      if (lost === undefined) await sendCall(call, sender, answers);
      else for (const one of call) answers.set(one, notSent(lost));
      lost ??= call.map((one) => answers.get(one)).find(isWithoutAnswer);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CALLS_IN_FLIGHT, calls.length) }, sendSome));
}

function isWithoutAnswer(answer: ConditionalAnswer | undefined): answer is PercolatorError {
  return hasCode(answer, 'STORE_UNAVAILABLE') || hasCode(answer, 'STORE_IN_DOUBT');
}

function notSent(cause: PercolatorError): PercolatorError {
  const message = `not sent, after another call for the row: ${cause.message}`;
  return new PercolatorError('STORE_UNAVAILABLE', message, { cause });
}

/** Several conditionals: all of them can be joined. */
async function sendCall(call: RowConditionals, sender: Sender, answers: Answers): Promise<void> {
  let left = call;
  try {
    while (left.length > 1) {
      if (await sender.all(left)) {
        for (const one of left) answers.set(one, true);
        return;
      }
      const present = await sender.present(left);
      const gone = left.filter((_, i) => present[i] === false);
      for (const one of gone) answers.set(one, false);
      if (gone.length === 0) break; // It has come, or the check cannot be trusted.
      left = left.filter((_, i) => present[i] !== false);
    }
  } catch (error) {
    // A refusal may be of one of them, but names none.
    const isRefusal = hasCode(error, 'INVALID_ARGUMENT') || hasCode(error, 'FAMILY_NOT_FOUND');
    if (!isRefusal) {
      for (const one of left) answers.set(one, error as Error);
      return;
    }
  }
  const alone = await answersTo(left.map((one) => sender.one(one)));
  for (const [i, one] of left.entries()) answers.set(one, alone[i] ?? false);
}

/** One row's conditionals, those of each call together. */
function callsOf(ofRow: RowConditionals): readonly RowConditionals[] {
  if (ofRow.length === 1) return [ofRow];
  const checked = new Set<string>();
  const groups = Map.groupBy(ofRow, (one) => {
    const cell = cellOf(one);
    if (cell === undefined || checked.has(nameOf(cell))) return '';
    checked.add(nameOf(cell));
    return `${cell.family}\0${cell.from}`;
  });
  const calls: RowConditionals[] = (groups.get('') ?? []).map((one) => [one]);
  groups.delete('');
  for (const group of groups.values()) {
    // One that changes what another checks is applied before or after it, not with it.
    const meddles = (one: ConditionalRowMutation): boolean =>
      one.ifFound?.some(
        ({ qualifier, family }) =>
          qualifier !== cellOf(one)?.qualifier && checked.has(nameOf({ family, qualifier })),
      ) === true;
    calls.push(...group.filter(meddles).map((one) => [one]));
    calls.push(...piecesOf(group.filter((one) => !meddles(one))));
  }
  return calls;
}

type NamedCell = CellFilter & { readonly qualifier: string };

/** The one cell without which the conditional does nothing; undefined if it is of another kind. */
function cellOf({
  anyOf,
  ifFound = [],
  ifNotFound = [],
}: ConditionalRowMutation): NamedCell | undefined {
  const [cell] = anyOf;
  if (cell?.qualifier === undefined || anyOf.length > 1) return undefined;
  if (cell.from === undefined || cell.from !== cell.to) return undefined;
  return ifFound.length > 0 && ifNotFound.length === 0 ? (cell as NamedCell) : undefined;
}

function nameOf({ family, qualifier }: Pick<NamedCell, 'family' | 'qualifier'>): string {
  return `${family}\0${qualifier}`;
}

/** Neighbours in the row, so that the server looks for them in a part of it. */
function piecesOf(group: RowConditionals): readonly RowConditionals[] {
  const pieces: ConditionalRowMutation[][] = [];
  let names = 0;
  let bytes = 0;
  const sorted = group.toSorted((one, other) => (qualifierOf(one) < qualifierOf(other) ? -1 : 1));
  for (const one of sorted) {
    names += Buffer.byteLength(qualifierOf(one));
    bytes += bytesOf(one.ifFound ?? []);
    const last = pieces.at(-1);
    const isFull = last?.length === CELLS_MAX || names > CHECK_BYTES_MAX || bytes > BYTES_MAX;
    if (last !== undefined && !isFull) {
      last.push(one);
      continue;
    }
    pieces.push([one]);
    names = Buffer.byteLength(qualifierOf(one));
    bytes = bytesOf(one.ifFound ?? []);
  }
  return pieces;
}

function qualifierOf(one: ConditionalRowMutation): string {
  return cellOf(one)?.qualifier ?? '';
}
