/**
 * A private PostgreSQL: made in a temporary folder, reachable only through a socket, and removed
 * afterwards with its folder, even if this process is killed.
 *
 *     folders ─▶ guard ─▶ copy of the programs ─▶ initdb ─▶ postgres ─▶ ready ... stop
 *                   │
 *                   └ from here on it removes everything at the end
 *
 * It trusts every process that can reach its socket, whose folder is open to one account only. That
 * folder is one of the system's temporary folders, because their names are short. The name of a
 * socket may have 107 bytes, 103 on macOS, and the disk that is measured may be anywhere.
 */
import { chown, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { systemClock } from '#engine';
import { type Account, type Binaries, copyBinaries, unprivilegedAccount } from './binaries.ts';
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

/*
 * Ends a group of processes and removes their folders, on request or when this process is gone.
 *
 *     this process ──▶ pipe ──▶ guard: reads which process group to end,
 *                                      then waits for the end of the pipe
 *
 * A process that is killed by `kill -9` can no longer stop anything, but the system closes its
 * pipes. An orderly stop closes the pipe as well, so the path for emergencies is exercised every
 * time. The guard is in a group of its own, and ignores signals: this process handles a ctrl-C at
 * the terminal.
 *
 * The group receives SIGQUIT, on which PostgreSQL stops everything at once and removes the shared
 * memory of its processes. The data is removed, too, so nothing needs to be written first.
 */

interface Guard {
  /** From now on the guard ends the process group of `leader`, and no longer the previous one. */
  watch(leader: number): void;
  /** Resolves when the processes and the folders are gone; calling it twice is harmless. */
  stop(): Promise<void>;
}

/**
 * Time for the processes to end after SIGQUIT, in tenths of a second; PostgreSQL gives its own five
 * seconds.
 */
const PATIENCE = 100;
/**
 * $1 is the folder of the data, which is removed with those that follow. A process that has ended
 * but was not waited for still answers `kill -0`, so the script looks for `postmaster.pid`, which
 * PostgreSQL removes last. Processes that `initdb` has started may still write while the folder is
 * removed.
 */
const SCRIPT = `
  trap '' INT TERM HUP
  pid=
  while read -r line; do pid=$line; done
  i=0
  if [ -n "$pid" ]; then
    kill -QUIT -"$pid"
    while [ -e "$1/data/postmaster.pid" ] && kill -0 -"$pid" && [ $i -lt ${PATIENCE} ]; do
      sleep 0.1
      i=$((i + 1))
    done
    kill -KILL -"$pid"
  fi
  until rm -rf "$@" || [ $i -ge ${PATIENCE} ]; do
    sleep 0.1
    i=$((i + 1))
  done
`;

/**
 * The first folder contains the data. The guard must start before there is anything in the folders.
 */
function startGuard(folders: readonly [string, ...string[]]): Guard {
  const guard = execa('sh', ['-c', SCRIPT, 'guard', ...folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cleanup: false,
    reject: false,
  });
  guard.stdin.on('error', () => {}); // The guard is gone; `stop` makes up for it.
  return {
    watch: (leader) => guard.stdin.write(`${leader}\n`),
    stop: async () => {
      guard.stdin.end();
      await guard;
      // In case the guard was killed.
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}
