/**
 * CPU time of processes, including their descendants: otherwise a server that forks a process for
 * each connection would look cheap.
 *
 * A process that has ended counts if its parent has waited for it, as in the system's own sums.
 * Work in the kernel's own threads, such as writing to the disk, is not counted.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in ticks of a hundredth of a second, whatever the kernel's own clock is. */
const TICK_SECONDS = 0.01;

interface ProcessTimes {
  readonly parent: number;
  readonly seconds: number;
}

/**
 * CPU seconds since the processes began; null if the system does not report them: not Linux, or no
 * such process.
 */
export function cpuSecondsOf(pids: readonly number[]): number | null {
  const all = readProcesses();
  if (all === null || pids.some((pid) => !all.has(pid))) return null;
  const family = new Set(pids);
  // A child's number may be below its parent's, so one pass is not enough.
  for (let before = -1; before !== family.size;) {
    before = family.size;
    for (const [pid, { parent }] of all) if (family.has(parent)) family.add(pid);
  }
  return [...family].reduce((sum, pid) => sum + (all.get(pid)?.seconds ?? 0), 0);
}

function readProcesses(): ReadonlyMap<number, ProcessTimes> | null {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return new Map(
      pids.flatMap((pid) => {
        const times = timesOf(pid);
        return times === null ? [] : [[Number(pid), times] as const];
      }),
    );
  } catch {
    return null;
  }
}

/** Null if it has ended since. */
function timesOf(pid: string): ProcessTimes | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses and may contain anything.
    // `state` is the first field after it.
    const [, parent, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [own, ownSystem, waited, waitedSystem] = rest.slice(9, 13).map(Number);
    const ticks = (own ?? 0) + (ownSystem ?? 0) + (waited ?? 0) + (waitedSystem ?? 0);
    return { parent: Number(parent), seconds: ticks * TICK_SECONDS };
  } catch {
    return null;
  }
}
