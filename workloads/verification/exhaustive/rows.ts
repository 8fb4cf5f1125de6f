/**
 * Rows as values: a row never changes; a mutation leads to another one. Rows with the same content
 * are one object, so worlds are compared by the ids of their rows, and the effect of a message on a
 * row is computed once.
 *
 * Part of the content of a row is its trail: every write record and rollback record that it ever
 * held. The judges use the trail, whether or not the cells are still there. As long as no process
 * erases any of these cells, the trail adds no states.
 */
import { assert } from '../../../engine/base/index.ts';
import type { Cell, Mutation } from '../../../engine/bigtable/index.ts';
import {
  CELLS,
  columnOf,
  decodeWriteRecord,
  isOf,
  NOTIFY,
  ROLLBACK,
  WEAK,
  WRITE,
} from '../../../engine/transaction/index.ts';
import type { HistoricRollback, HistoricRecord } from '../judges/history.ts';
import { TableData } from '../world/table.ts';
import type { MessageAnswer, ProcessMessage, MessageBook } from './messages.ts';

export interface RowState {
  /** Unique to its content. */
  readonly id: number;
  readonly cells: readonly Cell[];
  readonly records: readonly HistoricRecord[];
  readonly rollbacks: readonly HistoricRollback[];
}

interface Applied {
  readonly row: RowState;
  readonly answer: MessageAnswer;
}

const SCHEMA = { families: [CELLS, NOTIFY, WEAK] };
const EVERYTHING = SCHEMA.families.map((family) => ({ family }));
const KEY = 'row';
/** More messages than any search will meet. */
const MESSAGES_MAX = 2 ** 24;

export class RowBook {
  readonly #messages: MessageBook;
  readonly #rows = new Map<string, RowState>();
  readonly #applied = new Map<number, Applied>();
  readonly empty: RowState;

  constructor(messages: MessageBook) {
    this.#messages = messages;
    this.empty = this.#row([], [], []);
  }

  /** The row after the message was delivered to it, and what the sender hears. */
  apply(row: RowState, message: ProcessMessage): Applied {
    const key = row.id * MESSAGES_MAX + message.id;
    const known = this.#applied.get(key);
    if (known !== undefined) return known;
    const applied = this.#apply(row, message);
    this.#applied.set(key, applied);
    return applied;
  }

  /** A row as written before the story begins. */
  written(rowName: string, mutations: readonly Mutation[]): RowState {
    const table = new TableData(SCHEMA);
    table.mutateRow(KEY, mutations);
    return this.#after(this.empty, rowName, { table, mutations });
  }

  #apply(row: RowState, { request, rowName }: ProcessMessage): Applied {
    assert(request.kind !== 'timestamp', 'a row hands out no timestamps');
    const table = tableOf(row);
    if (request.kind === 'read') {
      const found = table.readRow(KEY, request.filters);
      return { row, answer: this.#messages.answer(found) };
    }
    if (request.kind === 'mutate') {
      const { mutations } = request;
      table.mutateRow(KEY, mutations);
      const after = this.#after(row, rowName, { table, mutations });
      return { row: after, answer: this.#messages.answer(undefined) };
    }
    const found = table.checkAndMutateRow({ ...request, row: KEY });
    const mutations = (found ? request.ifFound : request.ifNotFound) ?? [];
    const after = this.#after(row, rowName, { table, mutations });
    return { row: after, answer: this.#messages.answer(found) };
  }

  #after(
    before: RowState,
    rowName: string,
    { table, mutations }: { readonly table: TableData; readonly mutations: readonly Mutation[] },
  ): RowState {
    const cells = table.readRow(KEY, EVERYTHING)?.cells ?? [];
    const records = [...before.records];
    const rollbacks = [...before.rollbacks];
    for (const mutation of mutations) {
      if (mutation.kind !== 'set' || mutation.family !== CELLS) continue;
      const cell = `${rowName}:${columnOf(mutation)}`;
      if (isOf(WRITE, mutation)) {
        const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(mutation);
        addOnce(records, { cell, startTimestamp, commitTimestamp, operation });
      } else if (isOf(ROLLBACK, mutation)) {
        addOnce(rollbacks, { cell, startTimestamp: mutation.timestamp });
      }
    }
    return this.#row(cells, records, rollbacks);
  }

  #row(
    cells: readonly Cell[],
    records: readonly HistoricRecord[],
    rollbacks: readonly HistoricRollback[],
  ): RowState {
    const text = JSON.stringify([cells.map(textOfCell), records, rollbacks]);
    const known = this.#rows.get(text);
    if (known !== undefined) return known;
    const row = { id: this.#rows.size, cells, records, rollbacks };
    this.#rows.set(text, row);
    return row;
  }
}

function tableOf({ cells }: RowState): TableData {
  const table = new TableData(SCHEMA);
  table.mutateRow(KEY, cells.map(setCell));
  return table;
}

function setCell({ family, qualifier, timestamp, value }: Cell): Mutation {
  return { kind: 'set', family, qualifier, timestamp, value };
}

/** Keeps the list sorted, so that the order of the writes does not matter. */
function addOnce<T extends HistoricRollback>(list: T[], added: T): void {
  const text = JSON.stringify(added);
  if (list.some((one) => JSON.stringify(one) === text)) return;
  list.push(added);
  list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function textOfCell({ family, qualifier, timestamp, value }: Cell): string {
  return `${family}:${qualifier}@${timestamp}=${Buffer.from(value).toString('latin1')}`;
}
