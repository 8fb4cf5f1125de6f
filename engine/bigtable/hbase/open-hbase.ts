/**
 * Opens an HBase as a store, after checking whether the engine can run on it: a problem that would
 * otherwise cause failures later is reported now, in one sentence.
 */
import { type Clock, PercolatorError, systemClock } from '../../base/index.ts';
import type { Bigtable, Manifest } from '../bigtable.ts';
import { Deadlines } from '../deadlines.ts';
import { durabilityOf } from '../durability.ts';
import { Connection } from './connection.ts';
import { asFailure } from './failures.ts';
import { HBaseBigtable } from './hbase.ts';
import { messageOf } from './messages.ts';
import { Regions } from './regions.ts';
import { Servers } from './servers.ts';

export interface HBaseOptions {
  /** Masters or region servers, each `host:port`: any of them knows where everything else is. */
  readonly servers: readonly string[];
  /** The namespace of the tables, which must exist. Default `default`. */
  readonly namespace?: string | undefined;
  /** Connects through TLS. Default false. */
  readonly tls?: boolean | undefined;
  /**
   * Deadline of each call, in milliseconds. Default 10,000. Too short: a slow moment of the server
   * leaves commits in doubt. It must stay well below the collector's `messageLifetimeMs`.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Refuses every mutation with READ_ONLY. Default false. Then a region server that stood still may
   * answer with old cells for a moment, because the proof against it is a mutation (servers.ts).
   */
  readonly readOnly?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

const TIMEOUT_MS = 10_000;
/** The name that HBase's logs and permissions have for this client. */
const USER = 'percolator';

/**
 * @throws STORE_UNAVAILABLE if no server answers; STORE_REFUSED if the namespace is missing, or the
 * servers ask for Kerberos
 */
export async function openHBase(options: HBaseOptions): Promise<Bigtable> {
  const { clock = systemClock, tls = false } = options;
  const common = { clock, deadlines: new Deadlines(clock), tls, user: USER };
  const servers = new Servers({
    clock,
    connect: (address, service) => new Connection(address, service, common),
  });
  const { store, regions } = createHBase(servers, { ...options, clock });
  try {
    await checkReachable(regions, options.servers);
    await store.listTables();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/** The store, without a look at the servers. */
export function createHBase(
  servers: Servers,
  options: Omit<HBaseOptions, 'tls'> & { readonly clock: Clock },
): { readonly store: Bigtable; readonly regions: Regions } {
  const { clock, readOnly = false, timeoutMs = TIMEOUT_MS, namespace = 'default' } = options;
  const regions = new Regions({ servers, clock, seeds: options.servers, namespace });
  const common = { servers, regions, clock, namespace };
  const store = new HBaseBigtable({ ...common, timeoutMs, readOnly, manifest: MANIFEST });
  return { store, regions };
}

/** Without patience: later, a server may be away for a moment, but not now. */
async function checkReachable(regions: Regions, servers: readonly string[]): Promise<void> {
  try {
    await regions.askSeeds('GetActiveMaster', messageOf('GetActiveMasterResponse'));
  } catch (error) {
    if (error instanceof PercolatorError) throw error;
    const reason = asFailure(error).message;
    throw new PercolatorError(
      'STORE_UNAVAILABLE',
      `no HBase answers at ${servers.join(', ')}: ${reason}`,
      { cause: error },
    );
  }
}

const MANIFEST: Manifest = {
  name: 'HBase',
  conditionalBatch: true,
  ordered: false,
  splits: true,
  tombstones: true,
  checksColumns: true,
  durability: durabilityOf({ kind: 'hbase' }),
};
