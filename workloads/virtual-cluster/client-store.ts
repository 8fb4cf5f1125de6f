/**
 * The storage contract, as a process on a machine of the cluster sees it: a client of the virtual
 * Bigtable. Its rows go to their tablet servers, those of one server in one call (call.ts).
 *
 * The client of Bigtable that it stands for knows where tablets are, and sends again what may be
 * repeated. As in the paper, conditional mutations for one server travel together (section 2.5).
 */
import { PercolatorError } from '#engine/base';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Row,
  RowMutation,
  RangeRead,
} from '../../engine/bigtable/index.ts';
import {
  validateCases,
  validateFilter,
  validateMutation,
  validateRange,
  validateRowKey,
  validateSchema,
} from '../../engine/bigtable/validate.ts';
import { type Caller, type RowWork, sendRows } from './call.ts';
import type { OperationKind } from './costs.ts';
import { compareKeys } from '../verification/world/table.ts';
import {
  ConditionalWork,
  MutateWork,
  ReadWork,
  type TabletScan,
  type Scanned,
  ScanWork,
  type Settlers,
} from './row-works.ts';
import type { Storage } from './storage.ts';

const MANIFEST: Manifest = {
  name: 'virtual',
  conditionalBatch: true,
  ordered: false,
  splits: true,
  skipsOldRows: true, // A scan costs what it returns.
  durability: 'the log of a tablet server survives its death; nothing survives the simulation',
};

export class ClientStore implements Bigtable {
  readonly manifest: Manifest = MANIFEST;
  readonly #storage: Storage;
  readonly #caller: Caller;
  #isClosed = false;
  #inFlight = 0;
  #closing: (() => void)[] = [];

  constructor(storage: Storage, caller: Caller) {
    this.#storage = storage;
    this.#caller = caller;
  }

