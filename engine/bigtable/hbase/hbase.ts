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
  type RangeRead,
  TIMESTAMP_MAX,
} from '../bigtable.ts';
import { CheckedStore, isAboutSchema } from '../checked-store.ts';
import { validateTombstone } from '../validate.ts';
import { type OperationAnswer, Calls, type Operation, type ScanPage } from './calls.ts';
import { asFailure } from './failures.ts';
import type { Master, Regions } from './regions.ts';
import type { Condition, Result, ScanBounds } from './messages.ts';
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
    range: RangeRead,
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
    { start = '', end = '', limit, reverse = false }: RangeRead,
    selecting: Selecting,
  ): Promise<readonly Row[]> {
    const family = selecting.filters[0]?.family ?? '';
    const rows: Row[] = [];
    let left: Keys | undefined = { start: Buffer.from(start), end: Buffer.from(end), reverse };
    while (left !== undefined && !isEmpty(left)) {
      const numberOfRows = Math.ceil(Math.min(limit - rows.length, ROWS_PER_SCAN));
      const scan = { ...boundsOf(left), ...selecting.selection };
      const request = { scan, numberOfRows, limitOfRows: numberOfRows };
      const page: ScanPage = await this.#calls.scan({ table, family }, request);
      rows.push(...(await this.#rowsOf(table, page.results, selecting)));
      if (rows.length >= limit) return rows;
      left = restAfter(left, page);
    }
    return rows;
  }

  /** Those whose answer may lack versions are read again. */
  async #rowsOf(
    table: string,
    results: readonly Result[],
    selecting: Selecting,
  ): Promise<readonly Row[]> {
    const read = results.map((result) => rowOf(result, selecting));
    const lacking = results.filter((_, i) => read[i]?.isComplete === false);
    const keys = lacking.map((result) => rowKeyOf(result).toString());
    const again = keys.length === 0 ? [] : [...(await this.#get(table, keys, widened(selecting)))];
    const rows = read.map(({ row, isComplete }) => (isComplete ? row : again.shift()));
    return rows.filter((row) => row !== undefined);
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

/** What is left of a range. As bytes: HBase splits regions also between characters. */
interface Keys {
  readonly start: Buffer;
  /** Empty: the end of the table. */
  readonly end: Buffer;
  readonly reverse: boolean;
}

function isEmpty({ start, end }: Keys): boolean {
  return end.length > 0 && Buffer.compare(start, end) >= 0;
}

/** In reverse, HBase starts at the end. */
function boundsOf({ start, end, reverse }: Keys): ScanBounds {
  if (!reverse) return { startRow: start, stopRow: end };
  const includes = { includeStartRow: false, includeStopRow: true };
  return { startRow: end, stopRow: start, reversed: true, ...includes };
}

/** What is left after a page; undefined if its region is the last one that the scan comes to. */
function restAfter(keys: Keys, { results, region, isWhole }: ScanPage): Keys | undefined {
  if (isWhole) {
    const edge = keys.reverse ? region.start : region.end;
    if (edge.length === 0) return undefined;
    return keys.reverse ? { ...keys, end: edge } : { ...keys, start: edge };
  }
  const last = results.at(-1);
  if (last === undefined) return keys;
  const row = rowKeyOf(last);
  if (keys.reverse) return { ...keys, end: row };
  return { ...keys, start: Buffer.concat([row, Buffer.alloc(1)]) };
}

function rowKeyOf({ cell: [first] }: Result): Buffer {
  return Buffer.from(first?.row ?? []);
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
