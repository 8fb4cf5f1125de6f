/**
 * Tables of an HBase.
 *
 *     families    keep every version, forever, or the engine would lose locks and snapshots
 *     endpoint    HBase's own service for conditional mutations, switched on for the table
 *     splits      also written down in the table's attributes: regions split on their own later
 *
 * The master makes and drops tables as procedures; this process asks about each one until it has
 * ended.
 */
import { type Clock, PercolatorError } from '../../base/index.ts';
import type { TableSchema } from '../bigtable.ts';
import { StoreTables } from '../checked-store.ts';
import { invalid } from '../validate.ts';
import { asFailure, errorOf, HBaseFailure, type Purpose } from './failures.ts';
import { canBeNamed, type Master, type Regions } from './regions.ts';
import {
  ENDPOINT,
  type Long,
  messageOf,
  type Pair,
  type ProcedureResult,
  type TableName,
  type TableSchemaMessage,
} from './messages.ts';

const POLL_MS = 20;
/** How long HBase's own client waits for a procedure. */
const PROCEDURE_MS_MAX = 600_000;
/** States of a procedure, as HBase numbers them. */
const PROCEDURE_NOT_FOUND = 0;
const PROCEDURE_FINISHED = 2;
/** "All versions" and "forever", as HBase writes them. */
const WITHOUT_END = String(2 ** 31 - 1);
const FAMILY_ATTRIBUTES = { VERSIONS: WITHOUT_END, TTL: WITHOUT_END, MIN_VERSIONS: '0' };
/** Path (none: HBase's own), class, priority. */
const ENDPOINT_ATTRIBUTE = `|${ENDPOINT.className}|1073741823|`;
const SPLITS_ATTRIBUTE = 'PERCOLATOR_SPLITS';
/**
 * With any other durability, HBase answers a mutation before its log is synced; commits, and proofs
 * that a server owns its regions (P64), rest on that sync.
 */
const DURABLE: ReadonlySet<string> = new Set(['USE_DEFAULT', 'SYNC_WAL', 'FSYNC_WAL']);

export interface TablesOptions {
  readonly master: Master;
  readonly regions: Regions;
  readonly clock: Clock;
  readonly namespace: string;
}

export class HBaseTables extends StoreTables {
  readonly #options: TablesOptions;

  constructor(options: TablesOptions) {
    super();
    this.#options = options;
  }

  override forget(table: string): void {
    super.forget(table);
    this.#options.regions.forget(table);
  }

  create(table: string, schema: TableSchema): Promise<void> {
    return asking('mutation', `making table ${table}`, () => this.#create(table, schema));
  }

  list(): Promise<readonly string[]> {
    return asking('read', 'listing tables', () => this.#list());
  }

  drop(table: string): Promise<void> {
    return asking('mutation', `dropping table ${table}`, () => this.#drop(table));
  }

  protected askFamilies(table: string): Promise<ReadonlySet<string> | undefined> {
    return asking('read', `looking at table ${table}`, async () => {
      const found = await this.#options.master.describe(table);
      return found && familiesOf(table, found);
    });
  }

  async #create(table: string, schema: TableSchema): Promise<void> {
    if (!canBeNamed(table)) throw invalid(`HBase can have no table ${JSON.stringify(table)}`);
    const found = await this.#options.master.describe(table).catch((error: unknown) => {
      // Nothing has been sent that could be in doubt.
      throw errorOf(error, 'read', `looking at table ${table}`);
    });
    if (found === undefined) {
      if (await this.#make(table, schema)) return;
      return this.#create(table, schema); // Another process was faster.
    }
    const families = this.remember(table, familiesOf(table, found));
    const wanted = new Set(schema.families);
    const splits = attributesOf(found.attributes)[SPLITS_ATTRIBUTE] ?? '[]';
    if (families.symmetricDifference(wanted).size === 0 && splits === splitsOf(schema)) return;
    throw new PercolatorError(
      'TABLE_MISMATCH',
      `table ${table} exists with the families ${[...families].join(', ')} and the splits ${splits}, ` +
        `not ${schema.families.join(', ')} and ${splitsOf(schema)}`,
    );
  }

  async #list(): Promise<readonly string[]> {
    const { master, namespace } = this.#options;
    const response = messageOf<{ readonly tableNames: readonly TableName[] }>(
      'GetTableNamesResponse',
    );
    const { tableNames } = await master.ask('GetTableNames', { namespace }, response);
    return tableNames.map(({ qualifier }) => Buffer.from(qualifier).toString());
  }

