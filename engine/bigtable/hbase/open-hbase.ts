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
  type OptionRules,
  NAME,
  POSITIVE,
} from '../../base/options.ts';
import { type Bigtable, durabilityOf, type Manifest } from '../bigtable.ts';
import { Connection, Deadlines } from './connection.ts';
import { asFailure, isNoServer, mayRepeat } from './failures.ts';
import { HBaseBigtable } from './hbase.ts';
import { Kerberos, KerberosFailure, loadKerberos, PRINCIPAL } from './kerberos.ts';
import { Master, Regions, Seeds } from './regions.ts';
import { loadMessages, messageOf } from './messages.ts';
import { PROOF_MS_MAX, PROOF_PART, Servers, SESSION_MS_MIN } from './servers.ts';

export interface HBaseOptions {
  /** One or more masters or region servers, each `host:port`; each knows where all others are. */
  readonly servers: readonly string[];
  /** The namespace of the tables, which must exist. Default `default`. */
  readonly namespace?: string | undefined;
  /** Connects through TLS. Default false. */
  readonly tls?: boolean | undefined;
  /**
   * Demands Kerberos: the principal of the servers, as `hbase.master.kerberos.principal` and
   * `hbase.regionserver.kerberos.principal` have it, such as `hbase/_HOST@REALM`. `_HOST` stands
   * for the host of each server; without `@REALM`, krb5.conf says the realm. The user's ticket
   * comes from `kinit`. Default: none, for clusters without Kerberos. A wrong one: STORE_REFUSED.
   */
  readonly principal?: string | undefined;
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
   * How long a mutation that a region server has applied proves its answers, in milliseconds; at
   * most 3,000, and two thirds of `sessionTimeoutMs`. Default 1,000. 0: each read waits for a
   * mutation that was sent after it; the only value that is safe in every case where a network may
   * cut a region server off from ZooKeeper, but not from this process. Longer: such a server, or
   * one that stood still, answers with old cells for as long.
   */
  readonly proofMs?: number | undefined;
  /**
   * Refuses every mutation with READ_ONLY. Default false. With true, a region server that stood
   * still may answer with old cells for a moment, because the proof against it is a mutation
   * (servers.ts).
   */
  readonly readOnly?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

const KINDS: OptionRules<HBaseOptions> = {
  servers: {
    expected: 'a list of one or more texts like host:port',
    accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(ADDRESS.accepts),
  },
  namespace: NAME,
  tls: FLAG,
  principal: PRINCIPAL,
  timeoutMs: POSITIVE,
  sessionTimeoutMs: {
    expected: `a number of at least ${SESSION_MS_MIN}`,
    accepts: (value) => POSITIVE.accepts(value) && (value as number) >= SESSION_MS_MIN,
  },
  proofMs: {
    expected: `a number of milliseconds from 0 to ${PROOF_MS_MAX}`,
    accepts: (value) =>
      value === 0 || (POSITIVE.accepts(value) && (value as number) <= PROOF_MS_MAX),
  },
  readOnly: FLAG,
  clock: CLOCK,
};

const TIMEOUT_MS = 10_000;
/** Between two questions whether a server answers. */
const RETRY_MS = 100;
const SESSION_MS = 90_000;
/** The name that HBase's logs and permissions have for a client without Kerberos. */
const USER = 'percolator';

/**
 * @throws STORE_UNAVAILABLE if no server answers; STORE_REFUSED if the namespace is missing, the
 * servers ask for Kerberos and there is no `principal`, or the reverse, Kerberos has no ticket for
 * them, or they show a certificate that is not trusted; INVALID_ARGUMENT for a wrong option;
 * PACKAGE_MISSING if protobufjs is not installed, or with `principal` kerberos
 */
export async function openHBase(options: HBaseOptions): Promise<Bigtable> {
  checkOptions('openHBase', options, KINDS, ['servers']);
  checkProof(options);
  const { clock = systemClock, tls = false, timeoutMs = TIMEOUT_MS } = options;
  await loadMessages();
  const { principal } = options;
  const kerberos =
    principal === undefined ? undefined : new Kerberos(principal, await loadKerberos());
  const common = { clock, deadlines: new Deadlines(clock), tls, user: USER, kerberos };
  const servers = new Servers({
    clock,
    proofMs: options.proofMs,
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

/** A server may have lost its regions before a longer proof is over. */
function checkProof({ proofMs = 0, sessionTimeoutMs = SESSION_MS }: HBaseOptions): void {
  const max = Math.floor(sessionTimeoutMs * PROOF_PART);
  if (proofMs <= max) return;
  const message = `proofMs must be at most ${max}, two thirds of sessionTimeoutMs, which is ${sessionTimeoutMs}, not ${proofMs}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

/**
 * The store; no server is asked whether it is there. The messages must be loaded (messages.ts).
 * @internal
 */
export function createHBase(
  servers: Servers,
  options: Omit<HBaseOptions, 'tls' | 'principal'> & { readonly clock: Clock },
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
      const isLate = clock.monotonicMs() >= endMs;
      if (failure instanceof KerberosFailure && (failure.isLasting || isLate)) {
        throw new PercolatorError('STORE_REFUSED', failure.message, { cause: error });
      }
      const mayAnswer = mayRepeat(failure, 'read') && !isNoServer(failure);
      if (!mayAnswer || isLate) {
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
