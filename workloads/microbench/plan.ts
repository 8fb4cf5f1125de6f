/**
 * What a run of the benchmark is asked for: its sizes, how long they take, and what a reader must
 * know before trusting its numbers.
 */
import type { Sizes } from '#harness';
import type { DatabaseValues } from '../harness/engine-settings.ts';

export interface MicroSize {
  /** Number of rows that are read, and of rows that are written. */
  readonly rows: number;
  readonly repeats: number;
  /** Measured seconds of each case in each repeat, in sweeps too. */
  readonly seconds: number;
  /** Seconds of warm-up before each case is measured; a third of that in sweeps. */
  readonly warmUp: number;
  /** Measurements of each point of a sweep. */
  readonly sweepRepeats: number;
  /** Cells per transaction. */
  readonly cells: readonly number[];
  /** Numbers of rows, of which each transaction writes one: the fewer, the more conflicts. */
  readonly hotRows: readonly number[];
  /** Operations in flight. */
  readonly concurrencies: readonly number[];
  /** Offered load of the open loop, as a share of the measured throughput. */
  readonly loads: readonly number[];
}

/** The options of a run (main.ts), and its folders. The paper's database has no batching. */
export interface MicroPlan extends MicroSize, DatabaseValues {
  readonly store: readonly string[];
  readonly regionServers: number;
  readonly seed: number;
  readonly valueBytes: number;
  readonly concurrency: number;
  readonly processes: number;
  readonly noFsync: boolean;
  readonly figureOnly: boolean;
  readonly conditionalBatch: boolean;
  readonly profileCpu: boolean;
  /** The folder of the profiles that are kept. */
  readonly out: string;
  /** The folder of the databases. */
  readonly work: string;
}

const STANDARD: MicroSize = {
  rows: 50_000,
  repeats: 40,
  seconds: 0.5,
  warmUp: 2,
  sweepRepeats: 8,
  cells: [1, 2, 4, 8, 16, 32],
  hotRows: [4_096, 1_024, 256, 64, 16],
  concurrencies: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  loads: [0.1, 0.3, 0.5, 0.7],
};

export const SIZES: Sizes<MicroSize> = {
  smoke: {
    rows: 600,
    repeats: 3,
    seconds: 0.02,
    warmUp: 0.05,
    sweepRepeats: 1,
    cells: [1, 4],
    hotRows: [8],
    concurrencies: [1, 64],
    loads: [0.3],
  },
  quick: {
    rows: 20_000,
    repeats: 15,
    seconds: 0.25,
    warmUp: 1,
    sweepRepeats: 3,
    cells: [1, 2, 4, 8, 16, 32],
    hotRows: [4_096, 512, 64, 16],
    concurrencies: [1, 4, 16, 64, 256],
    loads: [0.3, 0.7],
  },
  standard: STANDARD,
  full: { ...STANDARD, rows: 100_000, repeats: 100, seconds: 1, warmUp: 3, sweepRepeats: 20 },
};

/** The nine cases; counting messages and checking what was written count as one more. */
const FIGURE_8_CASES = 10;
/** Three sizes of transaction, with batching off and on, with conditional batches off and on. */
const CONDITIONAL_BATCH_CASES = 12;
/** Kinds of operation at each load of the open loop, and the duration of each, in slices. */
const OPEN_LOOPS = 4;
export const OPEN_LOOP_SLICES = 8;
const LOADED_PER_SECOND = 2_000;

/** The expected duration for one store, without `--profile-cpu`. */
export function expectedSeconds(
  plan: MicroSize & Pick<MicroPlan, 'figureOnly' | 'conditionalBatch'>,
): number {
  const { rows, repeats, seconds, warmUp, sweepRepeats, loads } = plan;
  const { cells, concurrencies, hotRows } = plan;
  const oneCase = repeats * seconds + warmUp;
  const figure8 =
    2 +
    rows / LOADED_PER_SECOND +
    FIGURE_8_CASES * oneCase +
    (plan.conditionalBatch ? CONDITIONAL_BATCH_CASES * oneCase : 0);
  if (plan.figureOnly) return figure8;
  const cases = 2 * cells.length + 4 * concurrencies.length + hotRows.length;
  const sweeps = cases * (sweepRepeats * seconds + warmUp / 3);
  return figure8 + sweeps + loads.length * OPEN_LOOPS * OPEN_LOOP_SLICES * seconds;
}

const SHARED =
  'it, the storage and all other processes that this run starts share the cores of one machine. The paper measured one tablet server, whose processor was the limit.';

const EMULATOR = 'the emulator keeps everything in memory and survives nothing.';

const ONE_PROCESS: readonly string[] = [
  `One process with one JavaScript thread is the client; ${SHARED}`,
  'The timestamp oracle hands out timestamps from memory under a lease, like the paper’s, but in the process of the benchmark; with --processes it has a process of its own, and each request has to reach it.',
  `The embedded storage runs in the process of its client, so the CPU time of the client includes it; ${EMULATOR}`,
];

const ALWAYS: readonly string[] = [
  'Raw operations have the guarantees of the storage alone: a write is one cell, blind; a read is the newest version of one column. A Percolator read includes its start timestamp, which in the paper cost the tablet server nothing.',
];

export function limitationsOf({ processes }: Pick<MicroPlan, 'processes'>): readonly string[] {
  return [...(processes === 0 ? ONE_PROCESS : inProcesses(processes)), ...ALWAYS];
}

function inProcesses(processes: number): readonly string[] {
  const clients = processes === 1 ? 'One process is' : `${processes} processes together are`;
  return [
    `${clients} the client of figure 8, each with one JavaScript thread; ${SHARED}`,
    'Oracle and lock service are a process each. Their CPU time is neither the client’s nor that of the storage’s server: it has a column of its own, and the relative CPU includes it.',
    'Everything after figure 8 (messages, sweeps, profiles, one caller at a time) has one client, the process of the benchmark; its oracle is the same process as before.',
    `The embedded storage runs in the process of the benchmark: in figure 8 its CPU time is that of the server, and after it that of the client includes it; ${EMULATOR}`,
  ];
}
