/**
 * The audit of cells that a world holds. It runs on a separate storage with the same cells, because
 * it asks without being a process of the world.
 */
import { audit } from '../../../engine/audit/index.ts';
import { type Clock, createRandom } from '../../../engine/base/index.ts';
import type { Cell, Timestamp } from '../../../engine/bigtable/index.ts';
import { createMemoryBigtable } from '../../../engine/testing/memory-bigtable.ts';
import { ScriptedOracle } from '../../../engine/testing/scripted-oracle.ts';
import {
  createContext,
  NOTIFY_FAMILIES,
  notifyTable,
  TABLE_FAMILIES,
} from '../../../engine/transaction/index.ts';
import type { Violation } from '../judges/history.ts';

export interface AuditedCells {
  /** Tables of users, and which of their columns are observed. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  /** Rows of these tables, and of their companions. */
  readonly rows: readonly {
    readonly table: string;
    readonly row: string;
    readonly cells: readonly Cell[];
  }[];
  readonly nextTimestamp: Timestamp;
  readonly horizon: Timestamp;
  readonly clock: Clock;
}

/** What is an error, not only a leftover. */
export async function auditCells(audited: AuditedCells): Promise<readonly Violation[]> {
  const { tables, nextTimestamp, horizon, clock } = audited;
  const oracle = new ScriptedOracle(nextTimestamp);
  oracle.horizon = horizon;
  const context = createContext({
    store: await copyOf(audited),
    oracle,
    clock,
    random: createRandom(1),
    liveness: { self: 'auditor', isDead: () => true },
    isObserved: async (table, column) => tables.get(table)?.includes(column) === true,
  });
  const named = [...tables].map(([table, observedColumns]) => ({ table, observedColumns }));
  const findings = await Array.fromAsync(audit(context, named));
  return findings
    .filter(({ severity }) => severity === 'error')
    .map(({ code, cell, sentence }) => ({
      claim: `audit: ${code}`,
      message: `${cell.table}/${cell.row ?? ''}:${cell.column ?? ''}: ${sentence}`,
    }));
}

async function copyOf({ tables, rows }: AuditedCells): ReturnType<typeof withTables> {
  const store = await withTables([...tables.keys()]);
  for (const { table, row, cells } of rows) {
    const mutations = cells.map(
      ({ family, qualifier, timestamp, value }) =>
        ({ kind: 'set', family, qualifier, timestamp, value }) as const,
    );
    if (mutations.length > 0) await store.mutateRows([{ table, row, mutations }]);
  }
  return store;
}

async function withTables(tables: readonly string[]) {
  const store = createMemoryBigtable();
  for (const table of tables) {
    await store.createTable(table, { families: TABLE_FAMILIES });
    await store.createTable(notifyTable(table), { families: NOTIFY_FAMILIES });
  }
  return store;
}
