/**
 * One MapReduce on the machines of a calibration, task by task (Dean and Ghemawat, OSDI 2004).
 *
 *     start-up ─▶ map tasks, in waves: each reads a split from a disk, and computes meanwhile
 *              ─▶ shuffle: what a map has emitted goes to all machines, as soon as it has ended
 *              ─▶ reduce tasks: sort and reduce; the output goes to the disks of three machines
 *
 * A machine runs as many tasks as it has cores. Some machines are slow; when no task is left to
 * begin, idle cores run copies of the tasks that still run elsewhere, and the first copy to end
 * counts. Not in the model: failed tasks, combiners, disks for the shuffle, and the network for
 * copies of the output. A task whose other copy has ended goes on to its end.
 */
import type { Random } from '#engine/base';
import type { Calibration } from '../calibration/calibration.ts';

export interface JobOptions {
  readonly calibration: Calibration;
  /** Whether idle cores run copies of the tasks that still run. */
  readonly backupTasks: boolean;
  readonly random: Random;
}

export interface JobTimes {
  /** From the call to the end; `jobStartMs` also has what a MapReduce takes after its last task. */
  readonly seconds: number;
  /** Processor time of all tasks, copies included. */
  readonly cpuSeconds: number;
  /** Tasks that a second machine ran as well. */
  readonly copies: number;
}

/** Copies of the output that the file system keeps. */
const REPLICAS = 3;
/**
 * Tasks per core: the last ones to end then leave few cores idle. There are more maps if the
 * calibration's splits are smaller, and fewer if `SPLIT_BYTES_MIN` forbids so many.
 */
const REDUCES_PER_CORE = 2;
const MAPS_PER_CORE = 4;
const SPLIT_BYTES_MIN = 1024 * 1024;

export function simulateJob(volume: JobVolume, options: JobOptions): JobTimes {
  const { calibration, random } = options;
  const { cluster, batch, network } = calibration;
  const machines = new Machines(calibration, random.fork('slow machines'));
  const startUs = 1000 * batch.jobStartMs;

  const cores = cluster.tabletServers * cluster.tabletServerCores;
  const splits = splitsOf(volume.inputBytes, { cores, splitBytes: batch.splitBytes });
  const map: TaskCost = {
    coreUs:
      1000 * batch.taskStartMs +
      (volume.inputRecords / splits) * batch.map.perRecordUs +
      ((volume.inputBytes / splits) * batch.map.perByteNs) / 1000,
    diskBytes: volume.inputBytes / splits,
  };
  const maps = runTasks(machines, { count: splits, cost: map, startUs }, options);
  const mappedUs = latest(maps.finishedUs);

  const emitted = volume.shuffledBytes / splits / cluster.tabletServers;
  const cardUs = (1e6 * emitted) / network.bytesPerSecond;
  let receivedUs = 0; // All machines receive the same: one queue stands for each of them.
  for (const finishedUs of maps.finishedUs.toSorted((a, b) => a - b)) {
    receivedUs = Math.max(receivedUs, finishedUs) + cardUs;
  }

  const reducers = REDUCES_PER_CORE * cores;
  const reduce: TaskCost = {
    coreUs:
      1000 * batch.taskStartMs +
      (volume.inputRecords / reducers) * (batch.sort.perRecordUs + batch.reduce.perRecordUs),
    diskBytes: (Math.min(REPLICAS, cluster.tabletServers) * volume.outputBytes) / reducers,
  };
  const reduces = runTasks(
    machines,
    { count: reducers, cost: reduce, startUs: Math.max(mappedUs, receivedUs) },
    options,
  );
  return {
    seconds: latest(reduces.finishedUs) / 1e6,
    cpuSeconds: (maps.coreUs + reduces.coreUs) / 1e6,
    copies: maps.copies + reduces.copies,
  };
}

