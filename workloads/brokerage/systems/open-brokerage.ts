/** A loaded database as a brokerage, for a client process or for the checks. */
import {
  type Bigtable,
  type CollectorOptions,
  openPercolator,
  openStore,
  type Percolator,
  type StoreAddress,
} from '#engine';
import { openDatabase } from '../../harness/processes/index.ts';
import { settingsOf } from '../../harness/engine-settings.ts';
import { countCalls, type StoreCounts } from '../../harness/stores/store-counts.ts';
import type { Finding } from '../check/index.ts';
import type { Brokerage } from '../model/index.ts';
import {
  checkIndexes,
  COLLECTING,
  openBrokerage as openOnPercolator,
} from '../percolator/index.ts';
import { openFrames, openFunctions, withPassword } from '../postgres/index.ts';
import type { DatabaseAddress, PercolatorAddress } from './address.ts';

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
  readonly checkMore: () => Promise<readonly Finding[]>;
  readonly close: () => Promise<void>;
}

export async function openBrokerage(address: DatabaseAddress): Promise<OpenedBrokerage> {
  if (address.kind === 'percolator') return openOurs(address);
  const open = address.variant === 'functions' ? openFunctions : openFrames;
  const connection = withPassword(address.connection, process.env);
  const brokerage = open({ ...address, connection });
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