  async #drop(table: string): Promise<void> {
    if (!canBeNamed(table)) return;
    const tableName = this.#options.master.nameOf(table);
    this.forget(table);
    try {
      await this.#procedure('DisableTable', { tableName }).catch(
        ignore('TableNotEnabledException'),
      );
      await this.#procedure('DeleteTable', { tableName })
        .catch(ignore('TableNotFoundException'))
        .catch(rethrowAsLost); // The table may have been disabled by now.
    } catch (error) {
      ignore('TableNotFoundException')(error);
    } finally {
      this.forget(table);
    }
  }

  /** False if another process was faster. */
  async #make(table: string, schema: TableSchema): Promise<boolean> {
    const tableSchema: TableSchemaMessage = {
      tableName: this.#options.master.nameOf(table),
      attributes: pairsOf({
        coprocessor$1: ENDPOINT_ATTRIBUTE,
        [SPLITS_ATTRIBUTE]: splitsOf(schema),
      }),
      columnFamilies: schema.families.map((family) => ({
        name: Buffer.from(family),
        attributes: pairsOf(FAMILY_ATTRIBUTES),
      })),
    };
    const splitKeys = sorted(schema.splits);
    try {
      await this.#procedure('CreateTable', { tableSchema, splitKeys });
    } catch (error) {
      ignore('TableExistsException')(error);
      return false;
    }
    this.remember(table, new Set(schema.families));
    this.#options.regions.forget(table);
    return true;
  }

  /**
   * Starts a procedure of the master, and waits for its end.
   * @throws what `Master.ask` throws if it cannot be started; afterwards HBaseFailure, `lost` if
   * the master has forgotten it, works on it for too long, or cannot be asked about it
   */
  async #procedure(method: string, request: object): Promise<void> {
    const { master, clock } = this.#options;
    const started = messageOf<{ readonly procId?: Long | number }>('ProcedureStarted');
    const { procId } = await master.ask(method, request, started);
    const result = messageOf<ProcedureResult>('GetProcedureResultResponse');
    const endMs = clock.monotonicMs() + PROCEDURE_MS_MAX;
    for (;;) {
      const { state, exception } = await master
        .ask('getProcedureResult', { procId }, result)
        .catch(rethrowAsLost);
      const { className, message = '' } = exception?.genericException ?? {};
      if (className !== undefined) throw HBaseFailure.ofException(className, message);
      if (state === PROCEDURE_FINISHED) return;
      if (state === PROCEDURE_NOT_FOUND) {
        throw new HBaseFailure('lost', 'the master no longer knows how its procedure ended');
      }
      if (clock.monotonicMs() >= endMs) {
        throw new HBaseFailure('lost', 'the master has not ended its procedure for ten minutes');
      }
      await clock.sleep(POLL_MS);
    }
  }
}

/** Asks the master: a failed look at tables leaves nothing in doubt. */
async function asking<T>(purpose: Purpose, what: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw errorOf(error, purpose, what);
  }
}

/** @throws TABLE_MISMATCH if the engine would lose cells in it */
function familiesOf(
  table: string,
  { attributes, columnFamilies }: TableSchemaMessage,
): ReadonlySet<string> {
  const hasEndpoint = attributes.some(({ second }) =>
    Buffer.from(second).toString().includes(ENDPOINT.className),
  );
  if (!hasEndpoint) throw unfit(table, `lacks the coprocessor ${ENDPOINT.className}`);
  const { DURABILITY: durability = 'USE_DEFAULT' } = attributesOf(attributes);
  if (!DURABLE.has(durability)) throw unfit(table, `has DURABILITY ${durability}`);
  for (const family of columnFamilies) {
    const found = attributesOf(family.attributes);
    for (const [name, value] of Object.entries(FAMILY_ATTRIBUTES)) {
      if ((found[name] ?? value) === value) continue;
      throw unfit(table, `has ${name} ${found[name]} in ${Buffer.from(family.name).toString()}`);
    }
  }
  return new Set(columnFamilies.map(({ name }) => Buffer.from(name).toString()));
}

/** Rethrows what is not an exception of this class. */
function ignore(className: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof HBaseFailure) || error.className !== className) throw error;
  };
}

/** The master has begun to work, so a failure does not mean that nothing was done. */
function rethrowAsLost(error: unknown): never {
  throw new HBaseFailure('lost', asFailure(error).message);
}

function unfit(table: string, why: string): PercolatorError {
  return new PercolatorError(
    'TABLE_MISMATCH',
    `table ${table} ${why}; the engine's tables keep all versions forever, sync their log and have ` +
      `the coprocessor ${ENDPOINT.className}: let the engine create them`,
  );
}

function sorted(splits: readonly string[] = []): readonly Buffer[] {
  return [...new Set(splits)]
    .map((split) => Buffer.from(split))
    .toSorted((a, b) => Buffer.compare(a, b));
}

function splitsOf({ splits }: TableSchema): string {
  return JSON.stringify(sorted(splits).map((split) => split.toString()));
}

function pairsOf(attributes: Readonly<Record<string, string>>): readonly Pair[] {
  return Object.entries(attributes).map(([name, value]) => ({
    first: Buffer.from(name),
    second: Buffer.from(value),
  }));
}

function attributesOf(pairs: readonly Pair[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map(({ first, second }) => [
      Buffer.from(first).toString(),
      Buffer.from(second).toString(),
    ]),
  );
}
