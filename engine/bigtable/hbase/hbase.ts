/**
 * An Apache HBase, 2.6 or newer, as a Bigtable: the open-source system of the same design.
 *
 *     call ──▶ checked ──▶ families known? ──▶ calls to the servers ──▶ answers, doubt
 *
 * Conditional mutations go through the MultiRowMutationEndpoint, a service that ships with HBase
 * and is switched on for our tables: several conditions, each with a range of timestamps, and all
 * mutations of the row in one step. Many of them share a call (`manifest.conditionalBatch`): the
 * change that the paper's authors made to their Bigtable.
 *
 * What it does not do (`manifest.tombstones`, `manifest.checksColumns`): check whole families,
 * erase a range other than one timestamp or all up to one, and show what is set later within an
 * erase.
 */
import { type Clock, PercolatorError } from '../../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Mutation,
  Row,
  RowRange,
} from '../bigtable.ts';
import { TIMESTAMP_MAX } from '../bigtable.ts';
import { InFlight } from '../in-flight.ts';
import { keyAfter } from '../range-scan.ts';
import {
  invalid,
  validateFilter,
  validateMutation,
  validateRange,
  validateStoredRow,
  validateSchema,
  validateTombstone,
} from '../validate.ts';
import { type Answer, Calls, type Operation } from './calls.ts';
import { asFailure, errorOf, type Purpose } from './failures.ts';
import type { Master } from './master.ts';
import type { Condition, ScanRequest } from './messages.ts';
import { checkCondition, endpointCall, exists, isAbsent, protosOf } from './mutations.ts';
import { rowOf, type Selecting, selectionFor, widened } from './reads.ts';
import type { Regions } from './regions.ts';
import type { Servers } from './servers.ts';
import { Tables } from './tables.ts';

const ROWS_PER_SCAN = 2000;
/** The most rounds of the calls of one check: it starts over if the row changes between them. */
const ROUNDS_MAX = 100;

export interface HBaseStoreOptions {
  readonly servers: Servers;
  readonly master: Master;
  readonly regions: Regions;
  readonly clock: Clock;
  readonly namespace: string;
  readonly timeoutMs: number;
  readonly readOnly: boolean;
  readonly manifest: Manifest;
}

export class HBaseBigtable implements Bigtable {
  readonly manifest: Manifest;
  readonly #servers: Servers;
  readonly #regions: Regions;
  readonly #calls: Calls;
  readonly #tables: Tables;
  readonly #readOnly: boolean;
  readonly #inFlight = new InFlight('the HBase store');

  constructor(options: HBaseStoreOptions) {
    this.manifest = options.manifest;
    this.#servers = options.servers;
    this.#regions = options.regions;
    this.#readOnly = options.readOnly;
    this.#calls = new Calls(options);
    this.#tables = new Tables(options);
  }

