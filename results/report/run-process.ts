/**
 * The process that writes a run: how the record names it, and whether it still runs.
 *
 * A record in state `running` belongs either to a process that is measuring or to one that was
 * killed. Only the operating system of the same machine knows which.
 */
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import type { RunProcess, RunRecord } from './run-record.ts';

/** A run of an earlier version, which named no process, counts as being measured for this long. */
const UNNAMED_HOURS = 24;

export function thisProcess(): RunProcess {
  const started = startOf(process.pid) ?? null;
  return { host: hostname(), namespace: processNamespace(), pid: process.pid, started };
}

/**
 * Whether a process may still be writing the run. In doubt it may: a process of another machine
 * cannot be asked, nor one of a container, which may share the machine's name.
 */
export function mayBeMeasuring(
  record: Pick<RunRecord, 'state' | 'process' | 'startedAt'>,
): boolean {
  if (record.state !== 'running') return false;
  if (record.process === null) {
    return Date.now() - Date.parse(record.startedAt) < UNNAMED_HOURS * 3_600_000;
  }
  const { host, namespace, pid, started } = record.process;
  if (host !== hostname()) return true;
  if (namespace !== null && namespace !== processNamespace()) return true;
  if (!exists(pid)) return false;
  const now = startOf(pid);
  return started === null || now === undefined || now === started;
}

/** The namespace that numbers our processes; null where there is no /proc. */
function processNamespace(): number | null {
  try {
    return statSync('/proc/self/ns/pid').ino;
  } catch {
    return null;
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0); // Signal 0 tests for existence and does nothing.
    return true;
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * When a process started, in clock ticks since the start of the machine. Empty for a zombie, which
 * has exited; undefined if this process may not see it, or where there is no /proc.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields 3 and 22 of the line, which is split after field 2, the command name, because that may
    // contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : fields[19];
  } catch {
    return undefined;
  }
}
