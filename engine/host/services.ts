/**
 * `percolator oracle` and `percolator locks`: the services of a database with many hosts.
 *
 * A host finds the address to listen at in the list that all hosts have, percolator.json: it is the
 * one that leads to this machine. `--listen` says it where that is not clear: two oracles on one
 * machine, or a name that resolves to another address here.
 *
 * An oracle that is told to end gives its lease up first, and then ends its connections. So the
 * next request finds no oracle here, goes to the standby, and that one takes the free lease at
 * once: no caller waits for a time to live.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { systemClock, takeAll } from '../base/index.ts';
import { openStore } from '../bigtable/open-store.ts';
import { serveLocks } from '../lock-service/server.ts';
import { identityIn, type LeasedAllocator, openLeasedAllocator } from '../oracle/index.ts';
import { serveOracle } from '../oracle/server.ts';
import type { Reading } from '../telemetry/index.ts';
import { type Configuration, wrong } from './configuration.ts';
import { noStore, openTls } from './connect.ts';
import type { Log } from './log.ts';
import type { Service, ServiceTools } from './service.ts';
import type { TlsFilesSource } from './tls-files.ts';

/**
 * Where the services listen unless the configuration says otherwise: below 32768, where systems
 * begin to take ports for outgoing connections, and in a range that IANA has assigned to none.
 */
export const PORTS = { oracle: 7451, locks: 7452, metrics: 7453 } as const;

/** Milliseconds between two looks whether the lease is held. */
const LOOK_MS = 250;

export async function startOracle(
  configuration: Configuration,
  listen: string | undefined,
  { log, telemetry }: ServiceTools,
): Promise<Service> {
  const { insecure, store: storeAddress } = configuration;
  if (storeAddress === undefined) throw noStore();
  const address = await ownAddress('oracles', configuration.oracles, listen, {
    port: PORTS.oracle,
  });
  const tls = tlsOf(configuration, address, { log, telemetry });
  const opened = await openStore(storeAddress);
  const store = telemetry?.storeOf(opened) ?? opened;
  const source = await openLeasedAllocator(store, systemClock);
  const serving = { address, tls, insecure, onWarning: log.warn };
  const server = await serveOracle(source, serving).catch(async (error: unknown) => {
    // Else its lease keeps the others waiting.
    await takeAll([() => source.close(), () => store.close(), () => tls?.close()]).catch(() => {});
    throw error;
  });
  log.say('info', 'listens', `the oracle listens at ${server.address}`, {
    database: source.identity,
  });
  const stopped = new AbortController();
  void tellLease(source, log, stopped.signal);
  const endReadings = telemetry?.watch(() => readingsOf(source));
  return {
    ended: source.ended,
    probes: [
      {
        of: 'the lease',
        ask: async () =>
          isAtWork(source)
            ? undefined
            : "this oracle neither holds the lease nor watches another's",
      },
      {
        of: 'the storage',
        ask: async () => {
          await identityIn(store, source.identity).check();
          return undefined;
        },
      },
    ],
    drain: () =>
      takeAll([
        () => stopped.abort(),
        () => source.close(), // First, so that the standby need not wait for the lease to expire.
        () => server.close(),
        () => store.close(),
        () => tls?.close(),
        () => endReadings?.(),
      ]),
  };
}

/** A standby that watches the lease does its work, too. */
export function isAtWork({ isLeading, isWatching }: LeasedAllocator): boolean {
  return isLeading || isWatching;
}

function readingsOf(source: LeasedAllocator): readonly Reading[] {
  const seconds = source.remainingMs / 1_000;
  return [
    { metric: 'percolator.oracle.timestamps', value: source.handedOut },
    { metric: 'percolator.oracle.leading', value: source.isLeading ? 1 : 0 },
    {
      metric: 'percolator.lease.remaining',
      value: source.isLeading ? seconds : undefined,
      attributes: { 'percolator.lease': 'oracle' },
    },
  ];
}

/** Tells when this oracle begins, or ceases, to hold the lease. */
async function tellLease(source: LeasedAllocator, log: Log, signal: AbortSignal): Promise<void> {
  let was: boolean | undefined;
  while (!signal.aborted) {
    const is = source.isLeading;
    if (is !== was) {
      if (is) log.say('info', 'leads', 'this oracle hands out timestamps', { epoch: source.epoch });
      else log.say('info', 'stands-by', 'this oracle does not hold the lease, and watches it');
    }
    was = is;
    await systemClock.sleep(LOOK_MS, signal, { background: true });
  }
}

