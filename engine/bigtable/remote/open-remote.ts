/**
 * Opens a remote store, and looks first whether the engine can run on it: what would fail later, in the middle
 * of something, is said now, in one sentence.
 *
 *     1. The server answers, and the credentials may see its tables.
 *     2. The app profile allows single-row transactions (with Cloud Bigtable).
 *
 * Tables are looked at when they are first used: whether they are there, and whether they have GC rules
 * (remote-tables.ts).
 */
import { type Clock, PercolatorError, systemClock } from '../../base/index.ts';
import type { Bigtable, Manifest } from '../bigtable.ts';
import { type Clients, createClients, type InstanceAdmin } from './client.ts';
import { failureOf } from './failures.ts';
import { Code } from './http2/status.ts';
import { RemoteBigtable } from './remote.ts';
import { adminError } from './remote-tables.ts';

export interface RemoteOptions {
  readonly project: string;
  readonly instance: string;
  /** Default: the instance's own default. It must route to one cluster and allow single-row transactions. */
  readonly appProfile?: string | undefined;
  /**
   * `host:port` of a server without TLS and credentials, such as the official emulator. Default: Cloud
   * Bigtable, with the usual credentials (Application Default Credentials).
   */
  readonly plainAddress?: string | undefined;
  /**
   * Deadline of each call, in milliseconds. Default 10,000. Shorter, and a slow moment of the server leaves
   * commits in doubt; it must stay well below the collector's `messageLifetimeMs`.
   */
  readonly timeoutMs?: number | undefined;
  /** Refuses every mutation with READ_ONLY. Default false. */
  readonly readOnly?: boolean | undefined;
  readonly clock?: Clock | undefined;
  /** Speaks through grpc-js also without TLS. Default false; for comparisons. */
  readonly plainGrpc?: boolean | undefined;
}

const CHECK_MS_MAX = 10_000;
const TIMEOUT_MS = 10_000;

/**
 * @throws STORE_UNAVAILABLE if the server does not answer, STORE_REFUSED if permissions or app profile do not
 *   allow what the engine needs; the message says what to change
 */
export async function openRemote(options: RemoteOptions): Promise<Bigtable> {
  const { clock = systemClock, readOnly = false, timeoutMs = TIMEOUT_MS } = options;
  const { appProfile, plainAddress, plainGrpc } = options;
  const instance = `projects/${options.project}/instances/${options.instance}`;
  const clients = await createClients({ clock, plainAddress, plainGrpc });
  try {
    await checkReachable(clients, instance, plainAddress);
    if (!readOnly) await checkAppProfile(clients.instances, instance, appProfile ?? 'default');
  } catch (error) {
    await clients.close();
    throw error;
  }
  const manifest = manifestOf(plainAddress !== undefined);
  const services = { clients, clock, manifest };
  return new RemoteBigtable({ ...services, instance, appProfile, timeoutMs, readOnly });
}

function manifestOf(isEmulator: boolean): Manifest {
  return {
    name: isEmulator ? 'emulator' : 'Cloud Bigtable',
    conditionalBatch: false,
    ordered: false,
    // Cloud Bigtable takes them for a beginning, and then splits where its load is.
    splits: false,
    durability: isEmulator
      ? 'nothing survives the emulator, which keeps everything in memory'
      : 'every commit is stored by Cloud Bigtable before it is answered',
  };
}

/** The cheapest question that needs the server, the instance and a permission. */
async function checkReachable(
  { tables }: Clients,
  instance: string,
  plainAddress: string | undefined,
): Promise<void> {
  try {
    // A server without TLS is on this machine or near it: if it is not there now, nobody wants to wait for it.
    const patience = plainAddress === undefined ? {} : { retry: null };
    const options = { timeout: CHECK_MS_MAX, autoPaginate: false, ...patience };
    await tables.listTables({ parent: instance, pageSize: 1 }, options);
  } catch (error) {
    const { code, details } = failureOf(error);
    if (code === Code.notFound) {
      throw new PercolatorError('STORE_REFUSED', `there is no Bigtable instance ${instance}`, {
        cause: error,
      });
    }
    if (code === Code.permissionDenied) {
      throw adminError(error, { doing: `opening ${instance}`, permission: 'bigtable.tables.list' });
    }
    const where = plainAddress ?? 'Cloud Bigtable';
    const refused = code === Code.unauthenticated || isAboutCredentials(details);
    throw new PercolatorError(
      refused ? 'STORE_REFUSED' : 'STORE_UNAVAILABLE',
      refused
        ? `${where} needs credentials, and there are none that work; run: gcloud auth application-default login (${details})`
        : `no Bigtable answers at ${where}: ${details}`,
      { cause: error },
    );
  }
}

/** What google-auth-library says when it finds nothing. */
function isAboutCredentials(details: string): boolean {
  return /default credentials|credential/i.test(details);
}

/**
 * Every lock and every commit is a conditional mutation of one row, which Bigtable allows only where one cluster
 * decides. Whoever may not look at app profiles is told by the first commit instead (failures.ts).
 */
async function checkAppProfile(
  instances: InstanceAdmin,
  instance: string,
  appProfile: string,
): Promise<void> {
  const name = `${instance}/appProfiles/${appProfile}`;
  try {
    const [profile] = await instances.getAppProfile({ name }, { timeout: CHECK_MS_MAX });
    if (profile.singleClusterRouting?.allowTransactionalWrites === true) return;
  } catch (error) {
    const { code } = failureOf(error);
    // The emulator has no app profiles, and allows everything.
    if (code === Code.permissionDenied || code === Code.unimplemented) return;
    if (code !== Code.notFound) {
      throw adminError(error, {
        doing: `looking at ${name}`,
        permission: 'bigtable.appProfiles.get',
      });
    }
    throw new PercolatorError('STORE_REFUSED', `there is no app profile ${name}`, { cause: error });
  }
  throw new PercolatorError(
    'STORE_REFUSED',
    `the app profile ${appProfile} of ${instance} does not allow single-row transactions, which every commit needs; ` +
      'use one that routes to a single cluster and allows them ' +
      '(gcloud bigtable app-profiles create ... --route-to=CLUSTER --transactional-writes)',
  );
}