/** The latest time of a list that may be too long for the arguments of `Math.max`. */
function latest(times: readonly number[]): number {
  return times.reduce((last, time) => Math.max(last, time), 0);
}

/** As in our baseline: smaller splits than the calibration's if there would be too few of them. */
function splitsOf(
  inputBytes: number,
  { cores, splitBytes }: { readonly cores: number; readonly splitBytes: number },
): number {
  const share = Math.max(SPLIT_BYTES_MIN, inputBytes / (MAPS_PER_CORE * cores));
  return Math.max(1, Math.ceil(inputBytes / Math.min(splitBytes, share)));
}

interface TaskCost {
  readonly coreUs: number;
  readonly diskBytes: number;
}

/** Which machines are slow, and when each disk is free. */
class Machines {
  readonly count: number;
  readonly coresEach: number;
  readonly #times: readonly number[];
  readonly #diskFreeUs: Float64Array;
  readonly #disksEach: number;
  readonly #diskUsPerByte: number;

  constructor({ cluster, disk, batch }: Calibration, random: Random) {
    this.count = cluster.tabletServers;
    this.coresEach = cluster.tabletServerCores;
    const { share, times } = batch.stragglers;
    this.#times = Array.from({ length: this.count }, () => (random.fraction() < share ? times : 1));
    this.#disksEach = disk.perMachine;
    this.#diskUsPerByte = 1e6 / disk.bytesPerSecond;
    this.#diskFreeUs = new Float64Array(this.count * disk.perMachine);
  }

  /**
   * A task begins now on a core of the machine, and takes the next free disk; returns when it has
   * ended.
   */
  finishUs(machine: number, nowUs: number, { coreUs, diskBytes }: TaskCost): number {
    const times = this.#times[machine] ?? 1;
    const first = machine * this.#disksEach;
    const free = this.#diskFreeUs;
    let disk = first;
    for (let other = first + 1; other < first + this.#disksEach; other++) {
      if ((free[other] ?? 0) < (free[disk] ?? 0)) disk = other;
    }
    const readUs = Math.max(nowUs, free[disk] ?? 0) + times * diskBytes * this.#diskUsPerByte;
    free[disk] = readUs;
    return Math.max(readUs, nowUs + this.coreUs(machine, { coreUs, diskBytes }));
  }

  coreUs(machine: number, { coreUs }: TaskCost): number {
    return (this.#times[machine] ?? 1) * coreUs;
  }
}

interface Tasks {
  readonly count: number;
  readonly cost: TaskCost;
  /** When the first task may begin. */
  readonly startUs: number;
}

interface TasksResult {
  /** When the first copy of each task ended. */
  readonly finishedUs: readonly number[];
  readonly coreUs: number;
  readonly copies: number;
}

/**
 * Each core that is free takes the next task; once none is left, a copy of one that still runs on
 * another machine.
 */
function runTasks(
  machines: Machines,
  { count, cost, startUs }: Tasks,
  { backupTasks }: JobOptions,
): TasksResult {
  const cores = new FreeCores(machines, startUs);
  const finishedUs: number[] = [];
  const ranOn: number[] = [];
  let coreUs = 0;
  while (finishedUs.length < count) {
    const core = cores.take();
    const { machine, freeUs } = core;
    const finishUs = machines.finishUs(machine, freeUs, cost);
    finishedUs.push(finishUs);
    ranOn.push(machine);
    coreUs += machines.coreUs(machine, cost);
    cores.free({ machine, freeUs: finishUs });
  }
  let copies = 0;
  if (!backupTasks) return { finishedUs, coreUs, copies };
  // Tasks are copied from the end of this list: those that end last are copied first.
  const running = finishedUs.keys().toArray();
  running.sort((a, b) => (finishedUs[a] ?? 0) - (finishedUs[b] ?? 0) || b - a);
  const endUs = (task = -1): number => finishedUs[task] ?? 0;
  for (;;) {
    const { machine, freeUs } = cores.take();
    if (freeUs >= endUs(running.at(-1))) break; // All tasks have ended by then.
    const at = running.findLastIndex((task) => ranOn[task] !== machine);
    const task = running[at];
    if (task === undefined || freeUs >= endUs(task)) continue; // No other machine still runs a task.
    running.splice(at, 1);
    const finishUs = machines.finishUs(machine, freeUs, cost);
    copies++;
    coreUs += machines.coreUs(machine, cost);
    finishedUs[task] = Math.min(finishedUs[task] ?? finishUs, finishUs);
  }
  return { finishedUs, coreUs, copies };
}

interface Core {
  readonly machine: number;
  readonly freeUs: number;
}

/** The cores of all machines by when they are free, the earliest last: `take` pops it. */
class FreeCores {
  readonly #cores: Core[];

