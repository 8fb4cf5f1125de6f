/**
 * What of the machine makes a measurement doubtful, whatever was measured: its clock was set, its
 * processor was lent to others, or it had other work. The page of a run says it before all else.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { isVirtual, type Recording, type RunRecord } from '#results';
import { monotonicMs } from '../load/monotonic-clock.ts';

/** Puts into the record what of the machine makes the run doubtful, whatever ends it. */
export async function keepingDoubts<T>({ run }: Recording, measure: () => Promise<T>): Promise<T> {
  const begin = machineMoment();
  try {
    return await measure();
  } finally {
    run.describe({ doubts: isOfMachine(run.record) ? doubtsBetween(begin, machineMoment()) : [] });
  }
}

/** Neither a proof nor a simulation in virtual time depends on how fast the machine is. */
function isOfMachine(record: RunRecord): boolean {
  return record.findings.kind !== 'proof' && !isVirtual(record);
}

/** The state of the machine at a moment. */
export interface MachineMoment {
  /** The time of day. */
  readonly wallMs: number;
  /** Of a clock that is never set. */
  readonly monotonicMs: number;
  /** The work of the last minute, per core: 1 is fully busy. */
  readonly load: number;
  /**
   * Of all processors since the machine was started, in clock ticks: all of it, and what the host
   * of a virtual machine gave to others. Null where there is no /proc.
   */
  readonly processor: { readonly all: number; readonly stolen: number } | null;
}

/** A clock that is kept right by a time service drifts by at most 500 µs a second. */
const DRIFT_MAX = 0.001;
const SET_MS_MIN = 100;
const STOLEN_SHARE_MIN = 0.02;
const BUSY_LOAD_MIN = 0.5;

/** Whole sentences; none if nothing is doubtful. */
export function doubtsBetween(begin: MachineMoment, end: MachineMoment): readonly string[] {
  const doubts = [clockDoubt(begin, end), stolenDoubt(begin, end), busyDoubt(begin)];
  return doubts.filter((doubt) => doubt !== null);
}

function clockDoubt(begin: MachineMoment, end: MachineMoment): string | null {
  const passedMs = end.monotonicMs - begin.monotonicMs;
  const setByMs = end.wallMs - begin.wallMs - passedMs;
  if (Math.abs(setByMs) < Math.max(SET_MS_MIN, DRIFT_MAX * passedMs)) return null;
  const seconds = (Math.abs(setByMs) / 1000).toFixed(1);
  return `The clock of the machine was set ${setByMs > 0 ? 'forward' : 'back'} by ${seconds} s during the run, or the machine was suspended: what compares times of several processes or machines is doubtful.`;
}

function stolenDoubt({ processor: before }: MachineMoment, end: MachineMoment): string | null {
  if (before === null || end.processor === null) return null;
  const share = (end.processor.stolen - before.stolen) / (end.processor.all - before.all);
  if (!(share >= STOLEN_SHARE_MIN)) return null;
  return `The host of this virtual machine gave ${(100 * share).toFixed(0)} % of its processor time to others during the run, so rates are too low and latencies too long.`;
}

function busyDoubt({ load }: MachineMoment): string | null {
  if (load < BUSY_LOAD_MIN) return null;
  return `The machine was busy with other work when the run began (load ${load.toFixed(1)} per core), so rates are too low, and their intervals are wide; CPU time per operation suffers less.`;
}

export function machineMoment(): MachineMoment {
  return {
    wallMs: Date.now(),
    monotonicMs: monotonicMs(),
    load: (loadavg()[0] ?? 0) / availableParallelism(),
    processor: processorTimes(),
  };
}

/** The line `cpu` of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
function processorTimes(): MachineMoment['processor'] {
  try {
    const [, ...fields] = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]?.split(/ +/) ?? [];
    const ticks = fields.slice(0, 8).map(Number);
    return { all: ticks.reduce((sum, one) => sum + one, 0), stolen: ticks[7] ?? 0 };
  } catch {
    return null;
  }
}
