/**
 * A Bigtable over the wire: Cloud Bigtable, the official emulator, or any other server with its
 * API.
 *
 *     call ──▶ checked (checked-store.ts) ──▶ one RPC per row or batch ──▶ deadline, doubt
 *
 * The public API has no call for several conditional mutations (`manifest.conditionalBatch`), so
 * they are sent at the same time, and those of one row share calls where they can (mutations.ts).
 * Mutations of different calls are applied in no order (`manifest.ordered`).
 */
import { assert, type Clock } from '../../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Row,
  RowMutation,
  RangeRead,
  RowRange,
} from '../bigtable.ts';
import { CheckedStore } from '../checked-store.ts';
import { cellsOfFilters, rangeBehind } from '../reading.ts';
import { type Clients, DataCalls, type ReadRowsRequest } from './data-calls.ts';
import { type RowFilter, treeForAll, treeForChecking, treeForReading } from './filter-tree.ts';
import { answersByRow, batchesOf, MUTATIONS_MAX, toProto } from './mutations.ts';
import { RemoteTables } from './remote-tables.ts';
import type { AssembledRow } from './row-assembly.ts';

/** Maximum rows per ReadRows, so that an answer arrives well before its deadline. */
const ROWS_PER_READ = 2000;
/** Batches of one `mutateRows` in flight at the same time. */
const BATCHES_IN_FLIGHT = 4;

export interface RemoteStoreOptions {
  readonly clients: Clients;
  readonly clock: Clock;
  /** `projects/<project>/instances/<instance>` */
  readonly instance: string;
  readonly appProfile: string | undefined;
  readonly timeoutMs: number;
  readonly readOnly: boolean;
  /** For the emulator: a read of several columns asks for all between them (filter-tree.ts). */
  readonly readsRanges: boolean;
  readonly manifest: Manifest;
}

export class RemoteBigtable extends CheckedStore {
  readonly #clients: Clients;
  readonly #calls: DataCalls;
  readonly #readsRanges: boolean;

  constructor(options: RemoteStoreOptions) {
    const tables = new RemoteTables(options.clients.tables, options);
    super({ ...options, name: 'the remote store', tables, mutationsMax: MUTATIONS_MAX });
    this.#clients = options.clients;
    this.#readsRanges = options.readsRanges;
    this.#calls = new DataCalls(options.clients, options);
  }

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = (conditional) =>
    this.#check(conditional, treeForChecking);

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = (conditionals) =>
    answersByRow(conditionals, {
      one: this.checkAndMutateRow,
      all: (some) => this.#check(joined(some), treeForAll),
      present: async (some) => {
        const { table, row, anyOf } = joined(some);
        const found = await this.readRow(table, row, anyOf);
        const names = new Set(found?.cells.map(({ qualifier }) => qualifier));
        return anyOf.map(({ qualifier = '' }) => names.has(qualifier));
      },
    });

  protected async sendReadRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    const filter = this.#treeFor(filters);
    if (filter === undefined) return rows.map(() => undefined);
    const found = new Map<string, Row | undefined>();
    const keys = [...new Set(rows)].map((row) => Buffer.from(row));
    const pages: Promise<readonly AssembledRow[]>[] = [];
    for (let i = 0; i < keys.length; i += ROWS_PER_READ) {
      const rowKeys = keys.slice(i, i + ROWS_PER_READ);
      pages.push(this.#calls.readRows(table, { rows: { rowKeys }, filter }));
    }
    for (const row of (await Promise.all(pages)).flat()) {
      found.set(row.key, arranged(row, filters));
    }
    return rows.map((row) => found.get(row));
  }

  protected async sendReadRange(
    table: string,
    range: RangeRead,
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]> {
    const filter = this.#treeFor(filters);
    // Bigtable refuses a range that can hold no row.
    if (filter === undefined || isEmptyRange(range)) return [];
    return this.#readPages(table, range, { filter, filters });
  }

  protected async sendMutateRows(rows: readonly RowMutation[]): Promise<void> {
    const [only] = rows;
    if (rows.length === 1 && only !== undefined) await this.#mutateRow(only);
    else await this.#mutateInBatches(rows);
  }

