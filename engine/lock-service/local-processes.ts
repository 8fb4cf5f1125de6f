/**
 * Liveness of workers (section 2.2): "running workers write a token into the Chubby lockservice to
 * indicate they belong to the system; other workers can use the existence of this token as a sign
 * that the worker is alive (the token is automatically deleted when the process exits)."
 *
 * Liveness is only ever a hint that makes clean-up faster. A living worker that is presumed dead
 * loses its transactions, never data: what decides is the conditional mutation of the primary
 * (P26, presumed dead, alive).
 *
 * Liveness among the processes of one machine: the operating system knows which have exited.
 *
 *     machine / process / its start / nonce / thread @ its start
 *
 * A token names the machine since its last boot, the process and the moment the process started,
 * so that a dead process is not taken for the one that has its number now. If its database was
 * opened in a thread that is not the first one of the process, the token also names the thread,
 * which may be terminated while the process lives (P81, closed during commits). What a database
 * closed in this thread has left is known here; other threads and processes cannot tell it from
 * what is in use. Tokens of other machines are not declared dead here: the lock service does that,
 * or their locks wait out the time to live. So do the locks of processes from before a reboot:
 * their tokens look like those of another machine with our host name.
 *
 * Where there is no /proc, as on macOS, a machine is only its host name. Two machines with one
 * host name then declare each other's processes dead; live transactions then fail with
 * ROLLED_BACK.
 *
 * Each container counts as a machine: it may share its host name with others, but their processes
 * are not visible in it.
 */
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import { BoundedMap } from '../base/index.ts';

export interface Liveness {
  /**
   * This process's token: written into its locks. Databases may share this object. No other object
   * may have its token: a database with one object would take live locks of a database with the
   * other for locks of its own dead attempts, and roll them back at once (P29, own dead attempts).
   * No data is lost: these commits fail with ROLLED_BACK.
   */
  readonly self: string;
  /**
   * True if the owner of the token has exited, as far as is known here; false if it is alive, or if
   * nothing is known. A process that was stopped, or cut off, may be reported dead and go on (P26).
   */
  isDead(token: string): boolean;
}

export interface LocalLiveness extends Liveness {
  /** What has the token is no longer in use: from now on its locks are dead. */
  leave(): void;
}

/** Earlier ones are forgotten: their locks, if there are any, wait out the time to live. */
const LEFT_MAX = 10_000;
/**
 * Tokens that were in use in this thread and no longer are. Only what is known to be over is
 * listed: another copy of this library may have databases here as well.
 */
const left = new BoundedMap<string, true>(LEFT_MAX);

/** @param nonce distinguishes several engines in one process */
export function localProcesses(nonce: string): LocalLiveness {
  const machine = [hostname(), bootId(), processNamespace()].join(':');
  const thread = currentThread();
  const self = [machine, pid, startTime(pid) ?? '', nonce, ...(thread ? [thread] : [])].join('/');
  return {
    self,
    leave: () => {
      left.set(self, true);
    },
    isDead: (token) => {
      if (left.has(token)) return true;
      const [tokenMachine, tokenPid, tokenStart, , tokenThread] = token.split('/');
      if (tokenMachine !== machine) return false;
      const owner = Number(tokenPid);
      if (!exists(owner)) return true;
      if (tokenStart === '') return false;
      const start = startTime(owner);
      if (start === undefined) return false;
      if (start !== tokenStart) return true; // Another process, or a zombie.
      return tokenThread !== undefined && hasThreadEnded(owner, tokenThread);
    },
  };
}

/** `<number>@<start>`; undefined in the first thread, which ends with its process. */
function currentThread(): string | undefined {
  try {
    const [, number] = /\/task\/(\d+)$/.exec(`/${readlinkSync('/proc/thread-self')}`) ?? [];
    const start = number === undefined ? undefined : startTime(`${pid}/task/${number}`);
    return start === undefined || number === String(pid) ? undefined : `${number}@${start}`;
  } catch {
    return undefined;
  }
}

/** Only if the system says so: this process may, for instance, have no more files to open. */
function hasThreadEnded(owner: number, thread: string): boolean {
  const [number = '', start] = thread.split('@');
  const path = `/proc/${owner}/task/${number}`;
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return true;
  const startNow = startTime(`${owner}/task/${number}`);
  return startNow !== undefined && startNow !== start;
}

/**
 * The start of the number of the machine's last boot: machines may share a host name, and the first
 * namespace has the same number on all. Short, because every lock holds the token. Empty where
 * there is no /proc.
 */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
  } catch {
    return '';
  }
}

/**
 * The number of the namespace that our process number belongs to. Empty where there is no /proc.
 */
function processNamespace(): string {
  try {
    return String(statSync('/proc/self/ns/pid').ino);
  } catch {
    return '';
  }
}

function exists(processId: number): boolean {
  try {
    kill(processId, 0); // Signal 0 tests for existence and does nothing.
    return true;
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * When the process, or a thread of it (`<process>/task/<thread>`), started, in clock ticks since
 * boot. Empty for a zombie: it has exited, although
 * its number is not free until its parent has asked how it ended. Undefined if this process may not
 * see it (hidepid), or there is no /proc.
 */
function startTime(processId: number | string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'latin1');
    // Fields 3 and 22, counted after the command name, which may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : fields[19];
  } catch {
    return undefined;
  }
}