export async function startLocks(
  configuration: Configuration,
  listen: string | undefined,
  { log, telemetry }: ServiceTools,
): Promise<Service> {
  const { lockServices, insecure } = configuration;
  const address = await ownAddress('lockServices', lockServices, listen, { port: PORTS.locks });
  const tls = tlsOf(configuration, address, { log, telemetry });
  const server = await serveLocks({ address, tls, insecure, onWarning: log.warn });
  log.say(
    'info',
    'listens',
    `the lock service listens at ${server.address}, and knows nothing yet`,
  );
  return {
    ended: new Promise(() => {}),
    probes: [],
    drain: () => takeAll([() => server.close(), () => tls?.close()]),
  };
}

/** Every address of the machine, `0.0.0.0` or `::`, is none at which others reach it. */
const ANY_ADDRESS = /^[0.:]+$/;

function tlsOf(
  configuration: Configuration,
  address: string,
  { log, telemetry }: ServiceTools,
): TlsFilesSource | undefined {
  const listening = hostOf(address);
  const host = ANY_ADDRESS.test(listening) ? undefined : listening;
  return openTls(configuration, { log, telemetry, host, isService: true, atHangup: true });
}

/** The names and addresses that this machine has. */
export interface OwnMachine {
  readonly name: string;
  readonly addresses: ReadonlySet<string>;
  /** The addresses of a name; none if it has none. */
  resolve(name: string): Promise<readonly string[]>;
}

function thisMachine(): OwnMachine {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return {
    name: hostname(),
    addresses: new Set(all.map(({ address }) => address)),
    resolve: async (name) => {
      const found = await lookup(name, { all: true }).catch(() => []);
      return found.map(({ address }) => address);
    },
  };
}

/**
 * The address to listen at.
 * @param setting the name of the list `addresses`
 * @throws INVALID_ARGUMENT if none of the list is this machine's, or several are, or others do not
 *   reach it there
 */
export async function ownAddress(
  setting: string,
  addresses: readonly string[],
  listen: string | undefined,
  { port, machine = thisMachine() }: { readonly port: number; readonly machine?: OwnMachine },
): Promise<string> {
  if (listen !== undefined) return listen;
  const ours: string[] = [];
  for (const address of addresses) if (await isOurs(hostOf(address), machine)) ours.push(address);
  const [own, another] = ours;
  if (own !== undefined && another === undefined) {
    await checkReached(setting, own, machine);
    return own;
  }
  if (own !== undefined) {
    throw wrong(
      `${setting} names several addresses of this machine (${ours.join(', ')}): choose one with --listen`,
    );
  }
  const why =
    addresses.length === 0
      ? `${setting} names no address`
      : `none of ${setting} (${addresses.join(', ')}) is an address of this machine`;
  throw wrong(`${why}: give --listen host:port, on port ${port} for example`);
}

async function isOurs(host: string, machine: OwnMachine): Promise<boolean> {
  if (host.toLowerCase() === machine.name.toLowerCase()) return true;
  const found = await machine.resolve(host);
  return found.some((address) => machine.addresses.has(address) || isLoopback(address));
}

/**
 * Debian gives a machine's own name the address 127.0.1.1 in /etc/hosts. A service that listens
 * there is reached by no other host, to which the name means another address.
 */
async function checkReached(setting: string, own: string, machine: OwnMachine): Promise<void> {
  const host = hostOf(own);
  if (host.toLowerCase() === 'localhost' || isIP(host) !== 0) return;
  const found = await machine.resolve(host);
  const [first] = found;
  if (first === undefined || !found.every(isLoopback)) return;
  const anywhere = `0.0.0.0:${own.replace(/^.*:/, '')}`;
  throw wrong(
    `${setting} names ${own}, but on this machine ${host} is ${first}, where no other host reaches it: give --listen ${anywhere}, or mend /etc/hosts`,
  );
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** Without the port, and the brackets of IPv6. */
function hostOf(address: string): string {
  return address.replace(/:\d+$/, '').replaceAll(/^\[|\]$/g, '');
}
