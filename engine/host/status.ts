/**
 * `percolator status`: how a database is, from the store and its services.
 *
 *     oracle's row, leases, definitions ─┐
 *     each service, asked what it is     ├─▶ Status ─▶ lines, or JSON
 *     notifications, locks: samples      ─┘
 *
 * It writes nothing, takes no timestamp, has no lease and runs no transaction, so it also works
 * while no oracle answers. It reads at most `SAMPLE` rows of each table and of its notifications:
 * where there are more, the numbers say "at least".
 */
import { hasCode, systemClock, unreachable } from '../base/index.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import { openStore } from '../bigtable/open-store.ts';
import { allLeases } from '../leases/lease-table.ts';
import { lockService } from '../lock-service/service.ts';
import { type OracleRow, readOracleRow } from '../oracle/index.ts';
import { type HorizonResponse, oracleService } from '../oracle/service.ts';
import { connect, fullNameOf, type RpcClient } from '../rpc/index.ts';
import type { SecurityOptions } from '../rpc/tls.ts';
import { allDefinitions, storedName } from '../tables/index.ts';
import {
  everywhere,
  LOCK,
  NOTIFY,
  notifyTable,
  PARKED,
  PARKED_WEAK,
  readLock,
  WEAK,
  WRITE,
} from '../transaction/index.ts';
import type { Configuration } from './configuration.ts';
import { noStore, openTls } from './connect.ts';
import { checkStoreExists } from './data.ts';

export interface Status {
  /** The identity of the database; null if the store has none yet. */
  readonly database: string | null;
  readonly oracles: readonly OracleStatus[];
  readonly lockServices: readonly { readonly address: string; readonly answers: boolean }[];
  readonly timestamps: {
    /** All timestamps below are handed out, or reserved by an oracle. */
    readonly limit: Timestamp;
    /** Handed out per second; null without a leading oracle. */
    readonly perSecond: number | null;
  };
  readonly horizon: {
    readonly timestamp: Timestamp;
    /** How many timestamps have been handed out since; null without a leading oracle. */
    readonly age: number | null;
  };
  /** Of processes that use the database, or did so a moment ago. */
  readonly leases: readonly LeaseStatus[];
  /** Leases whose process runs observers. */
  readonly workers: number;
  readonly tables: readonly TableStatus[];
  /** Of those found in the samples. */
  readonly oldestLock: LockStatus | null;
}

export interface OracleStatus {
  readonly address: string;
  readonly state: 'leads' | 'stands by' | 'another database' | 'does not answer';
  /** The epoch of its lease; null unless it leads. */
  readonly epoch: number | null;
  /** If it is of another database, or does not answer: which one, or why; otherwise null. */
  readonly why: string | null;
}

interface LeaseStatus {
  readonly process: string;
  /** Versions that its snapshots may read are kept from here on. */
  readonly bound: Timestamp;
  readonly timeToLiveMs: number;
  /** `name of table:column`. */
  readonly observers: readonly string[];
}

interface TableStatus {
  readonly table: string;
  readonly observedColumns: readonly string[];
  readonly waiting: Sampled;
  readonly parked: Sampled;
}

interface Sampled {
  readonly count: number;
  /** Whether there may be more. */
  readonly isLeast: boolean;
}

interface LockStatus {
  readonly table: string;
  readonly owner: string;
  /** By the clocks of its owner and of this machine. */
  readonly ageMs: number;
}

/** Rows that are read of each table, and of its notifications. */
const SAMPLE = 1_000;
/** Milliseconds between two readings of the newest timestamp, which tell the rate. */
const RATE_MS = 1_000;
const ANSWER_MS = 3_000;

export interface StatusWanted {
  /** Whether the rate is wanted, which takes a second. Default true. */
  readonly withRate?: boolean | undefined;
}

export async function readStatus(
  configuration: Configuration,
  { withRate = true }: StatusWanted = {},
): Promise<Status> {
  const { store: address } = configuration;
  if (address === undefined) throw noStore();
  checkStoreExists(configuration);
  await using store = await openStore(address, { readOnly: true });
  const tls = openTls(configuration);
  try {
    const security = { tls, insecure: configuration.insecure };
    const row = await ifThere(() => readOracleRow(store));
    const asking = { addresses: configuration.oracles, identity: row?.identity, withRate };
    const [{ oracles, perSecond, newest }, lockServices, inStore] = await Promise.all([
      askOracles(asking, security),
      Promise.all(configuration.lockServices.map((one) => askLockService(one, security))),
      storeStatus(store),
    ]);
    return {
      database: row?.identity ?? null,
      oracles,
      lockServices,
      timestamps: { limit: row?.range.limit ?? 0, perSecond },
      horizon: horizonOf(row, newest),
      ...inStore,
    };
  } finally {
    tls?.close();
  }
}

type StoreStatus = Pick<Status, 'leases' | 'workers' | 'tables' | 'oldestLock'>;

