/**
 * Liveness among the processes of one machine: the operating system knows which have exited.
 *
 * A token names the machine since its last boot, the process and the moment the process started, so
 * that a dead process is not taken for the one that has its number now. Tokens of other machines
 * are not declared dead here: the lock service does that, or their locks wait out the time to live.
 * So do the locks of processes from before a reboot: their tokens look like those of another
 * machine with our host name.
 *
 * Where there is no /proc, as on macOS, a machine is only its host name. Two machines with one host
 * name then declare each other's processes dead; live transactions then fail with ROLLED_BACK.
 *
 * Each container counts as a machine: it may share its host name with others, but their processes
 * are not visible in it.
 */
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { pid, kill } from 'node:process';
import type { Liveness } from './liveness.ts';

/** @param nonce distinguishes several engines in one process */
export function localProcesses(nonce: string): Liveness {
  const machine = [hostname(), bootId(), processNamespace()].join(':');
  return {
    self: [machine, pid, startTime(pid) ?? '', nonce].join('/'),
    isDead: (token) => {
      const [tokenMachine, tokenPid, tokenStart] = token.split('/');
      if (tokenMachine !== machine) return false;
      const owner = Number(tokenPid);
      if (!exists(owner)) return true;
      if (tokenStart === '') return false;
      const start = startTime(owner);
      return start !== undefined && start !== tokenStart; // Another process, or a zombie.
    },
  };
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
 * When the process started, in clock ticks since boot. Empty for a zombie: it has exited, although
 * its number is not free until its parent has asked how it ended. Undefined if this process may not
 * see it (hidepid), or there is no /proc.
 */
function startTime(processId: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'latin1');
    // Fields 3 and 22, counted after the command name, which may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : fields[19];
  } catch {
    return undefined;
  }
}