  readRow(table: string, row: string, filters: readonly CellFilter[]): Promise<Row | undefined> {
    return this.#call('read', (resolve, reject) => {
      validateRowKey(row);
      filters.forEach(validateFilter);
      return [new ReadWork({ table, row, filters }, { resolve, reject })];
    });
  }

  readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    return this.#callMany<Row | undefined>('read', rows.length, (settlers) => {
      rows.forEach(validateRowKey);
      filters.forEach(validateFilter);
      return rows.map((row, i) => new ReadWork({ table, row, filters }, settlers(i)));
    });
  }

  /** One call for each tablet that the rows come from, one after the other. */
  async readRange(
    table: string,
    range: RangeRead,
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]> {
    this.#assertOpen();
    validateRange(range);
    filters.forEach(validateFilter);
    this.#inFlight++; // Between two of its calls, too: the store closes when all rows are read.
    try {
      return await this.#scan({ table, range, filters });
    } finally {
      this.#ended();
    }
  }

  async #scan({ table, range, filters }: TabletScan): Promise<readonly Row[]> {
    const { start = '', end, limit } = range;
    if (end !== undefined && compareKeys(start, end) >= 0) return []; // Asks no tablet.
    const rows: Row[] = [];
    for (let left: RangeRead | undefined = range; left !== undefined && rows.length < limit;) {
      const rest = { ...left, limit: limit - rows.length };
      const row = this.#firstRowOf(table, rest);
      const found: Scanned = await this.#send('scan', (resolve, reject) => [
        new ScanWork({ table, range: rest, filters }, { row, resolve, reject }),
      ]);
      rows.push(...found.rows);
      left = found.rest;
    }
    return rows;
  }

  /** A row of the range in the tablet that its scan comes to first. */
  #firstRowOf(table: string, { start = '', end, reverse = false }: RangeRead): string {
    if (!reverse) return start;
    const last = this.#storage.tablets.findBefore(table, end)?.start ?? '';
    return compareKeys(last, start) < 0 ? start : last;
  }

  checkAndMutateRow(conditional: ConditionalRowMutation): Promise<boolean> {
    return this.#call('conditionalMutate', (resolve, reject) => {
      validateConditional(conditional);
      return [new ConditionalWork(conditional, { resolve, reject })];
    });
  }

  async checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]> {
    const errors = conditionals.map(errorOf);
    const valid = conditionals.filter((_, i) => errors[i] === undefined);
    const answers = await this.#callMany<boolean | Error>(
      'conditionalMutate',
      valid.length,
      (settlers) => {
        return valid.map((conditional, i) => {
          const { resolve } = settlers(i);
          const reject = (error: unknown): void => resolve(error as Error);
          return new ConditionalWork(conditional, { resolve, reject });
        });
      },
    ).catch((error: unknown) => valid.map(() => error as Error));
    let next = 0;
    return errors.map((error) => error ?? (answers[next++] as boolean | Error));
  }

  async mutateRows(rows: readonly RowMutation[]): Promise<void> {
    await this.#callMany<void>('mutate', rows.length, (settlers) => {
      rows.forEach(validateRowMutation);
      return rows.map((row, i) => new MutateWork(row, settlers(i)));
    });
  }

  /** Takes a round trip, but no processor time: a real client knows the tablets already. */
  sampleRowKeys(table: string): Promise<readonly string[]> {
    return this.#administer(() => {
      this.#storage.table(table);
      return this.#storage.tablets.splitsOf(table);
    });
  }

  async createTable(...[table, schema]: Parameters<Bigtable['createTable']>): Promise<void> {
    validateSchema(table, schema);
    return this.#administer(() => this.#storage.createTable(table, schema));
  }

  listTables(): Promise<readonly string[]> {
    return this.#administer(() => [...this.#storage.tables.keys()]);
  }

  dropTable(table: string): Promise<void> {
    return this.#administer(() => this.#storage.dropTable(table));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#inFlight > 0) {
      await new Promise<void>((resolve) => this.#closing.push(resolve));
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call<T>(
    kind: OperationKind,
    works: (resolve: (value: T) => void, reject: (error: unknown) => void) => readonly RowWork[],
  ): Promise<T> {
    try {
      this.#assertOpen();
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#send(kind, works);
  }

  /** Also for a caller that was in flight when the store began to close. */
  #send<T>(
    kind: OperationKind,
    works: (resolve: (value: T) => void, reject: (error: unknown) => void) => readonly RowWork[],
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const made = works(
        (value) => {
          this.#ended();
          resolve(value);
        },
        (error) => {
          this.#ended();
          reject(asError(error));
        },
      );
      this.#inFlight++;
      sendRows(this.#storage, this.#caller, kind, made);
    });
  }

  /** All answers in order; the first error, when all have been answered. */
  #callMany<T>(
    kind: OperationKind,
    count: number,
    works: (settlers: (i: number) => Settlers<T>) => readonly RowWork[],
  ): Promise<readonly T[]> {
    return new Promise((resolve, reject) => {
      this.#assertOpen();
      const answers = Array.from<T>({ length: count });
      let left = count;
      let failed: { readonly error: unknown } | undefined;
      const end = (): void => {
        if (--left > 0) return;
        this.#ended();
        if (failed === undefined) resolve(answers);
        else reject(asError(failed.error));
      };
      const made = works((i) => ({
        resolve: (value) => {
          answers[i] = value;
          end();
        },
        reject: (error) => {
          failed ??= { error };
          end();
        },
      }));
      if (count === 0) return resolve(answers);
      this.#inFlight++;
      sendRows(this.#storage, this.#caller, kind, made);
    });
  }

  /** A call to the master, whose work takes no time here. */
  #administer<T>(change: () => T): Promise<T> {
    const { loop, costs } = this.#storage;
    const { machine, life } = this.#caller;
    return new Promise((resolve, reject) => {
      this.#assertOpen();
      this.#inFlight++;
      const roundTripUs = costs.roundTrip.next();
      const hear = (settle: () => void): void => {
        const happen = (): void =>
          machine.deliver(life, () => {
            this.#ended();
            settle();
          });
        loop.after(roundTripUs / 2, { happen });
      };
      const happen = (): void => {
        try {
          const value = change();
          hear(() => resolve(value));
        } catch (error) {
          if (!(error instanceof PercolatorError)) throw error;
          hear(() => reject(error));
        }
      };
      loop.after(roundTripUs / 2, { happen });
    });
  }

  #ended(): void {
    this.#inFlight--;
    if (this.#inFlight > 0 || this.#closing.length === 0) return;
    const closing = this.#closing;
    this.#closing = [];
    for (const resolve of closing) resolve();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new PercolatorError('STORE_CLOSED', 'the virtual store was closed');
  }
}

function validateRowMutation({ row, mutations }: Omit<RowMutation, 'table'>): void {
  validateRowKey(row);
  mutations.forEach(validateMutation);
}

function validateConditional(conditional: ConditionalRowMutation): void {
  const { row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
  validateCases(conditional);
  validateRowMutation({ row, mutations: ifFound });
  validateRowMutation({ row, mutations: ifNotFound });
  anyOf.forEach(validateFilter);
}

function errorOf(conditional: ConditionalRowMutation): Error | undefined {
  try {
    validateConditional(conditional);
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