/** What is in the store besides the oracle's row. */
export async function storeStatus(store: Bigtable): Promise<StoreStatus> {
  const [leases, tables] = await Promise.all([readLeases(store), readTables(store)]);
  const locks = await Promise.all(
    tables.map(({ stored, status }) => ifThere(() => locksOf(store, stored, status.table))),
  );
  const all = locks.flatMap((one) => one ?? []);
  return {
    leases,
    workers: leases.filter(({ observers }) => observers.length > 0).length,
    tables: tables.map(({ status }) => status),
    oldestLock: all.toSorted((a, b) => b.ageMs - a.ageMs)[0] ?? null,
  };
}

function horizonOf(row: OracleRow | undefined, newest: number | undefined): Status['horizon'] {
  const timestamp = row?.horizon ?? 0;
  return { timestamp, age: newest === undefined ? null : newest - timestamp };
}

/** Undefined if the table does not exist yet, or no longer. */
export async function ifThere<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (hasCode(error, 'TABLE_NOT_FOUND')) return undefined;
    throw error;
  }
}

/* Services. */

interface AskedOracles extends Pick<Status, 'oracles'> {
  readonly perSecond: number | null;
  readonly newest: Timestamp | undefined;
}

interface Asking extends StatusWanted {
  readonly addresses: readonly string[];
  /** Of the database in the store; undefined if it has none yet. */
  readonly identity: string | undefined;
}

async function askOracles(
  { addresses, identity, withRate = false }: Asking,
  security: SecurityOptions,
): Promise<AskedOracles> {
  const clients = addresses.map((one) =>
    connect(one, oracleService, { clock: systemClock, ...security }),
  );
  try {
    const oracles = await Promise.all(clients.map((client) => askOracle(client, identity)));
    const leader = clients[oracles.findIndex(({ state }) => state === 'leads')];
    const rate = leader && withRate ? await measureRate(leader).catch(() => undefined) : undefined;
    return { oracles, perSecond: rate?.perSecond ?? null, newest: rate?.newest };
  } finally {
    for (const client of clients) client.close();
  }
}

const DEADLINE = { deadlineMs: ANSWER_MS } as const;

async function askOracle(client: RpcClient, identity: string | undefined): Promise<OracleStatus> {
  const { address } = client;
  const status = { address, epoch: null, why: null };
  try {
    const { service, database, isStandby } = await client.describe(DEADLINE);
    if (service !== fullNameOf(oracleService())) {
      return { ...status, state: 'does not answer', why: `it serves ${service}` };
    }
    // An oracle that does not know yet which database it serves names none.
    const isOther = database !== '' && database !== identity;
    if (isOther) return { ...status, state: 'another database', why: database };
    if (isStandby) return { ...status, state: 'stands by' };
    const { epoch } = await client.call<HorizonResponse>('ReadHorizon', {}, DEADLINE);
    return { ...status, state: 'leads', epoch };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ...status, state: 'does not answer', why };
  }
}

/** From two readings of the newest timestamp, so that what is measured is not changed by it. */
async function measureRate(leader: RpcClient): Promise<Pick<AskedOracles, 'perSecond' | 'newest'>> {
  const read = (): Promise<HorizonResponse> => leader.call('ReadHorizon', {}, DEADLINE);
  const before = await read();
  const beforeMs = systemClock.monotonicMs();
  await systemClock.sleep(RATE_MS);
  const after = await read();
  const seconds = (systemClock.monotonicMs() - beforeMs) / 1_000;
  if (after.newest === 0) return { perSecond: null, newest: undefined }; // It does not know it.
  const isOneLease = before.epoch === after.epoch;
  const handedOut = after.newest - before.newest;
  return { perSecond: isOneLease ? handedOut / seconds : null, newest: after.newest };
}

async function askLockService(
  address: string,
  security: SecurityOptions,
): Promise<{ readonly address: string; readonly answers: boolean }> {
  const client = connect(address, lockService, { clock: systemClock, ...security });
  try {
    const { service } = await client.describe(DEADLINE);
    return { address, answers: service === fullNameOf(lockService()) };
  } catch {
    return { address, answers: false };
  } finally {
    client.close();
  }
}

/* The store. */

async function readLeases(store: Bigtable): Promise<readonly LeaseStatus[]> {
  const leases = (await ifThere(() => allLeases(store))) ?? new Map<string, undefined>();
  return [...leases].map(([process, lease]) => ({
    process,
    bound: lease?.bound ?? 0,
    timeToLiveMs: lease?.ttlMs ?? 0,
    observers: observersIn(lease?.says),
  }));
}

/** What a process says of its workers: lists of [table, column, name] (observer/peers.ts). */
function observersIn(says: readonly unknown[] | undefined): readonly string[] {
  const names = (says ?? []).flatMap((worker) =>
    (Array.isArray(worker) ? (worker as readonly unknown[]) : []).flatMap((one) =>
      Array.isArray(one) ? [`${String(one[2])} of ${String(one[0])}:${String(one[1])}`] : [],
    ),
  );
  return [...new Set(names)].toSorted();
}

