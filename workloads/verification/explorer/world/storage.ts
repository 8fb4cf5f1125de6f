/**
 * What all processes share: the storage, in memory, and the oracle, a counter. It also remembers
 * every record that the storage ever held, because the judges count those erased since, too.
 */
import { unreachable } from '../../../../engine/base/index.ts';
import type { Bigtable, Cell, Mutation, Timestamp } from '../../../../engine/bigtable/index.ts';
import { openAllocator } from '../../../../engine/oracle/index.ts';
import { createMemoryBigtable } from '../../../../engine/testing/memory-bigtable.ts';
import {
  columnOf,
  decodeWriteRecord,
  isOf,
  LOCK,
  NOTIFY_FAMILIES,
  notifyTable,
  ROLLBACK,
  TABLE_FAMILIES,
  WRITE,
} from '../../../../engine/transaction/index.ts';
import { historicCell, type HistoricRecord, type HistoricRollback } from '../../judges/history.ts';
import { groundsOf, Umpire } from '../../simulation/umpire.ts';
import { isOwnTable } from './door.ts';
import type { ExplorerAnswer, ExplorerRequest } from './message.ts';

export class WorldStorage {
  readonly store: Bigtable = createMemoryBigtable();
  readonly records: HistoricRecord[] = [];
  readonly rollbacks: HistoricRollback[] = [];
  /** Of the simulator: whether refusals have grounds, and whether primaries leave a trace. */
  readonly umpire: Umpire = new Umpire(
    { messages: {}, events: {}, lockTimeToLiveMs: 0, delayMsMax: 0 },
    0,
  );
  /** The next one that the oracle hands out. Only grows, but for the beginning of a story. */
  nextTimestamp: Timestamp = 2;
  /** Only grows. */
  horizon: Timestamp = 0;
  /** Announced drops of tables. Only grows. */
  drops = 0;

  /** All cells of the tables of users and their companions, by `table/row`. */
  async cells(): Promise<ReadonlyMap<string, readonly Cell[]>> {
    const found = new Map<string, readonly Cell[]>();
    for (const table of (await this.store.listTables()).toSorted()) {
      if (isOwnTable(table)) continue;
      const families = table.endsWith('.notify') ? NOTIFY_FAMILIES : TABLE_FAMILIES;
      const filters = families.map((family) => ({ family }));
      const rows = await this.store.readRange(table, { limit: Infinity }, filters);
      for (const { key, cells } of rows) found.set(`${table}/${key}`, cells);
    }
    return found;
  }

  /** The processes that take ranges of their own take them from here on. */
  async takePastRange(end: Timestamp): Promise<void> {
    const options = { owner: 'the past', rangeSize: end - 1 };
    await (await openAllocator(this.store, options)).allocate(1);
  }

  async apply(request: ExplorerRequest): Promise<ExplorerAnswer> {
    const { store } = this;
    switch (request.kind) {
      case 'timestamp':
        return this.nextTimestamp++;
      case 'horizon':
        return this.horizon;
      case 'raise horizon':
        this.horizon = Math.max(this.horizon, request.horizon);
        return this.horizon;
      case 'announce drop':
        return ++this.drops;
      case 'read':
        return store.readRow(request.table, request.row, request.filters);
      case 'range':
        return store.readRange(request.table, request.range, request.filters);
      case 'mutate':
        await store.mutateRows([request]);
        this.#observe(request, request.mutations);
        return undefined;
      case 'check': {
        const found = await store.checkAndMutateRow(request);
        const grounds = found ? groundsOf(request) : [];
        if (grounds.length > 0) {
          const ground = await store.readRow(request.table, request.row, grounds);
          this.umpire.judgeRefusal(request, ground !== undefined);
        }
        this.#observe(request, (found ? request.ifFound : request.ifNotFound) ?? []);
        return found;
      }
      default:
        return unreachable(request);
    }
  }

  /** Every record that the storage ever held counts for the judges, also those erased since. */
  #observe(
    { table, row }: { readonly table: string; readonly row: string },
    mutations: readonly Mutation[],
  ): void {
    if (table.endsWith(notifyTable(''))) return;
    for (const mutation of mutations) {
      if (mutation.kind !== 'set') continue;
      const cell = historicCell({ table, row, column: columnOf(mutation) });
      if (isOf(LOCK, mutation)) this.umpire.locked(table, row, mutation);
      else if (isOf(WRITE, mutation)) {
        const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(mutation);
        this.records.push({ cell, startTimestamp, commitTimestamp, operation });
      } else if (isOf(ROLLBACK, mutation)) {
        this.rollbacks.push({ cell, startTimestamp: mutation.timestamp });
      }
    }
  }
}
