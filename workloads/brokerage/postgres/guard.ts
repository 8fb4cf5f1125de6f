/**
 * Ends a group of processes, and removes their folders, when we want it or when we are gone.
 *
 *     we ──▶ pipe ──▶ guard: reads which group of processes it is to end, then waits for the end of the pipe
 *
 * A process that is killed by `kill -9` can stop nothing any more, but the system closes its pipes. To stop in
 * good order is to close the pipe as well, so what is relied upon when everything goes wrong happens every
 * time. The guard is in a group of its own, and deaf: a ctrl-C at the terminal is ours to handle.
 *
 * They get SIGQUIT, at which PostgreSQL stops everything at once and removes what its processes shared. The
 * data goes, too, so nothing needs to be written before.
 */
import { rm } from 'node:fs/promises';
import { execa } from 'execa';

export interface Guard {
  /** From now on it ends this process with all of its group, and no longer the one before. */
  watch(leader: number): void;
  /** Resolves when the processes and the folders are gone; twice is harmless. */
  stop(): Promise<void>;
}

/** For the processes to end after SIGQUIT, in tenths of a second; PostgreSQL gives its own five seconds. */
const PATIENCE = 100;
/**
 * $1 is the folder of the data, which is removed with those that follow. A process that has ended but was not waited for answers `kill -0`, wherefore its file is
 * looked for: PostgreSQL removes it last. What `initdb` has started may still write while the folder is removed.
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

/** The first folder is that of the data. It must start before there is anything in them. */
export function startGuard(folders: readonly [string, ...string[]]): Guard {
  const guard = execa('sh', ['-c', SCRIPT, 'guard', ...folders], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cleanup: false,
    reject: false,
  });
  guard.stdin.on('error', () => {}); // It is gone, which `stop` makes good.
  return {
    watch: (leader) => guard.stdin.write(`${leader}\n`),
    stop: async () => {
      guard.stdin.end();
      await guard;
      // In case somebody has killed the guard.
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}
