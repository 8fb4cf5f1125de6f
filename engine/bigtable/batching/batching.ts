/**
 * Batching (section 2.5): a Bigtable that sends the operations of many callers in few RPCs.
 *
 * "Many conditional mutations destined for the same tablet server can also be batched together into
 * a single RPC ... We create batches by delaying lock operations ... We also perform the same
 * batching when reading from the table: every read operation is delayed to give it a chance to form
 * a batch."
 *
 *     lane           operations                      RPC
 *     reads          reads of rows                   ReadRows: one for rows of a table read in one
 *                                                    shape (kinds.ts)
 *     conditionals   commits of primaries, and       many in one where the storage can
 *                    resolving of locks; after       (`conditionalBatch`), as the paper's could;
 *                    them prewrites and secondaries  elsewhere each is sent alone, at once
 *     urgent         marks: a commit may wait for    MutateRows: one for a table
 *                    them
 *     bulk           rollbacks, garbage collection,  MutateRows: one for a table
 *                    the rows of bulk loads
 *
 * scheduler.ts says when a batch is sent, and why no lane waits for another. Only the storage knows
 * which tablet server holds a row; if it has several, it divides a batch among them.
 *
 * Each caller receives its own outcome. If a call for many fails in one row, a blind mutation of
 * another row may have been applied or not: STORE_IN_DOUBT. If the storage refuses the call because
 * of one caller's request, each request is sent again alone, so that the others do not suffer: a
 * blind mutation may be repeated (promise 5 of the contract). No conditional mutation is ever sent
 * twice.
 *
 * Lanes overtake one another, so the order in which mutations were sent is not kept, and
 * `manifest.ordered` is false. Reads of ranges and operations on whole tables pass through
 * unchanged.
 */
import { type Clock, PercolatorError } from '../../base/index.ts';
import type { Bigtable, ConditionalRowMutation, Manifest } from '../bigtable.ts';
import { answersTo } from '../decorate.ts';
import { validateFilter, validateMutation, validateRowKey } from '../validate.ts';
import { BlindMutations, Conditionals, type ReadRequest, Reads, shapeOf } from './kinds.ts';
import {
  type BatchingCounters,
  type BatchingOptions,
  type BatchingSettings,
  noCounts,
  Scheduler,
  settingsOf,
} from './scheduler.ts';

/**
 * Wraps `store`; closing the returned store closes both. With 'off' it is `store` itself, and
 * nothing is counted.
 * @throws INVALID_ARGUMENT if an option is wrong
 */
export function batchBigtable(
  store: Bigtable,
  clock: Clock,
  options: BatchingOptions | 'off',
): { readonly store: Bigtable; readonly counters: Readonly<BatchingCounters> } {
  const counters = noCounts();
  if (options === 'off') return { store, counters };
  const settings = settingsOf(options);
  const scheduler = new Scheduler(clock, settings, counters);
  return { store: new BatchingBigtable(store, { settings, scheduler, counters }), counters };
}

class BatchingBigtable implements Bigtable {
  readonly manifest: Manifest;
  readonly onChange: Bigtable['onChange'];
  /** What waits here to be sent has callers that wait. */
  readonly fence: Bigtable['fence'];
  readonly #store: Bigtable;
  readonly #settings: BatchingSettings;
  readonly #scheduler: Scheduler;
  readonly #reads: Reads;
  readonly #conditionals: Conditionals;
  readonly #urgent: BlindMutations;
  readonly #bulk: BlindMutations;
  readonly #counters: BatchingCounters;
  #closed: Promise<void> | undefined;

