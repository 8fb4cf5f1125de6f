/**
 * A loaded database: as the experiment measures and checks it, as plain data for each client
 * process (its address), and opened from there.
 */
import type pg from 'pg';
import {
  type Bigtable,
  type CollectorOptions,
  openPercolator,
  openStore,
  type Percolator,
  type StoreAddress,
} from '#engine';
import { type DatabaseValues, settingsOf } from '../../harness/engine-settings.ts';
import { openDatabase, type SharedDatabase } from '../../harness/processes/index.ts';
import { countCalls, type StoreCounts } from '../../harness/watched-stores.ts';
import { checkBrokerage, shorten } from '../check/check.ts';
import type { BrokenCondition } from '../check/facts.ts';
import type { Population } from '../model/population.ts';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import { checkIndexes } from '../percolator/check-indexes.ts';
import type { SystemName } from '../plan.ts';
import { withPassword } from '../postgres/server.ts';
import type { Brokerage } from '../transactions/index.ts';
import { openOnPercolator } from '../transactions/on-percolator.ts';
import { openOnPostgres } from '../transactions/on-postgres.ts';

/** Ids of the processes whose processor time counts, by what they are for. */
export type MeasuredProcesses = Readonly<Record<string, readonly number[]>>;

/**
 * The ids given for processes that were not started here. No process has this id, so their
 * processor time is unknown, not 0.
 */
export const UNKNOWN_SERVERS: readonly number[] = [-1];

export interface LoadedDatabase extends AsyncDisposable {
  readonly name: SystemName;
  readonly address: DatabaseAddress;
  /** What a commit survives, in one sentence. */
  readonly durability: string;
  /** The processes that serve it, in addition to its clients. */
  readonly servers: MeasuredProcesses;
  /**
   * Lets the servers do what they have put off. To be called when the system's turn ends: otherwise
   * they would do it while the next system is measured. Absent if they put nothing off.
   */
  readonly quiesce?: (() => Promise<void>) | undefined;
  /**
   * Returns everything that is wrong with the state that the transactions left. The database must
   * be idle during the check. `tradeResults`: the number that the clients know to be committed.
   */
  check(tradeResults: number): Promise<readonly string[]>;
}

export type DatabaseAddress = PercolatorAddress | PostgresAddress;

export interface PercolatorAddress {
  readonly kind: 'percolator';
  /** Either a client with its own oracle and liveness, or one of several that share them. */
  readonly at: { readonly store: StoreAddress } | { readonly shared: SharedDatabase };
  readonly brokerUpdate: BrokerUpdate;
  readonly engine: DatabaseValues;
  /** Whether calls of the store are counted, which has a small cost. */
  readonly countsCalls: boolean;
}

export interface PostgresAddress {
  readonly kind: 'postgres';
  /** Without its password: addresses are arguments of processes. */
  readonly connection: pg.ClientConfig;
  readonly brokerUpdate: Exclude<BrokerUpdate, 'side-table'>;
  /** Of each client, at each isolation level. */
  readonly connectionsMax: number;
}

export interface OpenedBrokerage {
  readonly brokerage: Brokerage;
  /** Counts of store calls; null unless they were asked for. */
  readonly counts: StoreCounts | null;
  /**
   * Collects old versions and deleted rows until it is disposed of, as PostgreSQL does on its own.
   * Without it, transactions would read past more and more of them.
   */
  readonly startCollecting: () => AsyncDisposable;
  /** Collects all that earlier runs have left, at full speed. */
  readonly collect: () => Promise<void>;
  /** Checks what only this system can get wrong. */
  readonly checkMore: () => Promise<readonly BrokenCondition[]>;
  readonly close: () => Promise<void>;
}

export async function openBrokerage(address: DatabaseAddress): Promise<OpenedBrokerage> {
  if (address.kind === 'percolator') return openOurs(address);
  const connection = withPassword(address.connection, process.env);
  const brokerage = openOnPostgres({ ...address, connection });
  return {
    brokerage,
    counts: null,
    startCollecting: () => new AsyncDisposableStack(),
    collect: async () => {}, // `quiesce` has done it.
    checkMore: async () => [],
    close: async () => brokerage[Symbol.asyncDispose](),
  };
}