  /** Cores of different machines take turns, so that a few tasks are on many machines. */
  constructor({ count, coresEach }: Machines, startUs: number) {
    this.#cores = Array.from({ length: count * coresEach }, (_, i) => ({
      machine: count - 1 - (i % count),
      freeUs: startUs,
    }));
  }

  take(): Core {
    const core = this.#cores.pop();
    if (core === undefined) throw new Error('machines have cores');
    return core;
  }

  /** `take` returns this core after all that are free by then; bisection finds its place. */
  free(core: Core): void {
    let low = 0;
    let high = this.#cores.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#cores[middle]?.freeUs ?? 0) > core.freeUs) low = middle + 1;
      else high = middle;
    }
    this.#cores.splice(low, 0, core);
  }
}

/*
 * What the three MapReduces of the clustering read, shuffle and write (crawl-rate/batch): records
 * and bytes, from the number of documents alone.
 *
 * Only representatives reach the next phase. With N documents and K keys, N/K = 4/3, a phase that
 * reads n records leaves K × (1 - e^-(n/K)) representatives (docs/figure-7.md).
 */

/** One MapReduce. */
interface JobVolume {
  readonly inputRecords: number;
  readonly inputBytes: number;
  readonly shuffledBytes: number;
  readonly outputRecords: number;
  readonly outputBytes: number;
}

export interface ClusteringOptions {
  readonly documents: number;
  readonly documentBytes: number;
  /**
   * `once`: contents are read in the first phase alone, and keys travel on, as in our baseline.
   * `always`: every phase reads and writes whole documents. The paper does not say which.
   */
  readonly contents: 'once' | 'always';
}

const KEYS_PER_DOCUMENT = 0.75;
/** A document of our baseline has an id of 10 digits and keys of 12, each with its tab. */
const ID_BYTES = 11;
const KEY_BYTES = 13;
const PHASES = [1, 2, 3] as const;

export function clusteringVolumes({
  documents,
  documentBytes,
  contents,
}: ClusteringOptions): readonly JobVolume[] {
  const keys = KEYS_PER_DOCUMENT * documents;
  const carried = contents === 'always' ? documents * documentBytes : 0;
  let inputRecords = documents;
  return PHASES.map((phase) => {
    const outputRecords = keys * (1 - Math.exp(-inputRecords / keys));
    const volume = {
      inputRecords,
      inputBytes: phase === 1 ? documents * documentBytes : lineBytes(phase, inputRecords),
      shuffledBytes: carried + lineBytes(phase, inputRecords),
      outputRecords,
      outputBytes: carried + lineBytes(phase + 1, outputRecords),
    };
    inputRecords = outputRecords;
    return phase === 1 ? volume : { ...volume, inputBytes: carried + volume.inputBytes };
  });

  /** Bytes of the lines that a phase reads: ids of all documents, and keys of representatives. */
  function lineBytes(phase: number, representatives: number): number {
    const keysLeft = PHASES.length + 1 - phase;
    return ID_BYTES * documents + KEY_BYTES * keysLeft * representatives;
  }
}
