/**
 * Ends a group of processes, and removes their folder, when we want it or when we are gone.
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
  /** Resolves when the processes and the folder are gone; twice is harmless. */
  stop(): Promise<void>;
}

/** For the processes to end after SIGQUIT, in tenths of a second; PostgreSQL gives its own five seconds. */
const PATIENCE = 100;
/**
 * $0 is the folder. A process that has ended but was not waited for answers `kill -0`, wherefore its file is
 * looked for: PostgreSQL removes it last. What `initdb` has started may still write while the folder is removed.
 */
const SCRIPT = `
  trap '' INT TERM HUP
  pid=
  while read -r line; do pid=$line; done
  i=0
  if [ -n "$pid" ]; then
    kill -QUIT -"$pid"
    while [ -e "$0/data/postmaster.pid" ] && kill -0 -"$pid" && [ $i -lt ${PATIENCE} ]; do
      sleep 0.1
      i=$((i + 1))
    done
    kill -KILL -"$pid"
  fi
  until rm -rf "$0" || [ $i -ge ${PATIENCE} ]; do
    sleep 0.1
    i=$((i + 1))
  done
`;

/** It must start before there is anything in the folder. */
export function startGuard(folder: string): Guard {
  const guard = execa('sh', ['-c', SCRIPT, folder], {
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
      await rm(folder, { recursive: true, force: true }); // In case somebody has killed the guard.
    },
  };
}