  constructor(
    store: Bigtable,
    parts: {
      readonly settings: BatchingSettings;
      readonly scheduler: Scheduler;
      readonly counters: BatchingCounters;
    },
  ) {
    const { settings, scheduler, counters } = parts;
    this.#store = store;
    this.#settings = settings;
    this.#scheduler = scheduler;
    this.#counters = counters;
    this.#reads = new Reads(store, counters);
    this.#conditionals = new Conditionals(store, counters);
    this.#urgent = new BlindMutations(store, 'urgent', counters);
    this.#bulk = new BlindMutations(store, 'bulk', counters);
    this.manifest = { ...store.manifest, ordered: false, batches: true };
    this.onChange = store.onChange?.bind(store);
    const fence = store.fence?.bind(store);
    this.fence = fence && (() => this.#pass(fence));
  }

  readonly readRow: Bigtable['readRow'] = async (table, row, filters) => {
    const [only] = await this.readRows(table, [row], filters);
    return only;
  };

  readonly readRows: Bigtable['readRows'] = async (table, rows, filters) => {
    this.#assertOpen();
    rows.forEach(validateRowKey);
    filters.forEach(validateFilter);
    const request: ReadRequest = { table, rows, filters };
    const key = `read\0${table}\0${shapeOf(filters)}`;
    return this.#scheduler.submit(this.#reads, request, { key });
  };

  readonly readRange: Bigtable['readRange'] = async (table, range, filters) =>
    this.#pass(() => this.#store.readRange(table, range, filters));

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) => {
    this.#assertOpen();
    if (this.manifest.conditionalBatch) return this.#submitConditional(conditional, true);
    this.#countConditionals(1);
    return this.#pass(() => this.#store.checkAndMutateRow(conditional));
  };

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = (conditionals) => {
    if (this.#closed !== undefined) return Promise.resolve(conditionals.map(wasClosed));
    if (!this.manifest.conditionalBatch) {
      this.#countConditionals(conditionals.length);
      return this.#scheduler.pass(() => this.#store.checkAndMutateRows(conditionals));
    }
    return answersTo(conditionals.map((one) => this.#submitConditional(one, false)));
  };

  readonly mutateRows: Bigtable['mutateRows'] = async (rows) => {
    this.#assertOpen();
    for (const { row, mutations } of rows) {
      validateRowKey(row);
      mutations.forEach(validateMutation);
    }
    const groups = Map.groupBy(
      rows,
      (row) => `${this.#settings.isUrgent(row) ? 'urgent' : 'bulk'}\0${row.table}`,
    );
    const calls = [...groups].map(([key, group]) =>
      this.#scheduler.submit(key.startsWith('urgent') ? this.#urgent : this.#bulk, group, { key }),
    );
    // Waits for all, even when one has failed: then nothing of the call is still to be applied.
    const outcomes = await Promise.allSettled(calls);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  };

  readonly sampleRowKeys: Bigtable['sampleRowKeys'] = async (table) =>
    this.#pass(() => this.#store.sampleRowKeys(table));

  readonly createTable: Bigtable['createTable'] = async (table, schema) => {
    await this.#pass(() => this.#store.createTable(table, schema));
  };

  readonly listTables: Bigtable['listTables'] = async () =>
    this.#pass(() => this.#store.listTables());

  readonly dropTable: Bigtable['dropTable'] = async (table) => {
    await this.#pass(() => this.#store.dropTable(table));
  };

  async close(): Promise<void> {
    this.#closed ??= this.#scheduler.drain().then(() => this.#store.close());
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * A single conditional commits a primary, or resolves a lock. Several at a time are prewrites or
   * secondaries, of which a large transaction has thousands. So single ones go first.
   */
  #submitConditional(conditional: ConditionalRowMutation, goesFirst: boolean): Promise<boolean> {
    return this.#scheduler.submit(this.#conditionals, conditional, {
      key: 'conditional',
      goesFirst,
    });
  }

  #countConditionals(rows: number): void {
    const counters = this.#counters.conditionals;
    counters.operations += rows;
    counters.rows += rows;
    counters.rowsSent += rows;
    counters.rpcs += rows;
  }

  async #pass<T>(call: () => Promise<T>): Promise<T> {
    this.#assertOpen();
    return this.#scheduler.pass(call);
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw wasClosed();
  }
}

function wasClosed(): PercolatorError {
  return new PercolatorError('STORE_CLOSED', 'the store was closed');
}
