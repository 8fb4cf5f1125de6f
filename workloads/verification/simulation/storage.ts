/** The storage of a simulated run: its initial state, and what is left in it. */
import type { Cell, CellFilter, Mutation } from '../../../engine/bigtable/index.ts';
import {
  columnOf,
  decodeLock,
  everywhere,
  LOCK,
  NOTIFY,
  notifyTable,
  WEAK,
} from '../../../engine/transaction/index.ts';
import { historicCell } from '../judges/history.ts';
import { clusterOf, plant } from './hbase/database-run.ts';
import { TableData } from '../world/table.ts';
import { TABLES } from './plan.ts';
import type { World } from './world.ts';

/**
 * Makes it look as if an oracle had handed out everything below the run's first timestamp.
 * @param identity of the database. Default: it has none yet, as from before there were identities
 */
export function setFirstTimestamp(world: World, identity?: string): void {
  const table = 'timestamp-oracle';
  const start = world.knobs.firstTimestamp;
  const value = Buffer.from(JSON.stringify({ owner: 'the past', start }));
  const cell = { family: 'oracle', qualifier: 'limit', timestamp: start, value };
  const limit: Mutation = { kind: 'set', ...cell };
  const cluster = clusterOf(world);
  if (cluster !== undefined) {
    plant(cluster, table, 'range', limit);
    return;
  }
  const oracle = new TableData({ families: ['oracle'], splits: [] }, world.knobs);
  oracle.mutateRow('range', [limit]);
  if (identity !== undefined) {
    const name = { family: 'oracle', qualifier: 'identity', value: Buffer.from(identity) };
    oracle.mutateRow('range', [{ kind: 'set', ...name, timestamp: 1 }]);
  }
  world.tables.set(table, oracle);
}

/**
 * Notifications that are left: `notify t/d:seen@12`. Parked notifications are not included, because
 * they wait for an operator.
 */
export function leftNotifications(world: World): readonly string[] {
  const notifications = [NOTIFY, WEAK].map((family) => ({ family }));
  return storedTables(world).flatMap((table) =>
    leftCells(world, notifyTable(table), notifications).map(
      ({ row, family, qualifier: column, timestamp }) =>
        `${family} ${historicCell({ table, row, column })}@${timestamp}`,
    ),
  );
}

/** Locks that are left: `t/a:c@5`. */
export function leftLocks(world: World): readonly string[] {
  return storedTables(world).flatMap((table) =>
    leftCells(world, table, [everywhere(LOCK)]).map(
      (lock) =>
        `${historicCell({ table, row: lock.row, column: columnOf(lock) })}@${lock.timestamp}`,
    ),
  );
}

/** The locks that a process has left, by its liveness token. */
export function locksOf(world: World, token: string): readonly string[] {
  return storedTables(world).flatMap((table) =>
    leftCells(world, table, [everywhere(LOCK)])
      .filter((lock) => decodeLock(lock).owner === token)
      .map(
        (lock) =>
          `${historicCell({ table, row: lock.row, column: columnOf(lock) })}@${lock.timestamp}`,
      ),
  );
}

function storedTables(world: World): readonly string[] {
  return TABLES.flatMap(
    (name) => world.incarnations.present(world.names.table(name))?.stored ?? [],
  );
}

interface RemainingCell extends Cell {
  readonly row: string;
}

function leftCells(
  world: World,
  table: string,
  filters: readonly CellFilter[],
): readonly RemainingCell[] {
  return (world.tables.get(table)?.readRange({ limit: 1_000_000 }, filters) ?? []).flatMap(
    ({ key: row, cells }) => cells.map((cell) => ({ ...cell, row })),
  );
}