  readonly readRow: Bigtable['readRow'] = (table, row, filters) =>
    this.#run(async () => {
      const [found] = await this.#readRows(table, [row], filters);
      return found;
    }, [table]);

  readonly readRows: Bigtable['readRows'] = (table, rows, filters) =>
    this.#run(() => this.#readRows(table, rows, filters), [table]);

  readonly readRange: Bigtable['readRange'] = (table, range, filters) =>
    this.#run(async () => {
      validateRange(range);
      filters.forEach(validateFilter);
      await this.#checkFamilies(table, filters);
      const selecting = selectionFor(filters);
      if (selecting === undefined || range.end === '') return []; // HBase reads '' as no end.
      return this.#scan(table, range, selecting);
    }, [table]);

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) => {
    const [answer] = await this.checkAndMutateRows([conditional]);
    if (answer instanceof Error) throw answer;
    return answer as boolean;
  };

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = async (conditionals) => {
    try {
      return await this.#run(async () => {
        const errors = await Promise.all(conditionals.map((one) => this.#refusalOf(one)));
        const good = conditionals.filter((_, i) => errors[i] === undefined);
        const answers = await this.#mutateConditionally(good);
        return errors.map((error) => error ?? (answers.shift() as boolean | Error));
      });
    } catch (error) {
      const failure = asFailure(error);
      return conditionals.map(() => failure);
    }
  };

  readonly mutateRows: Bigtable['mutateRows'] = (rows) =>
    this.#run(async () => {
      this.#assertWritable();
      for (const { row, mutations } of rows) validateRow(row, mutations);
      for (const { table, mutations } of rows) await this.#checkFamilies(table, mutations);
      for (const { mutations } of rows) mutations.forEach(validateTombstone);
      const operations = rows.flatMap(({ table, row, mutations: [first, ...more] }) => {
        if (first === undefined) return [];
        const key = Buffer.from(row);
        const protos = protosOf(key, [first, ...more]);
        const actions = protos.map((mutation) => ({ mutation }));
        return [{ table, row: key, family: first.family, actions }];
      });
      for (const answer of await this.#send(operations, 'mutation')) {
        if (answer instanceof Error) throw answer;
      }
    }, [...new Set(rows.map(({ table }) => table))]);

  readonly sampleRowKeys: Bigtable['sampleRowKeys'] = (table) =>
    this.#run(async () => {
      this.#regions.forget(table);
      const regions = await this.#regions.of(table);
      return regions.flatMap(({ start }) => (start.length === 0 ? [] : [start.toString()]));
    }, [table]);

  readonly createTable: Bigtable['createTable'] = (table, schema) =>
    this.#run(async () => {
      this.#assertWritable();
      validateSchema(table, schema);
      await this.#administrate('mutation', `making table ${table}`, () =>
        this.#tables.create(table, schema),
      );
    });

  readonly listTables: Bigtable['listTables'] = () =>
    this.#run(() => this.#administrate('read', 'listing tables', () => this.#tables.list()));

  readonly dropTable: Bigtable['dropTable'] = (table) =>
    this.#run(async () => {
      this.#assertWritable();
      await this.#administrate('mutation', `dropping table ${table}`, () =>
        this.#tables.drop(table),
      );
    });

  async close(): Promise<void> {
    await this.#inFlight.close(() => this.#servers.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Runs one operation. An error about a missing table or family may be due to a table that was
   * recreated, so what is known of the operation's tables is forgotten.
   */
  async #run<T>(operation: () => Promise<T>, tables: readonly string[] = []): Promise<T> {
    try {
      return await this.#inFlight.run(operation);
    } catch (error) {
      if (isAboutSchema(error)) for (const table of tables) this.#tables.forget(table);
      throw error;
    }
  }

  async #readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    for (const row of rows) validateRow(row);
    filters.forEach(validateFilter);
    await this.#checkFamilies(table, filters);
    const selecting = selectionFor(filters);
    if (selecting === undefined) return rows.map(() => undefined);
    const keys = [...new Set(rows)];
    const found = await this.#get(table, keys, selecting);
    if (keys.length === rows.length) return found;
    const byKey = new Map(keys.map((key, i) => [key, found[i]]));
    return rows.map((row) => byKey.get(row));
  }

  /** Each row as of one moment; those whose answer may lack versions are read again. */
  async #get(
    table: string,
    keys: readonly string[],
    selecting: Selecting,
  ): Promise<readonly (Row | undefined)[]> {
    const family = selecting.filters[0]?.family ?? '';
    const operations = keys.map((key): Operation => {
      const row = Buffer.from(key);
      return { table, row, family, actions: [{ get: { row, ...selecting.selection } }] };
    });
    const answers = await this.#send(operations, 'read');
    const rows = answers.map((answer) => {
      if (answer instanceof Error) throw answer;
      return rowOf(answer.result, selecting);
    });
    const lacking = keys.filter((_, i) => rows[i]?.isComplete === false);
    if (lacking.length === 0) return rows.map(({ row }) => row);
    const again = [...(await this.#get(table, lacking, widened(selecting)))];
    return rows.map(({ row, isComplete }) => (isComplete ? row : again.shift()));
  }

  async #scan(
    table: string,
    range: RowRange & { readonly limit: number },
    selecting: Selecting,
  ): Promise<readonly Row[]> {
    const { end } = range;
    const stopRow = end === undefined ? Buffer.alloc(0) : Buffer.from(end);
    const family = selecting.filters[0]?.family ?? '';
    const rows: Row[] = [];
    let start = Buffer.from(range.start ?? '');
    while (stopRow.length === 0 || Buffer.compare(start, stopRow) < 0) {
      const numberOfRows = Math.ceil(Math.min(range.limit - rows.length, ROWS_PER_SCAN));
      const scan = { startRow: start, stopRow, ...selecting.selection };
      const request: ScanRequest = { scan, numberOfRows, limitOfRows: numberOfRows };
      const page = await this.#calls.scan({ table, row: start, family }, request);
      const read = page.results.map((result) => rowOf(result, selecting));
      const lacking = page.results.filter((_, i) => read[i]?.isComplete === false);
      const keys = lacking.map(({ cell: [first] }) => Buffer.from(first?.row ?? []).toString());
      const again =
        keys.length === 0 ? [] : [...(await this.#get(table, keys, widened(selecting)))];
      for (const { row, isComplete } of read) {
        const found = isComplete ? row : again.shift();
        if (found !== undefined) rows.push(found);
      }
      if (rows.length >= range.limit) return rows;
      const last = page.results.at(-1)?.cell[0]?.row;
      if (page.isWhole && page.region.end.length === 0) return rows;
      if (page.isWhole) start = Buffer.from(page.region.end);
      else if (last !== undefined) start = Buffer.from(keyAfter(Buffer.from(last).toString()));
    }
    return rows;
  }

  async #refusalOf(conditional: ConditionalRowMutation): Promise<Error | undefined> {
    try {
      await this.#checkConditional(conditional);
      return undefined;
    } catch (error) {
      return asFailure(error);
    }
  }

  async #checkConditional(conditional: ConditionalRowMutation): Promise<void> {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    this.#assertWritable();
    if (ifFound.length + ifNotFound.length === 0) {
      throw invalid('a conditional mutation must mutate in some case');
    }
    validateRow(row, ifFound);
    validateRow(row, ifNotFound);
    anyOf.forEach(validateFilter);
    await this.#checkFamilies(table, [...anyOf, ...ifFound, ...ifNotFound]);
    anyOf.forEach(checkCondition);
    [...ifFound, ...ifNotFound].forEach(validateTombstone);
  }

  /**
   * The conditionals of the protocol have one branch, and need one call: with `ifNotFound` any
   * number of filters, with `ifFound` one. Other conditionals need several calls, one for each way
   * to be answered. The first call whose conditions hold applies its mutations and is the answer.
   */
  async #mutateConditionally(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<(boolean | Error)[]> {
    const plans = conditionals.map(planOf);
    const firsts = plans.map(({ steps }) => steps[0] as Step);
    const answers = await this.#send(
      firsts.map(({ operation }) => operation),
      'conditional',
    );
    return Promise.all(
      plans.map((plan, i) => this.#finish(plan, answers[i] as Answer | PercolatorError)),
    );
  }

  async #finish(plan: Plan, first: Answer | PercolatorError): Promise<boolean | Error> {
    let answer = first;
    for (let i = 0; ;) {
      if (answer instanceof Error) return answer;
      const step = plan.steps[i % plan.steps.length] as Step;
      if (answer.isApplied) return step.found;
      if (plan.otherwise !== undefined) return plan.otherwise;
      if (++i >= ROUNDS_MAX * plan.steps.length) {
        return new PercolatorError('STORE_UNAVAILABLE', 'the row changed during each check');
      }
      const next = plan.steps[i % plan.steps.length] as Step;
      [answer] = (await this.#send([next.operation], 'conditional')) as [Answer | PercolatorError];
    }
  }

  #send(
    operations: readonly Operation[],
    purpose: 'read' | 'mutation' | 'conditional',
  ): Promise<readonly (Answer | PercolatorError)[]> {
    return this.#calls.run(operations, purpose).then((answers) => {
      for (const [i, answer] of answers.entries()) {
        const operation = operations[i];
        if (operation !== undefined && isAboutSchema(answer)) this.#tables.forget(operation.table);
      }
      return answers;
    });
  }

  /** Loads the table's families, if they are unknown or may have changed. */
  async #checkFamilies(table: string, wanted: readonly { family: string }[]): Promise<void> {
    const known = this.#tables.known(table);
    if (known !== undefined && wanted.every(({ family }) => known.has(family))) return;
    const families = await this.#administrate('read', `looking at table ${table}`, () =>
      this.#tables.load(table),
    );
    const missing = wanted.find(({ family }) => !families.has(family));
    if (missing === undefined) return;
    throw new PercolatorError(
      'FAMILY_NOT_FOUND',
      `table ${table} has no family ${missing.family}; it has ${[...families].join(', ')}`,
    );
  }

  /** Asks the master: a failed look at tables leaves nothing in doubt. */
  async #administrate<T>(purpose: Purpose, what: string, operation: () => Promise<T>): Promise<T> {
    try {
      return await operation();
    } catch (error) {
      throw errorOf(error, purpose, what);
    }
  }

  #assertWritable(): void {
    if (!this.#readOnly) return;
    throw new PercolatorError('READ_ONLY', 'the HBase store was opened for reading only');
  }
}

