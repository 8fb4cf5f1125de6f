/**
 * The audit of a whole database: which tables there should be, and then what is in them (audit/).
 *
 *     tables of the engine ─▶ definitions ─▶ tables without one ─▶ leases ─▶ audit of every table
 *
 * Without `repair` it writes nothing at all, not even a range of the oracle, so it also runs on a
 * store that was opened read-only. The database may be in use, by this process and by others.
 */
import { audit, type Audit, type AuditedTable, type AuditOptions } from './audit/index.ts';
import { DamagedRows } from './audit/index.ts';
import { type Finding, repair, type Severity } from './audit/index.ts';
import {
  type Clock,
  createRandom,
  entropySeed,
  hasCode,
  PercolatorError,
  systemClock,
} from './base/index.ts';
import { check, TEXTS } from './base/options.ts';
import { type Bigtable, type Damage, TIMESTAMP_MAX } from './bigtable/index.ts';
import { allLeases, type Lease, LEASES_TABLE, processOf } from './leases/lease-table.ts';
import type { Liveness } from './lock-service/index.ts';
import { localProcesses } from './lock-service/local-processes.ts';
import {
  batchTimestamps,
  identify,
  openAllocator,
  ORACLE_TABLE,
  type TimestampOracle,
  watchTimestamps,
} from './oracle/index.ts';
import {
  allDefinitions,
  companionOf,
  incarnationOf,
  isIncarnation,
  isOurs,
  StoredCatalog,
  type StoredDefinition,
  storedName,
  TABLES_TABLE,
  whyLost,
} from './tables/index.ts';
import {
  type Context,
  createContext,
  isTableNotFound,
  TABLE_FAMILIES,
} from './transaction/index.ts';

export interface FsckOptions extends AuditOptions {
  /**
   * The tables to audit, by the user's name or the storage's.
   * Default: every Percolator table of the store.
   */
  readonly tables?: readonly string[] | undefined;
  /** Defaults: this machine's clock and processes. */
  readonly clock?: Clock | undefined;
  readonly liveness?: Liveness | undefined;
  /** For repairs. Default: the one that is kept in the store, which no oracle service may lead. */
  readonly oracle?: TimestampOracle | undefined;
}

/**
 * Audits the database in `store`. Iterate over the result for the findings.
 * @throws INVALID_ARGUMENT if `tables` is no list of texts
 * @throws TABLE_NOT_FOUND if `tables` names one that neither exists nor is defined
 */
export async function fsck(store: Bigtable, options: FsckOptions = {}): Promise<Audit> {
  if (options.tables !== undefined) check('tables', options.tables, TEXTS);
  const existing = new Set(await store.listTables());
  const damaged = new DamagedRows(store);
  const hasOracle = existing.has(ORACLE_TABLE) && (await isOracleLegible(damaged.store));
  const context = await openContext(damaged.store, existing, { ...options, hasOracle });
  const { audited, findings } = await chooseTables(damaged, existing, options.tables);
  const missing = await missingTables(store, existing);
  const before = [
    ...(store.damage ?? []).map(storeDamaged),
    ...missing.map(engineTableMissing),
    ...findings,
    ...(existing.has(LEASES_TABLE) ? await judgeLeases(context) : []),
  ];
  before.push(...damaged.take().map(withConsequence));
  // An oracle made anew would hand out again timestamps that the tables already contain.
  const repairs = options.repair === true && hasOracle;
  const ofTables = audit(context, audited, { ...options, repair: repairs }, damaged);
  return {
    counters: ofTables.counters,
    async *[Symbol.asyncIterator]() {
      for (const finding of before) yield repairs ? await repair(context, finding) : finding;
      yield* ofTables;
    },
  };
}

/**
 * The engine's own tables that the store lacks. A process that opens the database for the first
 * time may be creating them, so those that are missing are looked for once more.
 */
