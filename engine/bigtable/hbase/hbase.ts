/**
 * An Apache HBase, 2.6 or newer, as a Bigtable: the open-source system of the same design.
 *
 *     call ──▶ checked (checked-store.ts) ──▶ calls to the servers ──▶ answers, doubt
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
import {
  type Bigtable,
  type CellFilter,
  type ConditionalRowMutation,
  type Manifest,
  type Mutation,
  type Row,
  type RowMutation,
  type RowRange,
  TIMESTAMP_MAX,
} from '../bigtable.ts';
import { CheckedStore, isAboutSchema } from '../checked-store.ts';
import { keyAfter } from '../reading.ts';
import { validateTombstone } from '../validate.ts';
import { type OperationAnswer, Calls, type Operation } from './calls.ts';
import { asFailure } from './failures.ts';
import type { Master, Regions } from './regions.ts';
import type { Condition, ScanRequest } from './messages.ts';
import {
  checkCondition,
  endpointCall,
  exists,
  isAbsent,
  protosOf,
  rowOf,
  type Selecting,
  selectionFor,
  widened,
} from './requests.ts';
import type { Servers } from './servers.ts';
import { HBaseTables } from './tables.ts';

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

export class HBaseBigtable extends CheckedStore {
  readonly #servers: Servers;
  readonly #regions: Regions;
  readonly #calls: Calls;
  readonly #tables: HBaseTables;

  constructor(options: HBaseStoreOptions) {
    const tables = new HBaseTables(options);
    super({ ...options, name: 'the HBase store', tables });
    this.#servers = options.servers;
    this.#regions = options.regions;
    this.#calls = new Calls(options);
    this.#tables = tables;
  }

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) => {
    const [answer] = await this.checkAndMutateRows([conditional]);
    if (answer instanceof Error) throw answer;
    return answer as boolean;
  };

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = async (conditionals) => {
    try {
      return await this.run([], async () => {
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

  protected async sendMutateRows(rows: readonly RowMutation[]): Promise<void> {
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
  }

  protected async sendSampleRowKeys(table: string): Promise<readonly string[]> {
    this.#regions.forget(table);
    const regions = await this.#regions.of(table);
    return regions.flatMap(({ start }) => (start.length === 0 ? [] : [start.toString()]));
  }

  protected disconnect(): Promise<void> | void {
    return this.#servers.close();
  }

  protected async sendReadRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    const selecting = selectionFor(filters);
    if (selecting === undefined) return rows.map(() => undefined);
    const keys = [...new Set(rows)];
    const found = await this.#get(table, keys, selecting);
    if (keys.length === rows.length) return found;
    const byKey = new Map(keys.map((key, i) => [key, found[i]]));
    return rows.map((row) => byKey.get(row));
  }

  protected async sendReadRange(
    table: string,
    range: RowRange & { readonly limit: number },
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]> {
    const selecting = selectionFor(filters);
    if (selecting === undefined || range.end === '') return []; // HBase reads '' as no end.
    return this.#scan(table, range, selecting);
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
      const { anyOf, ifFound = [], ifNotFound = [] } = conditional;
      await this.checkConditional(conditional);
      anyOf.forEach(checkCondition);
      [...ifFound, ...ifNotFound].forEach(validateTombstone);
      return undefined;
    } catch (error) {
      return asFailure(error);
    }
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
      plans.map((plan, i) => this.#finish(plan, answers[i] as OperationAnswer | PercolatorError)),
    );
  }

  async #finish(plan: Plan, first: OperationAnswer | PercolatorError): Promise<boolean | Error> {
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
      [answer] = (await this.#send([next.operation], 'conditional')) as [
        OperationAnswer | PercolatorError,
      ];
    }
  }

  #send(
    operations: readonly Operation[],
    purpose: 'read' | 'mutation' | 'conditional',
  ): Promise<readonly (OperationAnswer | PercolatorError)[]> {
    return this.#calls.run(operations, purpose).then((answers) => {
      for (const [i, answer] of answers.entries()) {
        const operation = operations[i];
        if (operation !== undefined && isAboutSchema(answer)) this.#tables.forget(operation.table);
      }
      return answers;
    });
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
