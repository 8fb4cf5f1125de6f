/**
 * A Bigtable in memory: the simple store that the embedded one is compared with, and the fast one
 * for the tests of the protocol.
 *
 *     call ──▶ checked at once ──▶ one turn of the microtask queue ──▶ applied ──▶ answered
 *
 * As with a real store, nothing is applied before the call returns, and calls made by one caller
 * are applied in the order made. There is no I/O and no randomness: the same calls give the same
 * run. The store hands out plain `Uint8Array`s, so that no code comes to rely on a `Buffer`.
 */
import { PercolatorError } from '../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  RowMutation,
  TableSchema,
} from '../bigtable/index.ts';
import { answersTo } from '../bigtable/decorate.ts';
import {
  validateCases,
  validateFilter,
  validateMutation,
  validateRange,
  validateRowKey,
  validateSchema,
  validateTombstone,
} from '../bigtable/validate.ts';
import { compareUtf8, MemoryTable } from './memory-table.ts';

/**
 * An empty store. Its clients share the object; `close` closes it for all of them.
 * @param manifest parts of its manifest; with `tombstones` its erases behave as those of HBase
 */
export function createMemoryBigtable(
  manifest: Pick<Manifest, 'tombstones' | 'messageLifetimeMs'> = {},
): Bigtable {
  return new MemoryBigtable(manifest);
}

class MemoryBigtable implements Bigtable {
  readonly manifest: Manifest;
  readonly #tables = new Map<string, MemoryTable>();
  #closed = false;

  constructor({
    tombstones = false,
    messageLifetimeMs,
  }: Pick<Manifest, 'tombstones' | 'messageLifetimeMs'>) {
    this.manifest = {
      name: 'memory',
      conditionalBatch: true,
      ordered: true,
      splits: true,
      skipsOldRows: true,
      tombstones,
      messageLifetimeMs,
      durability: 'nothing survives the process',
    };
  }

  readonly readRow: Bigtable['readRow'] = async (table, row, filters) => {
    const [only] = await this.readRows(table, [row], filters);
    return only;
  };

  readonly readRows: Bigtable['readRows'] = async (table, rows, filters) => {
    this.#assertOpen();
    rows.forEach(validateRowKey);
    this.#validateFilters(table, filters);
    await Promise.resolve();
    return rows.map((row) => this.#table(table).readRow(row, filters));
  };

  readonly readRange: Bigtable['readRange'] = async (table, range, filters) => {
    this.#assertOpen();
    validateRange(range);
    this.#validateFilters(table, filters);
    await Promise.resolve();
    return this.#table(table).readRange(range, filters);
  };

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) => {
    this.#assertOpen();
    this.#validateConditional(conditional);
    await Promise.resolve();
    return this.#table(conditional.table).checkAndMutateRow(conditional);
  };

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = (conditionals) =>
    answersTo(conditionals.map((conditional) => this.checkAndMutateRow(conditional)));

  readonly mutateRows: Bigtable['mutateRows'] = async (rows) => {
    this.#assertOpen();
    for (const row of rows) this.#validateRowMutation(row);
    await Promise.resolve();
    for (const { table, row, mutations } of rows) this.#table(table).mutateRow(row, mutations);
  };

  readonly sampleRowKeys: Bigtable['sampleRowKeys'] = async (table) => {
    this.#assertOpen();
    await Promise.resolve();
    return this.#table(table).schema.splits ?? [];
  };

  readonly createTable: Bigtable['createTable'] = async (table, schema) => {
    this.#assertOpen();
    validateSchema(table, schema);
    await Promise.resolve();
    const wanted = normalized(schema);
    const existing = this.#tables.get(table);
    if (existing === undefined) this.#tables.set(table, new MemoryTable(wanted, this.manifest));
    else if (JSON.stringify(existing.schema) !== JSON.stringify(wanted)) {
      throw new PercolatorError('TABLE_MISMATCH', `table ${table} exists with another schema`);
    }
  };

  readonly listTables: Bigtable['listTables'] = async () => {
    this.#assertOpen();
    await Promise.resolve();
    return [...this.#tables.keys()];
  };

  readonly dropTable: Bigtable['dropTable'] = async (table) => {
    this.#assertOpen();
    await Promise.resolve();
    this.#tables.delete(table);
  };

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.resolve(); // Calls sent earlier are in the queue before this.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #table(name: string): MemoryTable {
    const table = this.#tables.get(name);
    if (table !== undefined) return table;
    throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${name}`);
  }

  #validateFilters(table: string, filters: readonly CellFilter[]): void {
    for (const filter of filters) {
      validateFilter(filter);
      this.#table(table).requireFamily(filter.family);
    }
  }

  #validateConditional(conditional: ConditionalRowMutation): void {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    validateCases(conditional);
    this.#validateRowMutation({ table, row, mutations: [...ifFound, ...ifNotFound] });
    this.#validateFilters(table, anyOf);
  }

  #validateRowMutation({ table, row, mutations }: RowMutation): void {
    validateRowKey(row);
    for (const mutation of mutations) {
      validateMutation(mutation);
      if (this.manifest.tombstones === true) validateTombstone(mutation);
      this.#table(table).requireFamily(mutation.family);
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new PercolatorError('STORE_CLOSED', 'the memory store was closed');
  }
}

/** Schemas are compared as sets: Bigtable returns families and splits in an order of its own. */
function normalized({ families, splits = [] }: TableSchema): TableSchema {
  return {
    families: [...new Set(families)].toSorted(compareUtf8),
    splits: [...new Set(splits)].toSorted(compareUtf8),
  };
}
