/**
 * The three kinds of RPC that several callers can share, and how each caller receives its own
 * outcome.
 */
import { assert, PercolatorError } from '../../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Row,
  RowMutation,
} from '../bigtable.ts';
import type { BatchingCounters, LaneCounters } from './counters.ts';
import type { Kind } from './scheduler.ts';
import { cutBack, widest } from './widen.ts';

type Outcome<T> = PromiseSettledResult<T>;
type Rows = readonly (Row | undefined)[];

export interface ReadRequest {
  readonly table: string;
  readonly rows: readonly string[];
  readonly filters: readonly CellFilter[];
}

/** Reads of one table and one shape. */
export class Reads implements Kind<ReadRequest, Rows> {
  readonly lane = 'reads';
  readonly #store: Bigtable;
  readonly #counters: BatchingCounters;

  constructor(store: Bigtable, counters: BatchingCounters) {
    this.#store = store;
    this.#counters = counters;
  }

  rowsOf({ rows }: ReadRequest): number {
    return rows.length;
  }

  async send(requests: readonly ReadRequest[]): Promise<readonly Outcome<Rows>[]> {
    const [first] = requests;
    assert(first !== undefined, 'a batch has at least one request');
    if (requests.length === 1) return Promise.allSettled([this.#read(first)]);
    const { table } = first;
    const rows = [...new Set(requests.flatMap((request) => request.rows))];
    const asked = widest(requests.map(({ filters }) => filters));
    try {
      const answers = await this.#read({ table, rows, filters: asked });
      const found = new Map(rows.map((row, i) => [row, answers[i]]));
      const parts = requests.map((request) => this.#partOf(request, found, asked));
      return parts.every(isHere)
        ? parts.map((value) => ({ status: 'fulfilled', value }))
        : await Promise.allSettled(parts.map(async (part) => part));
    } catch (reason) {
      if (isAboutOne(reason)) {
        return Promise.allSettled(requests.map((request) => this.#read(request)));
      }
      return requests.map(() => ({ status: 'rejected', reason }));
    }
  }

  /** A promise only if a row must be read again, which is rare. */
  #partOf(
    request: ReadRequest,
    found: ReadonlyMap<string, Row | undefined>,
    asked: readonly CellFilter[],
  ): Rows | Promise<Rows> {
    const { filters } = request;
    const parts = request.rows.map((row) => cutBack(found.get(row), filters, asked));
    return parts.every((part) => part !== null) ? parts : this.#completed(request, parts);
  }

  async #completed(
    request: ReadRequest,
    parts: readonly (Row | undefined | null)[],
  ): Promise<Rows> {
    const { table, filters } = request;
    const hidden = request.rows.filter((_, i) => parts[i] === null);
    this.#counters.readAgain += hidden.length;
    const again = await this.#read({ table, rows: hidden, filters });
    const byRow = new Map(hidden.map((row, i) => [row, again[i]]));
    return parts.map((part, i) => (part === null ? byRow.get(request.rows[i] ?? '') : part));
  }

  #read({ table, rows, filters }: ReadRequest): Promise<Rows> {
    count(this.#counters.reads, rows.length);
    return this.#store.readRows(table, rows, filters);
  }
}

function isHere(part: Rows | Promise<Rows>): part is Rows {
  return !(part instanceof Promise);
}

/** Conditional mutations of any tables, where the storage takes many in one RPC. */
export class Conditionals implements Kind<ConditionalRowMutation, boolean> {
  readonly lane = 'conditionals';
  readonly #store: Bigtable;
  readonly #counters: BatchingCounters;

  constructor(store: Bigtable, counters: BatchingCounters) {
    this.#store = store;
    this.#counters = counters;
  }

  rowsOf(): number {
    return 1;
  }

  async send(requests: readonly ConditionalRowMutation[]): Promise<readonly Outcome<boolean>[]> {
    count(this.#counters.conditionals, requests.length);
    try {
      const answers = await this.#store.checkAndMutateRows(requests);
      return requests.map((_, i) => asOutcome(answers[i]));
    } catch (reason) {
      return requests.map(() => ({ status: 'rejected', reason }));
    }
  }
}

/** Blind mutations of one table. The rows of one caller share one outcome. */
export class BlindMutations implements Kind<readonly RowMutation[], void> {
  readonly lane: 'urgent' | 'bulk';
  readonly #store: Bigtable;
  readonly #counters: LaneCounters;

  constructor(store: Bigtable, lane: 'urgent' | 'bulk', counters: BatchingCounters) {
    this.lane = lane;
    this.#store = store;
    this.#counters = counters[lane];
  }

  rowsOf(request: readonly RowMutation[]): number {
    return request.length;
  }

  async send(requests: readonly (readonly RowMutation[])[]): Promise<readonly Outcome<void>[]> {
    try {
      await this.#mutate(requests.flat());
      return requests.map(() => ({ status: 'fulfilled', value: undefined }));
    } catch (reason) {
      if (requests.length > 1 && isAboutOne(reason)) {
        return Promise.allSettled(requests.map((request) => this.#mutateAlone(request)));
      }
      const own = requests.length > 1 ? ofEach(reason) : reason;
      return requests.map(() => ({ status: 'rejected', reason: own }));
    }
  }

  /**
   * A refusal is about this request alone. After any other failure, the shared call that came
   * before may have applied some of its rows (`ofEach`).
   */
  async #mutateAlone(rows: readonly RowMutation[]): Promise<void> {
    try {
      await this.#mutate(rows);
    } catch (reason) {
      throw isAboutOne(reason) ? reason : ofEach(reason);
    }
  }

  #mutate(rows: readonly RowMutation[]): Promise<void> {
    count(this.#counters, rows.length);
    return this.#store.mutateRows(rows);
  }
}

function count(counters: LaneCounters, rows: number): void {
  counters.rpcs++;
  counters.rowsSent += rows;
}

function asOutcome(answer: boolean | Error | undefined): Outcome<boolean> {
  if (typeof answer === 'boolean') return { status: 'fulfilled', value: answer };
  const reason = answer ?? new PercolatorError('STORE_IN_DOUBT', 'the storage gave no answer');
  return { status: 'rejected', reason };
}

const REFUSALS: ReadonlySet<string> = new Set([
  'INVALID_ARGUMENT',
  'FAMILY_NOT_FOUND',
  'STORE_REFUSED',
  'STORE_DAMAGED',
  'TABLE_MISMATCH',
]);

/**
 * Whether the storage may have refused one caller's request, which says nothing about the others.
 * Each request is then sent alone, and hears its own outcome.
 */
function isAboutOne(reason: unknown): boolean {
  return reason instanceof PercolatorError && REFUSALS.has(reason.code);
}

/**
 * The failure of a shared call, as each caller receives it. A failure of the whole table or store,
 * and an error that is no PercolatorError, reach each caller unchanged. Any other failure may come
 * from one row, while the mutations of other rows were applied.
 */
function ofEach(reason: unknown): unknown {
  const isAboutAll =
    !(reason instanceof PercolatorError) ||
    ['TABLE_NOT_FOUND', 'READ_ONLY', 'STORE_CLOSED'].includes(reason.code);
  if (isAboutAll) return reason;
  const message = 'a call that carried several mutations has failed; some may have been applied';
  return new PercolatorError('STORE_IN_DOUBT', message, { cause: reason });
}
