/**
 * The events of leases and horizon in a run: for their model, which checks that each run is one of
 * its behaviours (workloads/verification/model).
 *
 * All events are observed from outside, where messages arrive and answers are heard; the engine
 * knows nothing of this.
 */
import {
  type Cell,
  type CellFilter,
  type Mutation,
  type Row,
  type Timestamp,
  TIMESTAMP_MAX,
} from '../../../engine/bigtable/index.ts';
import { LEASES_TABLE, processOf } from '../../../engine/leases/lease-table.ts';
import { ORACLE_TABLE } from '../../../engine/oracle/oracle-row.ts';
import { isOf, WRITE } from '../../../engine/transaction/index.ts';

export interface WatchedLease {
  readonly process: string;
  readonly counter: number;
  readonly bound: Timestamp;
}

export type WatchedEvent =
  /** A renewal, or a copy of one, arrives. */
  | { readonly kind: 'lease arrives'; readonly lease: WatchedLease }
  /** Erased up to the counter. */
  | { readonly kind: 'lease erased'; readonly process: string; readonly counter: number }
  | {
      readonly kind: 'leases served' | 'leases heard';
      readonly collector: string;
      readonly leases: readonly WatchedLease[];
    }
  | { readonly kind: 'horizon persisted'; readonly horizon: Timestamp }
  /**
   * A collector has fixed its deletion horizon and waited; or has resolved all locks, and begins to
   * delete.
   */
  | { readonly kind: 'resolving' | 'collecting'; readonly deletionHorizon: Timestamp }
  | {
      readonly kind: 'read served' | 'read answered';
      readonly process: string;
      readonly snapshot: Timestamp;
    };

/** Called for each event, in order. */
export type EventListener = (event: WatchedEvent) => void;

/** The table in which collectors record their progress. */
export const PROGRESS_TABLE = 'percolator-collector';

export function watchMutations(
  watch: EventListener,
  { table, row }: { readonly table: string; readonly row: string },
  mutations: readonly Mutation[],
): void {
  for (const mutation of mutations) {
    if (mutation.kind === 'erase') {
      if (table !== LEASES_TABLE) continue;
      watch({ kind: 'lease erased', process: processOf(row), counter: mutation.to });
    } else if (table === LEASES_TABLE) {
      watch({ kind: 'lease arrives', lease: leaseOf(row, mutation) });
    } else if (table === ORACLE_TABLE && mutation.qualifier === 'horizon') {
      watch({ kind: 'horizon persisted', horizon: mutation.timestamp });
    } else if (table === PROGRESS_TABLE) watchProgress(watch, mutation.value);
  }
}

function watchProgress(watch: EventListener, value: Uint8Array): void {
  const { phase, deletionHorizon } = JSON.parse(Buffer.from(value).toString()) as {
    readonly phase: string;
    readonly deletionHorizon: Timestamp;
  };
  if (phase === 'resolving' || phase === 'collecting') watch({ kind: phase, deletionHorizon });
}

export function leasesOf(rows: readonly Row[]): readonly WatchedLease[] {
  return rows.flatMap(({ key, cells }) => cells.slice(0, 1).map((cell) => leaseOf(key, cell)));
}

function leaseOf(
  token: string,
  { timestamp, value }: Pick<Cell, 'timestamp' | 'value'>,
): WatchedLease {
  const { bound } = JSON.parse(Buffer.from(value).toString()) as { readonly bound: Timestamp };
  return { process: processOf(token), counter: timestamp, bound };
}

/** The snapshots that a read is for; none if it is no snapshot read. */
export function snapshotsOf(filters: readonly CellFilter[]): readonly Timestamp[] {
  return filters
    .filter(({ qualifier = '', from = 0 }) => isOf(WRITE, { qualifier }) && from === 0)
    .map(({ to = TIMESTAMP_MAX }) => to);
}