async function openOurs(address: PercolatorAddress): Promise<OpenedBrokerage> {
  const { percolator, counts, close } = await openEngine(address);
  const brokerage = openOnPercolator(percolator, { brokerUpdate: address.brokerUpdate });
  return {
    brokerage,
    counts,
    startCollecting: () => percolator.startCollector(collecting(address, percolator.store)),
    collect: () => collectAll(address, percolator),
    checkMore: () => checkIndexes(percolator),
    close: async () => {
      await brokerage[Symbol.asyncDispose]();
      await close();
    },
  };
}

function collecting(address: PercolatorAddress, { manifest }: Bigtable): CollectorOptions {
  const options = COLLECTING[kindOf(address) === 'embedded' ? 'embedded' : 'servers'];
  const { messageLifetimeMs = 0 } = manifest;
  return {
    ...options,
    messageLifetimeMs: Math.max(options.messageLifetimeMs, messageLifetimeMs),
  };
}

/**
 * Two cycles, because the first call ends the cycle that a run has begun, whose horizon is older
 * than that run's end. On an embedded store each cycle waits for messages only as long as `atOnce`
 * says: each run has drained, and no call is in flight for longer than a moment.
 */
async function collectAll(address: PercolatorAddress, percolator: Percolator): Promise<void> {
  const { messageLifetimeMs } = collecting(address, percolator.store);
  const isEmbedded = kindOf(address) === 'embedded';
  const options = isEmbedded ? {} : { messageLifetimeMs };
  for (let cycle = 0; cycle < 2; cycle++) {
    await percolator.collectGarbage({ ...COLLECTING.atOnce, ...options });
  }
}

function kindOf({ at }: PercolatorAddress): StoreAddress['kind'] {
  return ('store' in at ? at.store : at.shared.store).kind;
}

interface Engine {
  readonly percolator: Percolator;
  readonly counts: StoreCounts | null;
  readonly close: () => Promise<void>;
}

async function openEngine({ at, engine, countsCalls }: PercolatorAddress): Promise<Engine> {
  const settings = settingsOf(engine);
  if ('shared' in at) return { ...(await openDatabase(at.shared, settings)), counts: null };
  const store = await openStore(at.store);
  const counted = countsCalls ? countCalls(store) : { store, counts: null };
  const percolator = await openPercolator({ store: counted.store satisfies Bigtable, ...settings });
  const close = async (): Promise<void> => {
    await percolator.close();
    await store.close();
  };
  return { percolator, counts: counted.counts, close };
}

/**
 * How garbage is collected while a brokerage runs, by where its rows are.
 *
 * Cycles must be short: until it is collected, the row of a security has every price that it had
 * since the last cycle, and takes longer to read; PostgreSQL, too, vacuums a table every minute if
 * a fifth of it has changed. On the embedded store, a cycle visits the rows that have changed, in
 * some seconds; one that looks at every row of the standard profile takes two minutes, and a few
 * hundredths of a core. On servers, each cycle looks at every row, and a row takes ten times as
 * long; steps are smaller and further apart, because collecting must not dominate the measurement.
 * On one machine no message is in flight for `messageLifetimeMs`, unless the store says otherwise.
 */
export const COLLECTING = {
  embedded: { messageLifetimeMs: 10_000, rowsPerStep: 512, pauseMs: 50 },
  servers: { messageLifetimeMs: 10_000, rowsPerStep: 64, pauseMs: 500 },
  /** At full speed, on an embedded store at rest: no call is in flight there. */
  atOnce: { messageLifetimeMs: 100, rowsPerStep: 512, pauseMs: 1 },
} as const;

/**
 * Checks a database at rest. Returns the first few findings of each condition, in sentences.
 * @param acknowledged the number of Trade-Results that clients know to be committed
 */
export async function checkDatabase(
  address: DatabaseAddress,
  population: Population,
  acknowledged: number,
): Promise<readonly string[]> {
  const opened = await openBrokerage(address);
  try {
    const tradeResults = { acknowledged, inFlightMax: 0 };
    const options = { population, isDrained: true, tradeResults };
    const { findings } = await checkBrokerage(opened.brokerage, options);
    const more = shorten(await opened.checkMore());
    return [...findings, ...more.findings].map(
      ({ condition, message }) => `${condition}: ${message}`,
    );
  } finally {
    await opened.close();
  }
}