  protected async sendSampleRowKeys(table: string): Promise<readonly string[]> {
    const keys = await this.#calls.sampleRowKeys(table);
    // The last one is empty: the end of the table.
    return keys.flatMap((key) => (key.length === 0 ? [] : [Buffer.from(key).toString()]));
  }

  protected disconnect(): Promise<void> | void {
    return this.#clients.close();
  }

  /** @param treeFor the check that the filters mean */
  #check(
    conditional: ConditionalRowMutation,
    treeFor: (filters: readonly CellFilter[]) => RowFilter,
  ): Promise<boolean> {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    return this.run([table], async () => {
      await this.checkConditional(conditional);
      return this.#calls.checkAndMutateRow(table, {
        rowKey: Buffer.from(row),
        predicateFilter: treeFor(anyOf),
        trueMutations: ifFound.map(toProto),
        falseMutations: ifNotFound.map(toProto),
      });
    });
  }

  #treeFor(filters: readonly CellFilter[]): RowFilter | undefined {
    return treeForReading(filters, this.#readsRanges);
  }

  async #readPages(
    table: string,
    range: RangeRead,
    {
      filter,
      filters,
    }: Pick<ReadRowsRequest, 'filter'> & { readonly filters: readonly CellFilter[] },
  ): Promise<readonly Row[]> {
    const { reverse = false } = range;
    const start = { startKeyClosed: Buffer.from(range.start ?? '') };
    const end = range.end === undefined ? {} : { endKeyOpen: Buffer.from(range.end) };
    const order = reverse ? { reversed: true } : {};
    const rows: Row[] = [];
    let keys: object = { ...start, ...end };
    for (;;) {
      const wanted = Math.min(range.limit - rows.length, ROWS_PER_READ);
      const page = await this.#calls.readRows(table, {
        rows: { rowRanges: [keys] },
        rowsLimit: Math.ceil(wanted),
        filter: filter ?? null,
        ...order,
      });
      for (const row of page) {
        const found = arranged(row, filters);
        if (found !== undefined) rows.push(found);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < wanted || rows.length >= range.limit) return rows;
      if (isEmptyRange(rangeBehind(range, last.key))) return rows;
      const key = Buffer.from(last.key);
      keys = reverse ? { ...start, endKeyOpen: key } : { startKeyOpen: key, ...end };
    }
  }

  async #mutateRow({ table, row, mutations }: RowMutation): Promise<void> {
    if (mutations.length === 0) return; // Bigtable refuses such a call.
    await this.#calls.mutateRow(table, {
      rowKey: Buffer.from(row),
      mutations: mutations.map(toProto),
    });
  }

  /** Waits for all batches, even when one has failed: then none is still in flight. */
  async #mutateInBatches(rows: readonly RowMutation[]): Promise<void> {
    const batches = batchesOf(rows);
    let next = 0;
    const sendSome = async (): Promise<void> => {
      for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
        await this.#calls.mutateRows(batch.table, batch.entries);
      }
    };
    const senders = Array.from({ length: Math.min(BATCHES_IN_FLIGHT, batches.length) }, sendSome);
    const answers = await Promise.allSettled(senders);
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  }
}

function arranged({ key, cells }: AssembledRow, filters: readonly CellFilter[]): Row | undefined {
  const chosen = cellsOfFilters(cells, filters);
  return chosen.length === 0 ? undefined : { key, cells: chosen };
}

function isEmptyRange({ start = '', end }: RowRange): boolean {
  return end !== undefined && Buffer.compare(Buffer.from(start), Buffer.from(end)) >= 0;
}

/** @param conditionals of one row, each with one cell that it needs */
function joined(conditionals: readonly ConditionalRowMutation[]): ConditionalRowMutation {
  const [first] = conditionals;
  assert(first !== undefined, 'a call has conditional mutations');
  const { table, row } = first;
  const anyOf = conditionals.flatMap((one) => one.anyOf);
  return { table, row, anyOf, ifFound: conditionals.flatMap(({ ifFound = [] }) => ifFound) };
}
