/**
 * What really was in the rows of a simulated cluster, and when: the judge of what the client says.
 *
 *     read            the row was as it was read, at some moment between call and answer
 *     condition       if a mutation is said not to be applied: the cell that it looks for was
 *                     there, or not, as answered, at such a moment
 *     mutation        if said to be applied, it was: between call and answer, before its deadline,
 *                     and, if conditional, only once
 *     refused         never applied, not even later
 *     in doubt        applied once or never, if conditional
 *     any             never applied when no collector expects it any more (P66)
 */
import {
  DELETE,
  MUTATION,
  type MutationProto,
  numberOf,
} from '../../../../engine/bigtable/hbase/messages.ts';
import type { CellFilter, Mutation, Row } from '../../../../engine/bigtable/index.ts';
import { text } from '../../../../engine/testing/hbase/stored-row.ts';
import { MemoryTable } from '../../../../engine/testing/memory-table.ts';
import type { Violation } from '../../judges/history.ts';

export const LOCK: CellFilter = { family: 'f', qualifier: 'lock', versions: 1 };
const VALUE: CellFilter = { family: 'f', qualifier: 'value', versions: 1 };
/** What reads ask for. */
export const FILTERS: readonly CellFilter[] = [LOCK, VALUE];

/** From the call to its answer. */
export interface Span {
  readonly begun: number;
  readonly ended: number;
  /** Virtual time after which the caller no longer waits. */
  readonly deadlineMs: number;
}

interface State {
  readonly since: number;
  readonly row: Row | undefined;
}

export class HBaseTruth {
  readonly violations: Violation[] = [];
  readonly table: MemoryTable = new MemoryTable({ families: ['f'] }, { tombstones: true });
  readonly #states = new Map<string, State[]>();
  /** When each write was applied: `row@timestamp` of what it sets. */
  readonly #applied = new Map<string, { readonly at: number; readonly atMs: number }[]>();
  /** Virtual time after which each write may no longer be applied. */
  readonly #endsMs = new Map<string, number>();
  readonly #timeMs: () => number;
  readonly #refused = new Map<string, string>();
  #now = 0;

  /** @param timeMs the virtual time */
  constructor(timeMs: () => number) {
    this.#timeMs = timeMs;
  }

  /** A moment that is later than all before. */
  now(): number {
    return ++this.#now;
  }

  applied(row: string, protos: readonly MutationProto[]): void {
    const now = this.now();
    const mutations = mutationsOf(protos);
    this.table.mutateRow(row, mutations);
    const states = this.#statesOf(row);
    states.push({ since: now, row: this.table.readRow(row, FILTERS) });
    const set = mutations.find(({ kind }) => kind === 'set');
    if (set?.kind !== 'set') return;
    const name = `${row}@${set.timestamp}`;
    const atMs = this.#timeMs();
    this.#applied.set(name, [...(this.#applied.get(name) ?? []), { at: now, atMs }]);
    const endMs = this.#endsMs.get(name) ?? Infinity;
    if (atMs <= endMs) return;
    const late = `${atMs - endMs} ms after no message could be in flight any more`;
    this.find('mutations: applied too late', `${name} was applied ${late}`);
  }

  /** A write is about to be sent, which may not be applied after `endMs` of virtual time. */
  sends(row: string, timestamp: number, endMs: number): void {
    this.#endsMs.set(`${row}@${timestamp}`, endMs);
  }

  read(row: string, found: Row | undefined, span: Span): void {
    const seen = plain(found);
    if (this.#during(row, span).some((state) => plain(state.row) === seen)) return;
    const were = this.#during(row, span).map((state) => plain(state.row));
    this.find('reads: stale', `${row} was read as ${seen}, but was ${were.join(', then ')}`);
  }

  /** A condition that was answered. */
  decided(
    { row, timestamp, filter }: { row: string; timestamp: number; filter: CellFilter },
    { found, applies }: { found: boolean; applies: boolean },
    span: Span,
  ): void {
    const name = `${row}@${timestamp}`;
    if (applies) {
      this.did(row, timestamp, span);
      return;
    }
    this.#refused.set(name, 'its condition was said not to hold');
    const isTrue = this.#during(row, span).some(
      (state) => found === (matching(state.row, filter) !== undefined),
    );
    if (isTrue) return;
    this.find('conditions: stale', `${name}: a cell was said ${found ? '' : 'not '}to be there`);
  }

  /** A mutation that was said to be applied. */
  did(row: string, timestamp: number, { begun, ended, deadlineMs }: Span): void {
    const name = `${row}@${timestamp}`;
    const times = (this.#applied.get(name) ?? []).filter(({ at }) => at > begun && at < ended);
    if (times.some(({ atMs }) => atMs <= deadlineMs)) return;
    if (times.length === 0) {
      this.find('mutations: lost', `${name} was said to be applied, and was not`);
    } else {
      const late = `${name} was applied after its deadline`;
      this.find('mutations: after the deadline', `${late}, and its caller heard of no failure`);
    }
  }

  refused(row: string, timestamp: number, why: string): void {
    this.#refused.set(`${row}@${timestamp}`, why);
  }

  /** To be called when nothing is in flight any more. */
  judge(conditionals: ReadonlySet<string>): void {
    for (const [name, why] of this.#refused) {
      if (this.#applied.has(name)) {
        this.find('mutations: applied after all', `${name} was applied, although ${why}`);
      }
    }
    for (const name of conditionals) {
      const times = this.#applied.get(name)?.length ?? 0;
      if (times > 1) this.find('conditions: sent again', `${name} was applied ${times} times`);
    }
  }

  find(claim: string, message: string): void {
    this.violations.push({ claim, message });
  }

  #statesOf(row: string): State[] {
    let states = this.#states.get(row);
    if (states === undefined) this.#states.set(row, (states = [{ since: 0, row: undefined }]));
    return states;
  }

  #during(row: string, { begun, ended }: Span): readonly State[] {
    const states = this.#statesOf(row);
    return states.filter(
      ({ since }, i) => since < ended && (states[i + 1]?.since ?? Infinity) > begun,
    );
  }
}

function matching(
  row: Row | undefined,
  { qualifier, from = 0, to = Infinity }: CellFilter,
): unknown {
  return row?.cells.find(
    (cell) => cell.qualifier === qualifier && cell.timestamp >= from && cell.timestamp <= to,
  );
}

export function plain(row: Row | undefined): string {
  if (row === undefined) return 'absent';
  const cells = row.cells.map(
    ({ qualifier, timestamp, value }) =>
      `${qualifier}@${timestamp}=${Buffer.from(value).toString()}`,
  );
  return cells.join(' ');
}

/* Mutations that a simulated cluster has applied, in the words of the storage contract. */

/** The client puts one byte before each value (requests.ts). */
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
