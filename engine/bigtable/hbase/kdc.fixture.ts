/**
 * A realm of Kerberos for tests: a key distribution center of MIT on the loopback, with the keys of
 * an HBase and of one user, and the user's tickets. Everything is in one temporary folder.
 *
 * The library of Kerberos reads the environment of this process, so that is set, once.
 */
import { env } from 'node:process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { systemClock } from '../../base/index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { startGuarded, stopGuarded } from '../guarded-process.ts';
import { loadKerberos } from './kerberos.ts';
import { accepts, freePorts, HOST, type Realm } from './local/configuration.ts';

export interface KeyDistributionCenter extends AsyncDisposable {
  /** For an HBase at `HOST`. */
  readonly realm: Realm;
  /** Gets the user a ticket that lasts for so many seconds, in place of the one that is there. */
  kinit(seconds: number): Promise<void>;
  /** Takes the user's tickets away. */
  kdestroy(): Promise<void>;
  /** As kill -9 does. */
  stop(): Promise<void>;
}

const REALM = 'PERCOLATOR.TEST';
const SERVER = `hbase/${HOST}@${REALM}`;
export const USER: string = `alice@${REALM}`;
const PROGRAMS = ['krb5kdc', 'kdb5_util', 'kadmin.local', 'kinit', 'kdestroy'];

/** Why there can be no realm on this machine, in a sentence; undefined if there can be. */
export async function whyNoKdc(): Promise<string | undefined> {
  for (const program of PROGRAMS) {
    const { code } = await execa(program, ['-?'], { reject: false, env: withSbin() });
    if (code === 'ENOENT') return `there is no ${program} on PATH (Debian: krb5-kdc, krb5-user)`;
  }
  try {
    await loadKerberos();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Where Debian has a server's programs; a user's PATH may lack it. */
function withSbin(): { readonly PATH: string } {
  return { PATH: [env['PATH'], '/usr/sbin', '/usr/local/sbin'].join(delimiter) };
}

export async function startKdc(): Promise<KeyDistributionCenter> {
  const folder = temporaryFolder();
  const [port = 0] = await freePorts(1);
  const [configuration, keytab] = [join(folder, 'krb5.conf'), join(folder, 'hbase.keytab')];
  const tickets = join(folder, 'tickets');
  writeFileSync(configuration, krb5Conf(port));
  writeFileSync(join(folder, 'kdc.conf'), kdcConf(port, folder));
  Object.assign(env, {
    ...withSbin(),
    KRB5_CONFIG: configuration,
    KRB5_KDC_PROFILE: join(folder, 'kdc.conf'),
    KRB5CCNAME: `FILE:${tickets}`,
  });
  await execa('kdb5_util', ['create', '-s', '-P', 'of a test', '-r', REALM]);
  const userKeys = join(folder, 'user.keytab');
  for (const [principal, keys] of [
    [SERVER, keytab],
    [USER, userKeys],
  ] as const) {
    await execa('kadmin.local', ['addprinc', '-randkey', principal]);
    await execa('kadmin.local', ['ktadd', '-k', keys, principal]);
  }
  const log = join(folder, 'kdc.out');
  const kdc = startGuarded(['krb5kdc', '-n'], { log });
  let hasEnded = false;
  void kdc.then(() => (hasEnded = true));
  while (!(await accepts(port))) {
    if (hasEnded) throw new Error(`krb5kdc has ended: ${readFileSync(log, 'utf8')}`);
    await systemClock.sleep(20);
  }
  const stop = (): Promise<void> => stopGuarded(kdc);
  return {
    realm: { principal: SERVER, keytab, configuration },
    async kinit(seconds) {
      await execa('kinit', ['-l', `${seconds}s`, '-k', '-t', userKeys, USER]);
    },
    async kdestroy() {
      await execa('kdestroy', ['-q']);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Without DNS: the realm and the names of its hosts are in these files. */
function krb5Conf(port: number): string {
  return `[libdefaults]
  default_realm = ${REALM}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  udp_preference_limit = 1
[realms]
  ${REALM} = {
    kdc = ${HOST}:${port}
  }
`;
}

function kdcConf(port: number, folder: string): string {
  return `[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = ${HOST}:${port}
[realms]
  ${REALM} = {
    database_name = ${join(folder, 'principal')}
    key_stash_file = ${join(folder, 'stash')}
  }
[logging]
  kdc = FILE:${join(folder, 'kdc.log')}
`;
}
