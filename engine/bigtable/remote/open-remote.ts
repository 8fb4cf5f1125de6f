/**
 * Opens a remote store, after checking whether the engine can run on it: a problem that would
 * otherwise cause failures later is reported now, in one sentence.
 *
 *     1. The server answers, and the credentials may see its tables.
 *     2. Unless the store is opened for reading only: the app profile allows single-row
 *        transactions. A server without credentials is asked only if a profile was named: emulators
 *        have none, and one of them crashes when it is asked.
 *
 * Tables are checked at their first use: whether they exist, and whether they have GC rules
 * (remote-tables.ts).
 */
import { type Clock, hasCode, PercolatorError, systemClock } from '../../base/index.ts';
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
import { type Clients, createClients, type InstanceAdmin } from './data-calls.ts';
import { Code, failureOf } from './failures.ts';
import { CHECK_BYTES_MAX } from './filter-tree.ts';
import { RemoteBigtable } from './remote.ts';
import { adminError } from './remote-tables.ts';

export interface RemoteOptions {
  readonly project: string;
  readonly instance: string;
  /**
   * Default: the instance's own default. It must route to one cluster and allow single-row
   * transactions.
   */
  readonly appProfile?: string | undefined;
  /**
   * `host:port` of a server without TLS and credentials, such as the official emulator. Default:
   * Cloud Bigtable, with the usual credentials (Application Default Credentials).
   */
  readonly plainAddress?: string | undefined;
  /**
   * Deadline of each call, in milliseconds. Default 10,000. Too short: a slow moment of the server
   * leaves commits in doubt. Longer than the default: collectors wait six times as long
   * (`manifest.messageLifetimeMs`).
   */
  readonly timeoutMs?: number | undefined;
  /** Refuses every mutation with READ_ONLY. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

const KINDS: OptionRules<RemoteOptions> = {
  project: NAME,
  instance: NAME,
  appProfile: NAME,
  plainAddress: ADDRESS,
  timeoutMs: POSITIVE,
  readOnly: FLAG,
  clock: CLOCK,
};

const CHECK_MS_MAX = 10_000;
const TIMEOUT_MS = 10_000;
/** A server may apply a call after its deadline: a collector's wait, in deadlines. */
const LIFETIMES = 6;

/**
 * @throws STORE_UNAVAILABLE if the server does not answer; STORE_REFUSED if permissions or app
 * profile do not allow what the engine needs; INVALID_ARGUMENT for a wrong option; PACKAGE_MISSING;
 * the message says what to change
 */
export async function openRemote(options: RemoteOptions): Promise<Bigtable> {
  checkOptions('openRemote', options, KINDS, ['project', 'instance']);
  const { clock = systemClock, readOnly = false, timeoutMs = TIMEOUT_MS } = options;
  const { appProfile, plainAddress } = options;
  const instance = `projects/${options.project}/instances/${options.instance}`;
  const where = plainAddress ?? 'Cloud Bigtable';
  const clients = await createClients(plainAddress).catch((error: unknown) => {
    if (hasCode(error, 'PACKAGE_MISSING')) throw error;
    throw unreachableError(error, where); // Creating clients looks for credentials.
  });
  try {
    await checkReachable(clients, instance, plainAddress);
    const hasProfile = plainAddress === undefined || appProfile !== undefined;
    if (!readOnly && hasProfile) {
      await checkAppProfile(clients.instances, instance, appProfile ?? 'default');
    }
  } catch (error) {
    await clients.close().catch(() => {}); // The first error tells more.
    throw error;
  }
  const isEmulator = plainAddress !== undefined;
  const services = { clients, clock, manifest: manifestOf(isEmulator, timeoutMs) };
  const settings = { instance, appProfile, timeoutMs, readOnly, readsRanges: isEmulator };
  return new RemoteBigtable({ ...services, ...settings });
}

function manifestOf(isEmulator: boolean, timeoutMs: number): Manifest {
  const messageLifetimeMs = LIFETIMES * timeoutMs;
  return {
    ...(timeoutMs > TIMEOUT_MS ? { messageLifetimeMs } : {}),
    name: isEmulator ? 'emulator' : 'Cloud Bigtable',
    conditionalBatch: false,
    ordered: false,
    // Cloud Bigtable uses splits only at the beginning, and later splits by load.
    splits: false,
    checkBytesMax: CHECK_BYTES_MAX,
    durability: durabilityOf({ kind: isEmulator ? 'emulator' : 'cloud' }),
  };
}

/** Makes the cheapest call that needs the server, the instance and a permission. */
async function checkReachable(
  { tables }: Clients,
  instance: string,
  plainAddress: string | undefined,
): Promise<void> {
  try {
    // A server without TLS is on this machine or near it: if it is down now, waiting is useless.
    const patience = plainAddress === undefined ? {} : { retry: null };
    const options = { timeout: CHECK_MS_MAX, autoPaginate: false, ...patience };
    await tables.listTables({ parent: instance, pageSize: 1 }, options);
  } catch (error) {
    const { code } = failureOf(error);
    if (code === Code.notFound) {
      throw new PercolatorError('STORE_REFUSED', `there is no Bigtable instance ${instance}`, {
        cause: error,
      });
    }
    if (code === Code.permissionDenied) {
      throw adminError(error, 'read', {
        doing: `opening ${instance}`,
        permission: 'bigtable.tables.list',
      });
    }
    throw unreachableError(error, plainAddress ?? 'Cloud Bigtable');
  }
}

function unreachableError(error: unknown, where: string): PercolatorError {
  const { code, details } = failureOf(error);
  const reason = details.replace(/\.* Resolution note: *$/, ''); // The end of grpc-js's messages.
  const refused = code === Code.unauthenticated || isAboutCredentials(details);
  return new PercolatorError(
    refused ? 'STORE_REFUSED' : 'STORE_UNAVAILABLE',
    refused
      ? `${where} needs credentials, and there are none that work; run: gcloud auth application-default login (${reason})`
      : `no Bigtable answers at ${where}: ${reason}`,
    { cause: error },
  );
}

/** Recognizes the messages of google-auth-library when it finds no credentials. */
function isAboutCredentials(details: string): boolean {
  return /credential/i.test(details);
}

/**
 * Every lock and every commit is a conditional mutation of one row, which Bigtable allows only
 * where one cluster decides. If the credentials may not read app profiles, the first commit reports
 * the problem instead (failures.ts).
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
    // A server without app profiles allows everything.
    if (code === Code.permissionDenied || code === Code.unimplemented) return;
    if (code !== Code.notFound) {
      throw adminError(error, 'read', {
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