async function missingTables(
  store: Bigtable,
  existing: ReadonlySet<string>,
): Promise<readonly string[]> {
  const missing = [TABLES_TABLE, ORACLE_TABLE].filter((table) => !existing.has(table));
  const mayBeThere = store.damage?.some(({ hidesTables }) => hidesTables) === true;
  if (missing.length === 0 || mayBeThere) return [];
  const now = await store.listTables();
  return missing.filter((table) => !now.includes(table));
}

async function openContext(
  store: Bigtable,
  existing: ReadonlySet<string>,
  {
    clock = systemClock,
    liveness,
    repair: repairs = false,
    oracle: given,
    hasOracle,
  }: FsckOptions & { readonly hasOracle: boolean },
): Promise<Context> {
  const oracle = hasOracle ? await openOracle(store, { clock, repairs, given }) : NO_ORACLE;
  return createContext({
    store,
    oracle,
    clock,
    random: createRandom(entropySeed()),
    liveness: liveness ?? localProcesses(String(entropySeed())),
    isObserved: async () => false, // No transaction runs here.
    catalog: existing.has(TABLES_TABLE) ? new StoredCatalog(store, oracle) : undefined,
  });
}

async function openOracle(
  store: Bigtable,
  {
    clock,
    repairs,
    given,
  }: {
    readonly clock: Clock;
    readonly repairs: boolean;
    readonly given: TimestampOracle | undefined;
  },
): Promise<TimestampOracle> {
  if (!repairs) return watchTimestamps(store);
  if (given === undefined) return batchTimestamps(await openAllocator(store, { clock }));
  // Its address may lead to another database's oracle, whose timestamps mean nothing here (P73).
  await given.belongTo((await identify(store)).name);
  return given;
}

/** No timestamp counts as ahead of an oracle that does not exist, or cannot be read. */
const NO_ORACLE: TimestampOracle = {
  next: async () => TIMESTAMP_MAX,
  horizon: 0,
  readHorizon: async () => 0,
  raiseHorizon: async () => 0,
  drops: 0,
  announceDrop: async () => 0,
  belongTo: async () => {},
};

async function isOracleLegible(store: Bigtable): Promise<boolean> {
  try {
    await watchTimestamps(store).readHorizon();
    return true;
  } catch (error) {
    if (hasCode(error, 'STORE_DAMAGED')) return false;
    throw error;
  }
}

function storeDamaged({ severity, sentence }: Damage): Finding {
  return { code: 'store-damaged', severity, cell: { table: '' }, timestamps: [], sentence };
}

/** The damaged row of the oracle says what that means. */
function withConsequence(finding: Finding): Finding {
  const { table } = finding.cell;
  if (table !== ORACLE_TABLE) return finding;
  return { ...finding, sentence: `${finding.sentence}: ${UNKNOWN_TIMESTAMPS}` };
}

/** A table that the storage has, or should have. */
interface Candidate {
  /** The user's name of the table; the storage's name if it has no definition. */
  readonly name: string;
  readonly audited?: AuditedTable | undefined;
  readonly finding?: Finding | undefined;
}

