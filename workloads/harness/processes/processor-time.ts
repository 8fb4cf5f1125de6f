/**
 * CPU time: of the client and of the processes that serve it on this machine, or of processes with
 * all their descendants. Without the descendants a server that forks a process for each connection
 * would look cheap; a process that has ended counts if its parent has waited for it, as in the
 * system's own sums.
 *
 * Work in the kernel's own threads, such as writing to the disk, is not counted.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessorTime {
  /** The time of all threads of this process, or of all client processes. */
  readonly clientUs: number;
  /** The time of the storage's servers; null if it is not known, or none of them runs here. */
  readonly serverUs: number | null;
  /** The time of oracle and lock service; null if it is not known, or they run in the client. */
  readonly servicesUs: number | null;
}

/** The processes that serve the client. They have no descendants. */
export interface Servers {
  /** The processes of the storage; none if it has none of its own here. */
  readonly serverPids: readonly number[];
  /** The processes of oracle and lock service; none if they run in the client. */
  readonly servicePids: readonly number[];
}

interface ProcessTimes {
  readonly parent: number;
  readonly ownUs: number;
  /** The time of its descendants that have ended. */
  readonly waitedUs: number;
}

/** Linux counts in ticks of a hundredth of a second, whatever the kernel's own clock is. */
const TICK_US = 10_000;

/** The time so far, with this process as the client. */
export function processorTime({ serverPids, servicePids }: Servers): ProcessorTime {
  const { user, system } = process.cpuUsage();
  return {
    clientUs: user + system,
    serverUs: serverPids.length === 0 ? null : sumOf(serverPids),
    servicesUs: servicePids.length === 0 ? null : sumOf(servicePids),
  };
}

export function since(before: ProcessorTime, after: ProcessorTime): ProcessorTime {
  return {
    clientUs: after.clientUs - before.clientUs,
    serverUs: difference(before.serverUs, after.serverUs),
    servicesUs: difference(before.servicesUs, after.servicesUs),
  };
}

/**
 * CPU seconds of the processes and all their descendants since they began; null if the system does
 * not report them: not Linux, or no such process.
 */
export function cpuSecondsOf(pids: readonly number[]): number | null {
  const all = readProcesses();
  if (all.size === 0 || pids.some((pid) => !all.has(pid))) return null;
  const times = [...familyOf(pids, all)].map((pid) => all.get(pid));
  return times.reduce((sum, of) => sum + (of === undefined ? 0 : of.ownUs + of.waitedUs), 0) / 1e6;
}

/**
 * CPU time of the process and of each of its descendants that live, by their ids; empty if the
 * system does not report them.
 */
export function familyCpuUs(pid: number): ReadonlyMap<number, number> {
  const all = readProcesses();
  const living = [...familyOf([pid], all)].filter((one) => all.has(one));
  return new Map(living.map((one) => [one, all.get(one)?.ownUs ?? 0]));
}

function familyOf(
  pids: readonly number[],
  all: ReadonlyMap<number, ProcessTimes>,
): ReadonlySet<number> {
  const family = new Set(pids);
  // A child's number may be below its parent's, so one pass is not enough.
  for (let before = -1; before !== family.size;) {
    before = family.size;
    for (const [pid, { parent }] of all) if (family.has(parent)) family.add(pid);
  }
  return family;
}

/** CPU time of one process; null if the system does not report it. */
export function ownCpuUs(pid: number): number | null {
  return timesOf(pid)?.ownUs ?? null;
}

function difference(before: number | null, after: number | null): number | null {
  return before === null || after === null ? null : after - before;
}

/** Null if the system does not report the time of all. */
function sumOf(pids: readonly number[]): number | null {
  return pids
    .map(ownCpuUs)
    .reduce<number | null>((sum, us) => (sum === null || us === null ? null : sum + us), 0);
}

/** Empty if the system does not report processes. */
function readProcesses(): ReadonlyMap<number, ProcessTimes> {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return new Map(
      pids.flatMap((pid) => {
        const times = timesOf(Number(pid));
        return times === null ? [] : [[Number(pid), times] as const];
      }),
    );
  } catch {
    return new Map();
  }
}

/** Null if the system does not report it: not Linux, or no such process. */
function timesOf(pid: number): ProcessTimes | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses and may contain anything.
    // `state` is the first field after it.
    const [, parent, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [user = 0, system = 0, waitedUser = 0, waitedSystem = 0] = rest.slice(9, 13).map(Number);
    return {
      parent: Number(parent),
      ownUs: (user + system) * TICK_US,
      waitedUs: (waitedUser + waitedSystem) * TICK_US,
    };
  } catch {
    return null;
  }
}
