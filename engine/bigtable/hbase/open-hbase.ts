/**
 * Opens an HBase as a store, after checking that a server answers and that the namespace exists.
 * Tables are checked at their first use (tables.ts).
 */
import { type Clock, PercolatorError, systemClock } from '../../base/index.ts';
import {
  ADDRESS,
  checkOptions,
  CLOCK,
  FLAG,
  type Kinds,
  NAME,
  POSITIVE,
} from '../../base/options.ts';
import type { Bigtable, Manifest } from '../bigtable.ts';
import { Deadlines } from '../deadlines.ts';
import { durabilityOf } from '../durability.ts';
import { Connection } from './connection.ts';
import { asFailure, isNoServer, mayRepeat } from './failures.ts';
import { HBaseBigtable } from './hbase.ts';
import { Master } from './master.ts';
import { messageOf } from './messages.ts';
import { Regions } from './regions.ts';
import { Seeds } from './seeds.ts';
import { Servers, SESSION_MS_MIN } from './servers.ts';

export interface HBaseOptions {
  /** One or more masters or region servers, each `host:port`; each knows where all others are. */
  readonly servers: readonly string[];
  /** The namespace of the tables, which must exist. Default `default`. */
  readonly namespace?: string | undefined;
  /** Connects through TLS. Default false. */
  readonly tls?: boolean | undefined;
  /**
   * Deadline of each call, in milliseconds. Default 10,000. Too short: a slow moment of the server
   * leaves commits in doubt. Too long: collectors wait longer (`manifest.messageLifetimeMs`).
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The cluster's own `zookeeper.session.timeout`, in milliseconds; at least 3,000, below which
   * reads are not safe (servers.ts). Default 90,000, which is also HBase's. Too short: a region
   * server that stood still may apply a call after collectors have deleted the evidence against it,
   * and data is lost (P66). Too long: garbage stays that much longer.
   */
  readonly sessionTimeoutMs?: number | undefined;
  /**
   * Refuses every mutation with READ_ONLY. Default false. With true, a region server that stood
   * still may answer with old cells for a moment, because the proof against it is a mutation
   * (servers.ts).
   */
  readonly readOnly?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

const KINDS: Kinds<HBaseOptions> = {
  servers: {
    expected: 'a list of one or more texts like host:port',
    accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(ADDRESS.accepts),
  },
  namespace: NAME,
  tls: FLAG,
  timeoutMs: POSITIVE,
  sessionTimeoutMs: {
    expected: `a number of at least ${SESSION_MS_MIN}`,
    accepts: (value) => POSITIVE.accepts(value) && (value as number) >= SESSION_MS_MIN,
  },
  readOnly: FLAG,
  clock: CLOCK,
};

const TIMEOUT_MS = 10_000;
/** Between two questions whether a server answers. */
const RETRY_MS = 100;
const SESSION_MS = 90_000;
/** The name that HBase's logs and permissions have for this client. */
const USER = 'percolator';

/**
 * @throws STORE_UNAVAILABLE if no server answers; STORE_REFUSED if the namespace is missing, or the
 * servers ask for Kerberos or show a certificate that is not trusted; INVALID_ARGUMENT for a wrong
 * option
 */
export async function openHBase(options: HBaseOptions): Promise<Bigtable> {
  checkOptions('openHBase', options, KINDS, ['servers']);
  const { clock = systemClock, tls = false, timeoutMs = TIMEOUT_MS } = options;
  const common = { clock, deadlines: new Deadlines(clock), tls, user: USER };
  const servers = new Servers({
    clock,
    connect: (address, service) => new Connection(address, service, common),
  });
  const { store, seeds } = createHBase(servers, { ...options, clock });
  try {
    await checkReachable(seeds, options.servers, { clock, timeoutMs });
    await store.listTables();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/** The store; no server is asked whether it is there. */
export function createHBase(
  servers: Servers,
  options: Omit<HBaseOptions, 'tls'> & { readonly clock: Clock },
): { readonly store: Bigtable; readonly seeds: Seeds } {
  const { clock, readOnly = false, timeoutMs = TIMEOUT_MS, namespace = 'default' } = options;
  const { sessionTimeoutMs = SESSION_MS } = options;
  const seeds = new Seeds(servers, options.servers);
  const master = new Master({ servers, seeds, clock, namespace });
  const regions = new Regions({ servers, clock, seeds, master, namespace });
  const messageLifetimeMs = timeoutMs + SESSION_LIFETIME * sessionTimeoutMs;
  const manifest = { ...MANIFEST, messageLifetimeMs };
  const store = new HBaseBigtable({
    servers,
    master,
    regions,
    clock,
    namespace,
    timeoutMs,
    readOnly,
    manifest,
  });
  return { store, seeds };
}

/**
 * Asks for as long as a call may take: a server that is busy accepts a connection late. But where
 * no process listens, it says so at once.
 */
async function checkReachable(
  seeds: Seeds,
  servers: readonly string[],
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<void> {
  const endMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    try {
      await seeds.ask('GetActiveMaster', messageOf('GetActiveMasterResponse'));
      return;
    } catch (error) {
      if (error instanceof PercolatorError) throw error;
      const failure = asFailure(error);
      const mayAnswer = mayRepeat(failure, 'read') && !isNoServer(failure);
      if (!mayAnswer || clock.monotonicMs() >= endMs) {
        const message = `no HBase answers at ${servers.join(', ')}: ${failure.message}`;
        throw new PercolatorError('STORE_UNAVAILABLE', message, { cause: error });
      }
      await clock.sleep(RETRY_MS);
    }
  }
}

/**
 * A server that stops with a call in its socket applies it when it goes on, unless its session has
 * ended, and the master has taken its log. ZooKeeper ends a session up to one of its ticks late,
 * which is at most half of the session.
 *
 * If only the network between this process and the server is cut, the call stays in our own socket
 * and may arrive later: TCP repeats it until the connection is left as silent (connection.ts). The
 * rollback is sent after it in the same socket, or when that is gone, and its tombstone hides the
 * lock, also a later one, until a major compaction.
 */
const SESSION_LIFETIME = 1.5;

const MANIFEST: Manifest = {
  name: 'HBase',
  conditionalBatch: true,
  ordered: false,
  splits: true,
  tombstones: true,
  checksColumns: true,
  durability: durabilityOf({ kind: 'hbase' }),
};
