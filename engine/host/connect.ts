/**
 * Connects a user's program to a database on many hosts, by the same configuration as the programs
 * of `percolator`:
 *
 *     await using percolator = await connectPercolator({ config: 'percolator.json' });
 *
 * It gives what `openPercolator` gives, with the clients of the services in it:
 *
 *     store         opened at its address
 *     oracle        the oracles named; none: the one that is kept in the store
 *     liveness      the lock services named, and this machine's processes
 *     workers       take the locks of their scanners from the lock service
 *
 * All of them are closed with the database. Certificates are taken up as their files change; no
 * signal is listened to.
 */
import process from 'node:process';
import { entropySeed, takeAll, type Warning, Warnings } from '../base/index.ts';
import { isObject } from '../base/options.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { openEmbedded } from '../bigtable/embedded/index.ts';
import { openStore } from '../bigtable/open-store.ts';
import { openDatabase, type Percolator, type PercolatorOptions } from '../database.ts';
import { connectLockService, type LockServiceClient } from '../lock-service/client.ts';
import { localProcesses } from '../lock-service/local-processes.ts';
import { connectOracle, type OracleClient } from '../oracle/client.ts';
import {
  type Configuration,
  type ConfigurationFile,
  readConfiguration,
  wrong,
} from './configuration.ts';
import type { Log } from './log.ts';
import { openTlsFiles, type TlsFilesOptions, type TlsFilesSource } from './tls-files.ts';

/** Options of `openPercolator`, except those that the configuration decides. */
export interface ConnectPercolatorOptions extends Omit<
  PercolatorOptions,
  'folder' | 'fsync' | 'store' | 'oracle' | 'liveness'
> {
  /**
   * The path of the configuration, or what would be in it. Default: the file that
   * `PERCOLATOR_CONFIG` names, or percolator.json of the working folder.
   */
  readonly config?: string | ConfigurationFile | undefined;
  /**
   * Called when a lock service or new certificates cannot be used, or the certificate in use
   * expires within a week, and when that is over. Default: Node prints the first warning of each
   * kind.
   */
  readonly onWarning?: ((warning: Warning) => unknown) | undefined;
}

/**
 * @throws INVALID_ARGUMENT for a wrong setting or option, in one sentence; otherwise as
 *   `openPercolator`
 */
export async function connectPercolator(
  options: ConnectPercolatorOptions = {},
): Promise<Percolator> {
  if (!isObject(options)) throw wrong('the options of connectPercolator must be an object');
  const { config, ...others } = options;
  const configuration = readConfiguration({
    config,
    options: {},
    environment: process.env,
    folder: process.cwd(),
  });
  return connectTo(configuration, others);
}

/** The same, with a configuration that was read already. */
export async function connectTo(
  configuration: Configuration,
  {
    onWarning,
    log,
    ...options
  }: Omit<ConnectPercolatorOptions, 'config'> & {
    /** Of a program; a library has none. */
    readonly log?: Log | undefined;
  } = {},
): Promise<Percolator> {
  const { store: address, oracles, lockServices, insecure } = configuration;
  for (const name of ['folder', 'fsync', 'store', 'oracle', 'liveness']) {
    if (Object.hasOwn(options, name)) {
      throw wrong(`connectPercolator has no option ${name}: the configuration decides it`);
    }
  }
  if (address === undefined) throw noStore();
  if (insecure) {
    const sentence = 'oracles and lock services of other hosts are spoken with in plaintext';
    log?.say('warn', 'insecure', sentence);
  }
  const local = localProcesses(String(entropySeed()));
  const opened: { close(): Promise<void> | void }[] = [];
  const closeAll = (): Promise<void> =>
    takeAll([...opened.toReversed().map((one) => () => one.close()), () => local.leave()]);
  try {
    const atHangup = log !== undefined;
    const { telemetry } = options;
    const tls = keep(openTls(configuration, { log, onWarning, telemetry, atHangup }));
    const store = keep(await openStore(address));
    const oracle: OracleClient | undefined =
      oracles.length === 0
        ? undefined
        : keep(
            connectOracle({ addresses: oracles, tls, insecure, onWarning, clock: options.clock }),
          );
    const locks: LockServiceClient | undefined =
      lockServices.length === 0
        ? undefined
        : keep(connectLockService({ addresses: lockServices, local, tls, insecure, onWarning }));
    return await openDatabase(
      {
        batching: address.kind === 'embedded' ? 'off' : {}, // Where each call goes over a network.
        ...options,
        store,
        oracle,
        liveness: locks ?? local,
      },
      {
        openFolder: (folder, fsync): Promise<Bigtable> => openEmbedded({ folder, fsync }),
        processes: localProcesses,
        rangeLocks: locks,
        closeAfter: closeAll,
      },
    );
  } catch (error) {
    await closeAll().catch(() => {}); // The first failure says more.
    throw error;
  }

  function keep<T extends { close(): Promise<void> | void } | undefined>(one: T): T {
    if (one !== undefined) opened.push(one);
    return one;
  }
}

/** Undefined if the configuration names no certificates. */
export function openTls(
  { tls }: Configuration,
  { log, onWarning, host, telemetry, atHangup, isService = false }: TlsUse = {},
): TlsFilesSource | undefined {
  if (tls === undefined) return undefined;
  const warnings = new Warnings(log?.warn ?? onWarning);
  const warn = (name: string, sentence: string): void =>
    warnings.begin(name, { kind: 'certificate', sentence });
  return openTlsFiles(tls, {
    host,
    telemetry,
    atHangup,
    onTaken: () => {
      warnings.end(REFUSED);
      warnings.end(EXPIRING);
      log?.say('info', 'certificates', 'new certificates are in use');
    },
    onRestored: () => warnings.end(REFUSED),
    onRefused: (sentence) => warn(REFUSED, `the old certificates stay: ${sentence}`),
    onExpiring: (days) => {
      // A service warns of it on its own (rpc/certificate.ts).
      const within = days < 1 ? 'a day' : `${days + 1} days`;
      const sentence = `the certificate in use expires in less than ${within}`;
      if (!isService) warn(EXPIRING, sentence);
    },
  });
}

const REFUSED = 'refused';
const EXPIRING = 'expiring';

/** What a process does with its certificates. */
interface TlsUse extends Pick<TlsFilesOptions, 'host' | 'telemetry' | 'atHangup'> {
  /** Told of files that cannot be used. Default: Node prints the first warning. */
  readonly log?: Log | undefined;
  /** The same, where there is no log. */
  readonly onWarning?: ((warning: Warning) => unknown) | undefined;
  /** Whether it shows them to callers. Default false. */
  readonly isService?: boolean | undefined;
}

export function noStore(): Error {
  return wrong(
    'no store is given: name it in percolator.json, with --store, or in PERCOLATOR_STORE',
  );
}
