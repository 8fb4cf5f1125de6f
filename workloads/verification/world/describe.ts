/** How stories write requests to the storage: `c:lock@5` for a cell, `5..` for a range. */
import { textOf } from '../../../engine/base/index.ts';
import {
  type Cell,
  type CellFilter,
  type Mutation,
  type Row,
  TIMESTAMP_MAX,
} from '../../../engine/bigtable/index.ts';
import { CELLS, isOf, WRITE } from '../../../engine/transaction/index.ts';

export function describeFilters(filters: readonly CellFilter[]): string {
  return filters.map(describeFilter).join(' | ');
}

export function describeMutations(mutations: readonly Mutation[] | undefined): string {
  if (mutations === undefined || mutations.length === 0) return 'nothing';
  return mutations.map(describeMutation).join(', ');
}

export function describeRow(row: Row | undefined): string {
  if (row === undefined) return 'nothing';
  return row.cells.map((cell) => `${nameOf(cell)}@${cell.timestamp}`).join(' ');
}

function describeFilter(filter: CellFilter): string {
  const { family, suffix = '', qualifier = `*${suffix}`, from = 0, to = TIMESTAMP_MAX } = filter;
  return `${nameOf({ family, qualifier })}${describeRange(from, to)}`;
}

function describeMutation(mutation: Mutation): string {
  if (mutation.kind === 'erase') {
    return `erase ${nameOf(mutation)}${describeRange(mutation.from, mutation.to)}`;
  }
  const value = textOf(mutation.value);
  const shown = isOf(WRITE, mutation) ? value.replace(/^0+/, '→') : value;
  return `set ${nameOf(mutation)}@${mutation.timestamp}${shown === '' ? '' : `=${shown}`}`;
}

function describeRange(from: number, to: number): string {
  if (from === to) return `@${from}`;
  if (from === 0 && to === TIMESTAMP_MAX) return '';
  return `@${from}..${to === TIMESTAMP_MAX ? '' : to}`;
}

/** Most columns are in the one family of all cells, which has no need of a name. */
function nameOf({ family, qualifier }: Pick<Cell, 'family' | 'qualifier'>): string {
  return family === CELLS ? qualifier : `${family}:${qualifier}`;
}
