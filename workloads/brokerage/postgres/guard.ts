/**
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
import { rm } from 'node:fs/promises';
import { execa } from 'execa';

export interface Guard {
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
export function startGuard(folders: readonly [string, ...string[]]): Guard {
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