interface ReadTable {
  readonly stored: string;
  readonly status: TableStatus;
}

/** Without those that are dropped meanwhile. */
async function readTables(store: Bigtable): Promise<readonly ReadTable[]> {
  const definitions = (await ifThere(() => allDefinitions(store))) ?? new Map<string, undefined>();
  const there = [...definitions].flatMap(([table, one]) =>
    one?.state === 'there' ? [{ table, definition: one }] : [],
  );
  const read = there.map(async ({ table, definition: { incarnation, observedColumns } }) => {
    const stored = storedName(table, incarnation);
    const companion = notifyTable(stored);
    const [waiting, parked] = await Promise.all([
      countCells(store, companion, [NOTIFY, WEAK]),
      countCells(store, companion, [PARKED, PARKED_WEAK]),
    ]);
    return { stored, status: { table, observedColumns, waiting, parked } };
  });
  const tables = await Promise.all(read.map((one) => ifThere(() => one)));
  return tables.filter((one) => one !== undefined);
}

export async function countCells(
  store: Bigtable,
  table: string,
  families: readonly string[],
): Promise<Sampled> {
  const filters = families.map((family) => ({ family, versions: 1 }));
  const rows = await store.readRange(table, { limit: SAMPLE }, filters);
  const count = rows.reduce((sum, { cells }) => sum + cells.length, 0);
  return { count, isLeast: rows.length === SAMPLE };
}

/**
 * Locks in the first rows. Write records are asked for, too: a search for locks alone would look
 * through the whole table.
 */
async function locksOf(
  store: Bigtable,
  stored: string,
  table: string,
): Promise<readonly LockStatus[]> {
  const filters = [
    { ...everywhere(LOCK), versions: 1 },
    { ...everywhere(WRITE), versions: 1 },
  ];
  const rows = await store.readRange(stored, { limit: SAMPLE }, filters);
  return rows.flatMap(({ cells }) =>
    cells.flatMap((cell) => {
      const lock = cell.qualifier.endsWith(`:${LOCK}`) ? readLock(cell) : undefined;
      if (lock === undefined) return [];
      return [{ table, owner: lock.owner, ageMs: systemClock.wallMs() - lock.wallMs }];
    }),
  );
}

/* For people. */

export function statusLines(status: Status): readonly string[] {
  const { database, oracles, lockServices, timestamps, horizon, leases, tables } = status;
  return [
    `Database      ${database ?? 'none yet: no oracle and no process has opened the store'}`,
    ...lines(
      'Oracles',
      oracles.map(oracleLine),
      'none named: timestamps come from the store itself',
    ),
    ...lines(
      'Lock services',
      lockServices.map(
        ({ address, answers }) => `${address} ${answers ? 'answers' : 'does not answer'}`,
      ),
      'none named',
    ),
    `Timestamps    ${rateText(timestamps.perSecond)}, ${counted(timestamps.limit)} allocated`,
    `Horizon       ${counted(horizon.timestamp)}${horizon.age === null ? '' : `, ${counted(horizon.age)} timestamps ago`}`,
    ...lines('Leases', leases.map(leaseLine), 'none: no process uses the database'),
    `Workers       ${status.workers}`,
    ...lines('Tables', tables.map(tableLine), 'none'),
    `Oldest lock   ${lockText(status.oldestLock)}`,
  ];
}

function lines(title: string, all: readonly string[], none: string): readonly string[] {
  const [first = none, ...others] = all;
  return [`${title.padEnd(13)} ${first}`, ...others.map((line) => `${' '.repeat(13)} ${line}`)];
}

function oracleLine({ address, state, epoch, why }: OracleStatus): string {
  switch (state) {
    case 'leads':
      return `${address} leads, epoch ${epoch}`;
    case 'stands by':
      return `${address} stands by`;
    case 'another database':
      return `${address} is an oracle of the database ${why}, not of this one`;
    case 'does not answer':
      return `${address} does not answer: ${why}`;
    default:
      return unreachable(state);
  }
}

function rateText(perSecond: number | null): string {
  return perSecond === null ? 'rate unknown' : `${counted(Math.round(perSecond))} a second`;
}

function leaseLine({ process, bound, observers }: LeaseStatus): string {
  const runs = observers.length === 0 ? '' : `, runs ${observers.join(', ')}`;
  return `${process} keeps what is read from ${counted(bound)} on${runs}`;
}

function tableLine({ table, waiting, parked }: TableStatus): string {
  return `${table}: ${sampledText(waiting)} notifications wait, ${sampledText(parked)} cells are parked`;
}

function sampledText({ count, isLeast }: Sampled): string {
  return isLeast ? `at least ${counted(count)}` : counted(count);
}

function lockText(lock: LockStatus | null): string {
  if (lock === null) return 'none in the sample';
  return `${Math.max(0, Math.round(lock.ageMs / 1_000))} s in ${lock.table}, of ${lock.owner}`;
}

function counted(count: number): string {
  return count.toLocaleString('en');
}
