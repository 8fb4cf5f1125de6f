/**
 * A private PostgreSQL: made in a temporary folder, reachable only through a socket, and removed
 * afterwards with its folder, even if this process is killed.
 *
 *     folders ─▶ guard ─▶ copy of the programs ─▶ initdb ─▶ postgres ─▶ ready ... stop
 *                   │
 *                   └ guard.ts: from here on it removes everything at the end
 *
 * It trusts every process that can reach its socket, whose folder is open to one account only. That
 * folder is one of the system's temporary folders, because their names are short. The name of a
 * socket may have 107 bytes, 103 on macOS, and the disk that is measured may be anywhere.
 */
import { chown, mkdtemp, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { systemClock } from '#engine';
import { type Account, unprivilegedAccount } from './account.ts';
import { type Binaries, copyBinaries } from './binaries.ts';
import { type Guard, startGuard } from './guard.ts';
import { settingsFor } from './tuning.ts';

export interface PrivateCluster extends AsyncDisposable {
  /** The folder of the socket, which `pg` takes as `host`. */
  readonly socketFolder: string;
  readonly user: string;
  /** Id of the postmaster, the parent of all other processes. */
  readonly pid: number;
}

const USER = 'postgres';
const START_MS_MAX = 60_000;
/**
 * PostgreSQL inherits nothing from our environment. The C locale is not only for sorting:
 * `untilReady` looks for an English message.
 */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' };

/**
 * `parent` is where the folder of the cluster is made, on the disk that is measured; by default the
 * system's temporary folder. If we are root, every account must be allowed to enter `parent`.
 * @throws UsageError if the programs are missing, or do not run on this machine or in this folder
 */
export async function startPrivateCluster(parent: string = tmpdir()): Promise<PrivateCluster> {
  const folder = await mkdtemp(path.join(path.resolve(parent), 'brokerage-postgres-'));
  const sockets = await mkdtemp(path.join(tmpdir(), 'postgres-')).catch(async (error: unknown) => {
    await rmdir(folder); // The guard does not know it yet.
    throw error;
  });
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

interface ClusterResources {
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
}: ClusterResources): Promise<PrivateCluster> {
  const data = path.join(folder, 'data');
  const making = launch(binaries.initdb, initdbArguments(data), account);
  guard.watch(making.pid ?? 0);
  const { failed, message } = await making;
  if (failed) throw new Error(message);
  await writeFile(path.join(data, 'postgresql.conf'), configuration(sockets));
  const postgres = launch(binaries.postgres, ['-D', data], account);
  guard.watch(postgres.pid ?? 0);
  const stop = async (): Promise<void> => {
    try {
      await guard.stop();
    } finally {
      // If the guard was killed, PostgreSQL still runs, and may keep its folder from being removed.
      postgres.kill('SIGKILL');
      await postgres;
    }
  };
  try {
    await untilReady(postgres);
  } catch (error) {
    await stop();
    throw error;
  }
  const pid = postgres.pid ?? 0; // Without a process id it would not be ready.
  return { socketFolder: sockets, user: USER, pid, [Symbol.asyncDispose]: stop };
}

/** Starts a program in a process group of its own, like the guard. */
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
  // Sorting by bytes, as Percolator does; and nothing that is made here has to survive yet.
  return [data, '--auth=trust', `--username=${USER}`, '--encoding=UTF8', '--locale=C', '--no-sync'];
}

/** The whole file: all other settings are at their defaults. */
function configuration(sockets: string): string {
  const lines = Object.entries(settingsFor()).map(
    ([name, { value, why }]) => `${name} = '${value}' # ${why}`,
  );
  return [...lines, `listen_addresses = ''`, `unix_socket_directories = '${sockets}'`, ''].join(
    '\n',
  );
}

/** PostgreSQL reports on stderr that it is ready. */
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
    void postgres.then(({ exitCode, signal }) =>
      notReady(`it ended with ${signal ?? `exit code ${exitCode}`}`),
    );
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