/** The tables to audit, and the findings about their definitions. */
async function chooseTables(
  damaged: DamagedRows,
  existing: ReadonlySet<string>,
  wanted: readonly string[] | undefined,
): Promise<{ readonly audited: readonly AuditedTable[]; readonly findings: readonly Finding[] }> {
  const { store } = damaged;
  const definitions = new Map(existing.has(TABLES_TABLE) ? await allDefinitions(store) : []);
  for (const name of damaged.of(TABLES_TABLE)) definitions.set(name, undefined);
  const candidates = [...definitions].flatMap(([name, one]) =>
    one === undefined
      ? illegible(name, existing, damaged.has(TABLES_TABLE, name))
      : defined(name, one, existing),
  );
  // Includes tables that are being created or dropped: their finding says why they exist.
  const defining = new Set(
    candidates.flatMap(({ audited, finding }) => audited?.table ?? finding?.cell.table ?? []),
  );
  for (const table of existing) {
    const base = companionOf(table) ?? table;
    if (defining.has(base) || OWN_TABLES.has(table)) continue;
    const judge = isOver(definitions, base) ? leftover : withoutDefinition;
    const one = await judge(store, table, existing);
    if (one !== undefined) candidates.push(one);
  }
  const there = candidates.filter(({ audited, finding }) => audited ?? finding);
  const unknown = wanted?.find((table) => !there.some((one) => isCalled(one, table)));
  if (unknown !== undefined) {
    const names = there.map(({ name }) => name);
    const said = names.length === 0 ? 'the store has none' : `there are ${names.join(', ')}`;
    throw new PercolatorError(
      'TABLE_NOT_FOUND',
      `there is no Percolator table ${unknown}; ${said}`,
    );
  }
  const chosen = there.filter((one) => wanted?.some((table) => isCalled(one, table)) ?? true);
  return {
    audited: chosen.flatMap(({ audited }) => audited ?? []),
    findings: chosen.flatMap(({ finding }) => finding ?? []),
  };
}

function isCalled({ name, audited, finding }: Candidate, table: string): boolean {
  return [name, audited?.table, finding?.cell.table].includes(table);
}

const RESTORE = `its row in ${TABLES_TABLE} can be neither read nor written any more: restore the store from a backup`;

/** A table of the first incarnation is taken over when it is created; a later one needs its row. */
function mendingOf(stored: readonly string[]): string {
  return stored.every((table) => incarnationOf(table).incarnation === 1)
    ? `erase column table:definition of its row in ${TABLES_TABLE} in the storage, and create the table again: its rows stay`
    : `restore its row in ${TABLES_TABLE} from a backup`;
}

/** A damaged definition does not tell which incarnation is in use: each that exists may be. */
function illegible(
  name: string,
  existing: ReadonlySet<string>,
  isDamaged: boolean,
): readonly Candidate[] {
  const stored = [...existing].filter((table) => isIncarnation(table, name));
  const mend = isDamaged ? RESTORE : mendingOf(stored);
  const finding = tableUndefined(name, 'error', `has a definition that is not legible; ${mend}`);
  const [first = name, ...others] = stored;
  return [
    { name, audited: { table: first, isDefined: false }, finding },
    ...others.map((table) => ({ name, audited: { table, isDefined: false } })),
  ];
}

function defined(
  name: string,
  definition: StoredDefinition,
  existing: ReadonlySet<string>,
): Candidate {
  const { state, incarnation, observedColumns } = definition;
  const table = storedName(name, incarnation);
  if (state === 'gone') return { name };
  if (state === 'there') return { name, audited: { table, observedColumns } };
  const finding = unfinished(name, table, state === 'creating' ? 'created' : 'dropped');
  const isThere = state === 'dropping' && existing.has(table);
  return isThere ? { name, audited: { table }, finding } : { name, finding };
}

/** Whether the storage's name is that of an incarnation that is not in use and never will be. */
function isOver(
  definitions: ReadonlyMap<string, StoredDefinition | undefined>,
  stored: string,
): boolean {
  const { table, incarnation } = incarnationOf(stored);
  const definition = definitions.get(table);
  if (definition === undefined) return false;
  if (definition.incarnation > incarnation) return true;
  if (definition.incarnation === incarnation) return definition.state === 'gone';
  // A table may be called like an incarnation, from before such names were refused.
  return definitions.get(stored)?.state === 'gone';
}

/**
 * Undefined for a companion, which is audited with its table; and for a table that is not part of
 * the database, or no longer there.
 */
