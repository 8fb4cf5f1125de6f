/**
 * A PostgreSQL of our own: made in a temporary folder, reachable through a socket and from nowhere else, and gone
 * afterwards, with its folder, whatever becomes of us.
 *
 *     folders ─▶ guard ─▶ copy of the programs ─▶ initdb ─▶ postgres ─▶ ready ... stop ─▶ nothing is left
 *               (guard.ts: from here on it sees to the end)
 *
 * It trusts everybody who can reach its socket, whose folder is open to one account only. That is one of the
 * system's temporary folders, whose names are short: the name of a socket may have 107 bytes, 103 on macOS, and the disk
 * that is measured may be anywhere.
 */
import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { systemClock } from '#engine';
import { type Account, unprivilegedAccount } from './account.ts';
import { type Binaries, copyBinaries } from './binaries.ts';
import { type Guard, startGuard } from './guard.ts';
import { settingsFor } from './tuning.ts';

export interface PrivateCluster extends AsyncDisposable {
  /** Where the socket lies: what `pg` takes as `host`. */
  readonly socketFolder: string;
  readonly user: string;
  /** Of the postmaster, whose children are all other processes. */
  readonly pid: number;
}

const USER = 'postgres';
const START_MS_MAX = 60_000;
/** Nothing of our own environment is meant for it. Not the C locale's sorting alone: its messages are looked for. */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' };

/**
 * `parent` is where its folder is made, on the disk that is measured; by default the system's temporary folder. If we
 * are root, everybody must be allowed to enter it.
 * @throws UsageError if the programs are missing, or do not run here or there
 */
export async function startPrivateCluster(parent: string = tmpdir()): Promise<PrivateCluster> {
  const folder = await mkdtemp(path.join(path.resolve(parent), 'brokerage-postgres-'));
  const sockets = await mkdtemp(path.join(tmpdir(), 'postgres-'));
  const guard = startGuard([folder, sockets]);
  try {
    const account = await unprivilegedAccount();
    for (const own of [folder, sockets]) {
      if (account.uid !== undefined) await chown(own, account.uid, account.gid ?? 0);
    }
    const binaries = await copyBinaries(folder, account);
    return await start({ folder, sockets, guard, account, binaries });
  } catch (error) {
    await guard.stop();
    throw error;
  }
}

interface Parts {
  readonly folder: string;
  readonly sockets: string;
  readonly guard: Guard;
  readonly account: Account;
  readonly binaries: Binaries;
}

async function start({
  folder,
  sockets,
  guard,
  account,
  binaries,
}: Parts): Promise<PrivateCluster> {
  const data = path.join(folder, 'data');
  const making = launch(binaries.initdb, initdbArguments(data), account);
  guard.watch(making.pid ?? 0);
  const { failed, message } = await making;
  if (failed) throw new Error(message);
  await writeFile(path.join(data, 'postgresql.conf'), configuration(sockets));
  const postgres = launch(binaries.postgres, ['-D', data], account);
  guard.watch(postgres.pid ?? 0);
  await untilReady(postgres);
  const stop = async (): Promise<void> => {
    await guard.stop();
    postgres.kill('SIGKILL'); // In case somebody has killed the guard.
    await postgres;
  };
  const pid = postgres.pid ?? 0; // Without one it would not be ready.
  return { socketFolder: sockets, user: USER, pid, [Symbol.asyncDispose]: stop };
}

/** In a group of its own, as the guard is. */
function launch(program: string, programArguments: readonly string[], account: Account) {
  return execa(program, programArguments, {
    ...account,
    env: ENVIRONMENT,
    extendEnv: false,
    stdin: 'ignore',
    detached: true,
    cleanup: false,
    reject: false,
  });
}

function initdbArguments(data: string): readonly string[] {
  // Sorting by bytes is what the other system does; and nothing that is made here has to survive anything yet.
  return [data, '--auth=trust', `--username=${USER}`, '--encoding=UTF8', '--locale=C', '--no-sync'];
}

/** The whole file: what is not in it is as delivered. */
function configuration(sockets: string): string {
  const lines = Object.entries(settingsFor()).map(
    ([name, { value, why }]) => `${name} = '${value}' # ${why}`,
  );
  return [...lines, `listen_addresses = ''`, `unix_socket_directories = '${sockets}'`, ''].join(
    '\n',
  );
}

/** It says so on stderr. */
async function untilReady(postgres: ReturnType<typeof launch>): Promise<void> {
  let said = '';
  const over = new AbortController();
  const ready = new Promise<void>((resolve, reject) => {
    postgres.stderr.on('data', (text: Buffer) => {
      if (over.signal.aborted) return;
      said += text.toString();
      if (said.includes('ready to accept connections')) resolve();
    });
    const notReady = (how: string): void =>
      reject(new Error(`PostgreSQL did not start: ${how}; it said: ${said.trim() || 'nothing'}`));
    void postgres.then(({ exitCode }) => notReady(`it ended with exit code ${exitCode}`));
    void systemClock
      .sleep(START_MS_MAX, over.signal)
      .then(() => notReady(`no answer in ${START_MS_MAX} ms`));
  });
  try {
    await ready;
  } finally {
    over.abort();
  }
}
