/**
 * Cases of the sweeps that the paper does not show: cells per transaction, versions per cell,
 * conflicts.
 */
import { openBulkLoader, type Percolator, type Random } from '#engine';
import type { Case } from './case.ts';
import { CELLS, COLUMN, type Data, FAMILY, LOADED, RAW, rawWrite } from './data.ts';
import { noteRawWrite, type LastWrites } from './figure-8-cases.ts';

export interface ComparedCases {
  readonly raw: Case;
  readonly percolator: Case;
}

/**
 * `cells` cells in as many rows: a raw write is one MutateRows, which is not atomic; Percolator's
 * is one transaction, which is.
 */
export function writesOfCells(
  percolator: Percolator,
  data: Data,
  written: LastWrites,
  cells: number,
): ComparedCases {
  const rowsOf = (operation: number): number[] =>
    Array.from({ length: cells }, (_, i) => data.rowOf(operation * cells + i));
  const key = (row: number): string => data.writeKeys[row] ?? '';
  return {
    raw: {
      name: `raw write of ${cells}`,
      operate: async (operation) => {
        const rows = rowsOf(operation);
        const write = (row: number): ReturnType<typeof rawWrite> =>
          rawWrite(key(row), data.value({ row, operation }), operation + 2);
        await percolator.store.mutateRows(rows.map(write));
        for (const row of rows) noteRawWrite(written.raw, row, operation);
      },
    },
    percolator: {
      name: `transaction of ${cells}`,
      operate: async (operation) => {
        const rows = rowsOf(operation);
        await percolator.transact(async (transaction) => {
          for (const row of rows) {
            const cell = { table: CELLS, row: key(row), column: COLUMN };
            transaction.set(cell, data.value({ row, operation }));
          }
        });
        for (const row of rows) written.percolator.set(row, operation);
      },
      settle: () => percolator.settled(),
    },
  };
}

/** Rows whose cells have many versions: as many as there are callers by default. */
const VERSION_ROWS = 64;
const NEWEST = [{ family: FAMILY, qualifier: COLUMN, versions: 1 }];

/** Reads of the newest of `versions` versions, which are written first. */
export async function readsOfVersions(
  percolator: Percolator,
  data: Data,
  versions: number,
): Promise<ComparedCases> {
  const keys = Array.from({ length: VERSION_ROWS }, (_, row) => `v${versions}-${row}`);
  const values = keys.map((_, row) => data.value({ row, operation: LOADED }));
  await loadVersions(percolator, { keys, values, versions });
  const numberOf = (operation: number): number => operation % VERSION_ROWS;
  return {
    raw: {
      name: `raw read of ${versions}`,
      operate: async (operation) => {
        const row = numberOf(operation);
        const found = await percolator.store.readRow(RAW, keys[row] ?? '', NEWEST);
        data.checkRead(row, found?.cells[0]?.value);
      },
    },
    percolator: {
      name: `Percolator read of ${versions}`,
      operate: async (operation) => {
        const row = numberOf(operation);
        const snapshot = await percolator.snapshot();
        const cell = { table: CELLS, row: keys[row] ?? '', column: COLUMN };
        data.checkRead(row, await snapshot.get(cell));
        await snapshot.close();
      },
    },
  };
}

interface Loading {
  readonly keys: readonly string[];
  readonly values: readonly Buffer[];
  readonly versions: number;
}

/** Versions loaded at the same time: their order does not matter, and each waits for the disk. */
const LOADED_AT_ONCE = 32;

async function loadVersions(percolator: Percolator, loading: Loading): Promise<void> {
  const { keys, values, versions } = loading;
  for (let version = 1; version <= versions; version += LOADED_AT_ONCE) {
    const count = Math.min(LOADED_AT_ONCE, versions + 1 - version);
    const some = Array.from({ length: count }, (_, i) => version + i);
    await Promise.all(some.map(() => loadVersion(percolator, loading)));
    await percolator.store.mutateRows(
      keys.flatMap((row, i) => some.map((at) => rawWrite(row, values[i] ?? Buffer.alloc(0), at))),
    );
  }
}

/** Each loader has a commit timestamp of its own. */
async function loadVersion(percolator: Percolator, { keys, values }: Loading): Promise<void> {
  const loader = await openBulkLoader(percolator);
  for (const [i, row] of keys.entries()) {
    const value = values[i] ?? Buffer.alloc(0);
    await loader.add({ table: CELLS, row, cells: [{ column: COLUMN, value }] });
  }
  await loader.finish();
}

/**
 * Transactions that increment one of a few counters: the sum shows whether an increment was lost.
 */
export class Counters {
  readonly #percolator: Percolator;
  readonly #keys: readonly string[];
  readonly #random: Random;
  /** Transactions that have committed; it only grows. */
  committed = 0;

  constructor(percolator: Percolator, random: Random, rows: number) {
    this.#percolator = percolator;
    this.#random = random;
    this.#keys = Array.from({ length: rows }, (_, row) => `c${rows}-${row}`);
  }

  get increments(): Case {
    return {
      name: `increments of ${this.#keys.length} counters`,
      operate: () => this.#increment(),
      settle: () => this.#percolator.settled(),
    };
  }

  /** Returns a sentence if the counters do not add up to the number of commits. */
  async check(): Promise<readonly string[]> {
    await using snapshot = await this.#percolator.snapshot();
    const values = await snapshot.getMany(this.#keys.map(cellOf));
    const sum = values.reduce((total, value) => total + Number(value ?? 0), 0);
    if (sum === this.committed) return [];
    return [`${this.committed} increments were committed, but the counters add up to ${sum}`];
  }

  async #increment(): Promise<void> {
    const cell = cellOf(this.#random.pick(this.#keys));
    await this.#percolator.transact(async (transaction) => {
      const before = Number((await transaction.get(cell)) ?? 0);
      transaction.set(cell, String(before + 1));
    });
    this.committed++;
  }
}

function cellOf(row: string): { table: string; row: string; column: string } {
  return { table: CELLS, row, column: COLUMN };
}