/** One call of the endpoint, and what it means if it was applied: whether a cell was found. */
interface Step {
  readonly operation: Operation;
  readonly found: boolean;
}

interface Plan {
  readonly steps: readonly Step[];
  /** What it means if the first step was not applied; undefined if other steps must say. */
  readonly otherwise: boolean | undefined;
}

function planOf(conditional: ConditionalRowMutation): Plan {
  const { table, row: key, ifFound = [], ifNotFound = [] } = conditional;
  const anyOf = conditional.anyOf.filter(({ from = 0, to = TIMESTAMP_MAX }) => from <= to);
  const row = Buffer.from(key);
  const family = [...ifNotFound, ...ifFound][0]?.family ?? '';
  const step = (
    conditions: readonly Condition[],
    mutations: readonly Mutation[],
    found: boolean,
  ): Step => {
    const actions = [endpointCall(row, conditions, mutations)];
    const isWriting = mutations.length > 0;
    return { operation: { table, row, family, actions, isWriting }, found };
  };
  const none = step(
    anyOf.map((filter) => isAbsent(row, filter)),
    ifNotFound,
    false,
  );
  if (ifFound.length === 0) return { steps: [none], otherwise: true };
  const some = anyOf.map((filter) => step([exists(row, filter)], ifFound, true));
  if (ifNotFound.length === 0 && some.length === 1) return { steps: some, otherwise: false };
  return { steps: [none, ...some], otherwise: undefined };
}

function isAboutSchema(error: unknown): boolean {
  return (
    error instanceof PercolatorError &&
    (error.code === 'TABLE_NOT_FOUND' || error.code === 'FAMILY_NOT_FOUND')
  );
}

function validateRow(row: string, mutations: readonly Mutation[] = []): void {
  validateStoredRow(row);
  mutations.forEach(validateMutation);
}
