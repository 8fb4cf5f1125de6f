/** CPU time: of the client, and of the processes that serve it on this machine. */
import { readFileSync } from 'node:fs';

export interface ProcessorTime {
  /** The time of all threads of this process, or of all client processes. */
  readonly clientUs: number;
  /** The time of the storage's server; null if it has no process of its own here. */
  readonly serverUs: number | null;
  /** The time of oracle and lock service; null if they run in the client. */
  readonly servicesUs: number | null;
}

/** The processes that serve the client. */
export interface Servers {
  /** The process of the storage; null if it has none of its own here. */
  readonly serverPid: number | null;
  /** The processes of oracle and lock service; none if they run in the client. */
  readonly servicePids: readonly number[];
}

/** Linux counts in ticks of a hundredth of a second, whatever the kernel's own clock is. */
const TICK_US = 10_000;
/**
 * The position of `utime` and `stime` after the name of the program, which may contain anything.
 */
const UTIME = 11;
const STIME = 12;

/** The time so far, with this process as the client. */
export function processorTime({ serverPid, servicePids }: Servers): ProcessorTime {
  const { user, system } = process.cpuUsage();
  return {
    clientUs: user + system,
    serverUs: serverPid === null ? null : cpuOfProcess(serverPid),
    servicesUs: cpuOfProcesses(servicePids),
  };
}

export function since(before: ProcessorTime, after: ProcessorTime): ProcessorTime {
  return {
    clientUs: after.clientUs - before.clientUs,
    serverUs: difference(before.serverUs, after.serverUs),
    servicesUs: difference(before.servicesUs, after.servicesUs),
  };
}

function difference(before: number | null, after: number | null): number | null {
  return before === null || after === null ? null : after - before;
}

/** Null if there are no processes, or the system does not report the time of all. */
function cpuOfProcesses(pids: readonly number[]): number | null {
  const all = pids.map(cpuOfProcess);
  const known = all.filter((us) => us !== null);
  if (all.length === 0 || known.length < all.length) return null;
  return known.reduce((sum, us) => sum + us, 0);
}

/** Null if the system does not report it: not Linux, or no such process. */
function cpuOfProcess(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[UTIME]) + Number(fields[STIME])) * TICK_US;
  } catch {
    return null;
  }
}
