/** How stories write requests to the storage: `lock:c@5` for a cell, `5..` for a range. */
import {
  type CellFilter,
  type Mutation,
  type Row,
  TIMESTAMP_MAX,
} from '../../../engine/bigtable/index.ts';

export function describeFilters(filters: readonly CellFilter[]): string {
  return filters.map(describeFilter).join(' | ');
}

export function describeMutations(mutations: readonly Mutation[] | undefined): string {
  if (mutations === undefined || mutations.length === 0) return 'nothing';
  return mutations.map(describeMutation).join(', ');
}

export function describeRow(row: Row | undefined): string {
  if (row === undefined) return 'nothing';
  return row.cells
    .map(({ family, qualifier, timestamp }) => `${family}:${qualifier}@${timestamp}`)
    .join(' ');
}

function describeFilter({ family, qualifier = '*', from = 0, to }: CellFilter): string {
  return `${family}:${qualifier}${describeRange(from, to ?? TIMESTAMP_MAX)}`;
}

function describeMutation(mutation: Mutation): string {
  const { family, qualifier } = mutation;
  if (mutation.kind === 'erase') {
    return `erase ${family}:${qualifier}${describeRange(mutation.from, mutation.to)}`;
  }
  const value = Buffer.from(mutation.value).toString();
  const shown = family === 'write' || family === 'ack' ? value.replace(/^0+/, '→') : value;
  return `set ${family}:${qualifier}@${mutation.timestamp}${shown === '' ? '' : `=${shown}`}`;
}

function describeRange(from: number, to: number): string {
  if (from === to) return `@${from}`;
  if (from === 0 && to === TIMESTAMP_MAX) return '';
  return `@${from}..${to === TIMESTAMP_MAX ? '' : to}`;
}
