/**
 * What of the machine makes a measurement doubtful, whatever was measured: its clock was set, its
 * processor was lent to others, or it had other work. The page of a run says it before all else.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isVirtual, type Recording, type RunRecord } from '#results';
import { monotonicMs } from '../load/monotonic-clock.ts';
import { cpuSecondsOf } from '../processes/processor-time.ts';
import { keeping } from './keeping.ts';

/** Puts into the record what of the machine makes the run doubtful, whatever ends it. */
export async function keepingDoubts<T>({ run }: Recording, measure: () => Promise<T>): Promise<T> {
  const waitMs = LOADED.monotonicMs + BEFORE_MS_MIN - monotonicMs();
  if (waitMs > 0 && isOfMachine(run.record)) await sleep(waitMs);
  const begin = machineMoment();
  const doubts = (): readonly string[] =>
    isOfMachine(run.record) ? doubtsOf({ before: LOADED, begin, end: machineMoment() }) : [];
  return keeping(measure, () => run.describe({ doubts: doubts() }));
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
  /** The processor time of this process and of what it has started, in clock ticks. */
  readonly own: number;
  /** Of all processors since the machine was started; null where there is no /proc. */
  readonly processor: ProcessorTicks | null;
}

/** In clock ticks, of which there are 100 in a second. */
interface ProcessorTicks {
  readonly all: number;
  readonly idle: number;
  /** What the host of a virtual machine gave to others. */
  readonly stolen: number;
}

export interface MomentsOfRun {
  /** When the script was loaded. The load average would know of earlier runs, too. */
  readonly before: MachineMoment;
  readonly begin: MachineMoment;
  readonly end: MachineMoment;
}

/** A clock that is kept right by a time service drifts by at most 500 µs a second. */
const DRIFT_MAX = 0.001;
const SET_MS_MIN = 100;
const STOLEN_SHARE_MIN = 0.02;
const BUSY_SHARE_MIN = 0.25;
/** A shorter look at the machine would see single ticks. */
const BEFORE_MS_MIN = 300;
/** Clock ticks of a second. */
const TICKS = 100;

/** Whole sentences; none if nothing is doubtful. */
export function doubtsOf({ before, begin, end }: MomentsOfRun): readonly string[] {
  const doubts = [clockDoubt(begin, end), stolenDoubt(begin, end), busyDoubt(before, begin)];
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

function busyDoubt(before: MachineMoment, begin: MachineMoment): string | null {
  if (before.processor === null || begin.processor === null) return null;
  const all = begin.processor.all - before.processor.all;
  const idle = begin.processor.idle - before.processor.idle;
  const share = (all - idle - (begin.own - before.own)) / all;
  if (!(share >= BUSY_SHARE_MIN)) return null;
  return `The machine was busy with other work when the run began (${(100 * share).toFixed(0)} % of its processors), so rates are too low, and their intervals are wide; CPU time per operation suffers less.`;
}

export function machineMoment(): MachineMoment {
  return {
    wallMs: Date.now(),
    monotonicMs: monotonicMs(),
    own: (cpuSecondsOf([process.pid]) ?? 0) * TICKS,
    processor: processorTicks(),
  };
}

/** The line `cpu` of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
function processorTicks(): ProcessorTicks | null {
  try {
    const [, ...fields] = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]?.split(/ +/) ?? [];
    const ticks = fields.slice(0, 8).map(Number);
    const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks;
    return { all: ticks.reduce((sum, one) => sum + one, 0), idle: idle + waiting, stolen };
  } catch {
    return null;
  }
}

const LOADED = machineMoment();
