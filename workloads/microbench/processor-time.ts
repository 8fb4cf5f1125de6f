/** CPU time, of this process and of the storage's, where that is another one on this machine. */
import { readFileSync } from 'node:fs';

export interface ProcessorTime {
  /** Of all threads of this process. */
  readonly clientUs: number;
  /** Null where the storage has no process of its own here. */
  readonly serverUs: number | null;
}

/** Linux counts in ticks of a hundredth of a second, whatever the kernel's own clock is. */
const TICK_US = 10_000;
/** Where `utime` and `stime` stand behind the name of the program, which may contain anything. */
const UTIME = 11;
const STIME = 12;

export function processorTime(serverPid: number | null): ProcessorTime {
  const { user, system } = process.cpuUsage();
  return { clientUs: user + system, serverUs: serverPid === null ? null : cpuOfProcess(serverPid) };
}

export function since(before: ProcessorTime, after: ProcessorTime): ProcessorTime {
  const serverUs =
    before.serverUs === null || after.serverUs === null ? null : after.serverUs - before.serverUs;
  return { clientUs: after.clientUs - before.clientUs, serverUs };
}

/** Null where the system does not say: not Linux, or no such process. */
function cpuOfProcess(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[UTIME]) + Number(fields[STIME])) * TICK_US;
  } catch {
    return null;
  }
}
