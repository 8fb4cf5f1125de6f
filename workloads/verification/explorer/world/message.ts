/**
 * The requests of processes to storage and oracle, as messages that wait until a choice delivers
 * them. Each row of a mutation is a message of its own, because nothing is promised across rows,
 * and so is each row that is read.
 */
import { unreachable } from '../../../../engine/base/index.ts';
import type {
  CellFilter,
  ConditionalRowMutation,
  Row,
  RowMutation,
  RangeRead,
  Timestamp,
} from '../../../../engine/bigtable/index.ts';
import { ORACLE_TABLE } from '../../../../engine/oracle/oracle-row.ts';
import { describeFilters, describeMutations, describeRow } from '../../world/describe.ts';

export type ExplorerRequest =
  | { readonly kind: 'timestamp' }
  | { readonly kind: 'horizon' }
  | { readonly kind: 'raise horizon'; readonly horizon: Timestamp }
  | { readonly kind: 'announce drop' }
  | {
      readonly kind: 'read';
      readonly table: string;
      readonly row: string;
      readonly filters: readonly CellFilter[];
    }
  | {
      readonly kind: 'range';
      readonly table: string;
      readonly range: RangeRead;
      readonly filters: readonly CellFilter[];
    }
  | ({ readonly kind: 'check' } & ConditionalRowMutation)
  | ({ readonly kind: 'mutate' } & RowMutation);

export type ExplorerAnswer = Timestamp | boolean | Row | readonly Row[] | undefined;

export interface ExplorerMessage {
  /** In the order sent, from 0. Choices name messages by it. */
  readonly number: number;
  /** The number of the process that sent it, and its name at that time. */
  readonly process: number;
  readonly sender: string;
  readonly request: ExplorerRequest;
  /** The choice at which it was sent: 1 is the first. */
  readonly sentAt: number;
}

/** Whether a copy of it would change anything, and whether its sender may be in doubt. */
export function isMutation({ kind }: ExplorerRequest): boolean {
  return kind === 'check' || kind === 'mutate' || kind === 'raise horizon';
}

/** Whether a process asks the storage for timestamps (`ownRanges`). */
export function isOfRanges(request: ExplorerRequest): boolean {
  return 'table' in request && request.table === ORACLE_TABLE;
}

/** Where it goes: a row, a table, or the oracle. */
export function placeOfRequest(request: ExplorerRequest): string {
  switch (request.kind) {
    case 'timestamp':
    case 'horizon':
    case 'raise horizon':
    case 'announce drop':
      return 'oracle';
    case 'range':
      return request.table;
    case 'read':
    case 'check':
    case 'mutate':
      return isOfRanges(request) ? 'oracle' : `${request.table}/${request.row}`;
    default:
      return unreachable(request);
  }
}

/** For the log: the request. */
export function describeRequest(request: ExplorerRequest): string {
  switch (request.kind) {
    case 'timestamp':
      return 'asks for a timestamp';
    case 'horizon':
      return 'asks for the horizon';
    case 'raise horizon':
      return `raises the horizon to ${request.horizon}`;
    case 'announce drop':
      return 'announces a drop';
    case 'read':
      return `reads ${placeOfRequest(request)} (${describeFilters(request.filters)})`;
    case 'range':
      return `scans ${request.table} from ${request.range.start ?? 'the first row'} (${describeFilters(request.filters)})`;
    case 'mutate':
      return `${placeOfRequest(request)}: ${describeMutations(request.mutations)}`;
    case 'check':
      return `${placeOfRequest(request)}: if ${describeFilters(request.anyOf)} then ${describeMutations(request.ifFound)} else ${describeMutations(request.ifNotFound)}`;
    default:
      return unreachable(request);
  }
}

/** For the log: what was found. */
export function describeAnswer({ kind }: ExplorerRequest, answer: ExplorerAnswer): string {
  switch (kind) {
    case 'timestamp':
    case 'horizon':
    case 'raise horizon':
    case 'announce drop':
      return `${answer as Timestamp}`;
    case 'read':
      return describeRow(answer as Row | undefined);
    case 'range':
      return (answer as readonly Row[]).map((row) => `${row.key}: ${describeRow(row)}`).join('; ');
    case 'mutate':
      return 'done';
    case 'check':
      return answer === true ? 'found' : 'not found';
    default:
      return unreachable(kind);
  }
}