async function withoutDefinition(
  store: Bigtable,
  table: string,
  existing: ReadonlySet<string>,
): Promise<Candidate | undefined> {
  if (companionOf(table) !== undefined) return undefined;
  if (!(await isOurs(store, table, [...existing]))) return undefined;
  const hasCells = await hasCellsIfThere(store, table);
  if (hasCells === undefined) return undefined;
  const severity = hasCells ? 'error' : 'warning';
  const { table: base, incarnation } = incarnationOf(table);
  // A later incarnation's definition is made before its table, so the definition was lost.
  const what =
    incarnation > 1
      ? `has no definition: ${whyLost(base, table)}`
      : 'has no definition: its creation, or its drop, was interrupted; create it again, or drop it';
  const audited = { table, isDefined: false };
  return { name: table, audited, finding: tableUndefined(table, severity, what) };
}

const OWN_TABLES = new Set([TABLES_TABLE, ORACLE_TABLE, LEASES_TABLE]);

/** Undefined if the table has been dropped. */
async function hasCellsIfThere(store: Bigtable, table: string): Promise<boolean | undefined> {
  const filters = TABLE_FAMILIES.map((family) => ({ family }));
  try {
    return (await store.readRange(table, { limit: 1 }, filters)).length > 0;
  } catch (error) {
    if (isTableNotFound(error)) return undefined;
    throw error;
  }
}

function tableUndefined(table: string, severity: Severity, what: string): Finding {
  return {
    code: 'table-undefined',
    severity,
    cell: { table },
    timestamps: [],
    sentence: `${table} ${what}. Its notifications are not judged`,
  };
}

function unfinished(name: string, table: string, what: 'created' | 'dropped'): Finding {
  return {
    code: 'table-unfinished',
    severity: 'warning',
    cell: { table },
    timestamps: [],
    sentence: `${name} is being ${what}, or was when a process died: create it or drop it to continue`,
  };
}

async function leftover(
  store: Bigtable,
  table: string,
  existing: ReadonlySet<string>,
): Promise<Candidate | undefined> {
  // Another program may have made a table of that name. Or ours has been dropped since it was
  // listed, which was before the definitions were read.
  if (!(await isOurs(store, table, [...existing]))) return undefined;
  const base = companionOf(table) ?? table;
  const finding: Finding = {
    code: 'table-left-over',
    severity: 'warning',
    cell: { table },
    timestamps: [],
    sentence: `${table} belongs to an incarnation that is gone; it was made too late to be dropped with it`,
    fix: { kind: 'drop leftover', table, stored: base },
  };
  return { name: table, finding };
}

const UNKNOWN_TIMESTAMPS =
  'it is unknown which timestamps were handed out; nothing is repaired without it';

function engineTableMissing(table: string): Finding {
  const lost =
    table === ORACLE_TABLE ? UNKNOWN_TIMESTAMPS : 'it is unknown which columns are observed';
  return {
    code: 'engine-table-missing',
    severity: 'error',
    cell: { table },
    timestamps: [],
    sentence: `${table} does not exist: ${lost}`,
  };
}

async function judgeLeases({ store, liveness }: Context): Promise<readonly Finding[]> {
  return [...(await allLeases(store))].flatMap(([token, lease]) => {
    if (lease === undefined) return leaseUndecodable(token);
    return liveness.isDead(processOf(token)) ? leaseLeftByDead(lease) : [];
  });
}

function leaseUndecodable(token: string): Finding {
  return {
    code: 'lease-undecodable',
    severity: 'error',
    cell: { table: LEASES_TABLE, row: token },
    timestamps: [],
    sentence: `the lease of process ${processOf(token)} cannot be decoded: the horizon cannot move until the process renews it, or its row in ${LEASES_TABLE} is erased`,
  };
}

/** A collector ends it; until then it explains why the horizon does not move. */
function leaseLeftByDead({ token, bound, ttlMs }: Lease): Finding {
  return {
    code: 'lease-left-by-dead',
    severity: 'warning',
    cell: { table: LEASES_TABLE, row: token },
    timestamps: [bound],
    sentence: `process ${processOf(token)} is dead; its lease keeps versions from ${bound} on until a collector has watched it for ${ttlMs} ms`,
  };
}
