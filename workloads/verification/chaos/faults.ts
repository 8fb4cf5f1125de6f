/**
 * The faults of a round, drawn from its seed: which process is killed or stopped, and when. The
 * operating system decides what a fault interrupts, so a seed repeats the schedule and not the run.
 *
 * A round goes through stretches, each with a pace of its own:
 *
 *     start-up    every 50 to 800 ms    processes die soon after they have begun to work, while
 *                                       they resolve locks; a tenth of the kills may hit one that
 *                                       is still opening the store
 *     working     every 1 to 6 s        processes have met one another in hundreds of cells by then
 *     pausing     every 0.5 to 3 s      only pauses: stopped processes find the others far ahead
 *     seldom      every 8 to 20 s       caches are warm, and a collector has finished a cycle
 *
 * The first stretch has the pace of start-up, so that short rounds have faults as well. The working
 * pace has half of the time: faster faults mostly hit processes that have done nothing yet.
 *
 * A pause (SIGSTOP, SIGCONT) is short or long. A short one outlasts the time to live of a lock, so
 * other processes presume a live transaction dead. A long one also outlasts the lease of the
 * process and the lifetime of its messages, so collectors delete what the process still relies on,
 * wherever it was stopped.
 *
 * After every few of these faults, something happens to the folder of an embedded store
 * (folder-faults.ts): each of these comes once before one comes again.
 */
import type { Random } from '#engine';
import type { FolderFaultName } from './folder-faults.ts';
import { LOCK_TIME_TO_LIVE_MS, LONG_PAUSE_MS } from './plan.ts';

interface Timed {
  readonly afterMs: number;
  /**
   * Whether `afterMs` counts from the moment when all processes work, and not from the previous
   * fault. A slow machine needs time to start them.
   */
  readonly settled: boolean;
  /** Below 1: picks one of the live processes. */
  readonly victim: number;
}

export interface Kill extends Timed {
  readonly kind: 'kill';
  /** Whether it may hit a process that has not begun its work. */
  readonly starting: boolean;
  /**
   * Whether it hits the owner of the embedded store instead of the process that `victim` picks;
   * without an owner, `victim` decides.
   */
  readonly owner: boolean;
}

export interface Pause extends Timed {
  readonly kind: 'pause';
  readonly forMs: number;
  readonly long: boolean;
}

export interface FolderFault extends Timed {
  readonly kind: 'folder';
  readonly what: FolderFaultName;
}

export type Fault = Kill | Pause | FolderFault;

interface Pace extends Pick<Timed, 'settled'> {
  /** Milliseconds before each fault; `settled` says from when. */
  readonly afterMs: readonly [number, number];
  /** How many faults a stretch has. */
  readonly faults: readonly [number, number];
  /** The share of faults that only stop a process for a while. */
  readonly pauses: number;
}

const START_UP: Pace = { settled: false, afterMs: [50, 800], faults: [4, 8], pauses: 0.15 };
const WORKING: Pace = { settled: true, afterMs: [1_000, 6_000], faults: [3, 8], pauses: 0.3 };
const PAUSING: Pace = { settled: true, afterMs: [500, 3_000], faults: [4, 8], pauses: 1 };
const SELDOM: Pace = { settled: true, afterMs: [8_000, 20_000], faults: [1, 1], pauses: 0.3 };
/** The pace of a stretch is drawn from these. */
const PACES = [START_UP, WORKING, WORKING, PAUSING, PAUSING, SELDOM] as const;

/**
 * The share of kills that may also hit a process that has not begun its work, because opening is
 * under test, too.
 */
const STARTING = 0.1;
/**
 * The share of kills that hit the owner of an embedded store: conditional mutations of the other
 * processes that it has not answered are then in doubt.
 */
const OWNER = 0.3;
/** The share of pauses that are long. */
const LONG = 0.6;
const SHORT_PAUSE_MS = [LOCK_TIME_TO_LIVE_MS + 50, 4 * LOCK_TIME_TO_LIVE_MS] as const;

/** After so many other faults, the folder has one. */
const FAULTS_PER_FOLDER_FAULT = 2;

/** An endless schedule. @param ofFolder what may happen to the folder of the store */
export function* drawFaults(
  random: Random,
  ofFolder: readonly FolderFaultName[],
): Generator<Fault, never> {
  const folderFaults = drawFolderFaults(random.fork('folder'), ofFolder);
  let drawn = 0;
  for (let pace: Pace = START_UP; ; pace = random.pick(PACES)) {
    for (let left = random.integer(...pace.faults); left > 0; left--) {
      const fault = drawFault(random, pace);
      yield fault;
      const { afterMs, settled, victim } = fault;
      const what = ++drawn % FAULTS_PER_FOLDER_FAULT === 0 ? folderFaults.next().value : undefined;
      if (what !== undefined) yield { kind: 'folder', what, afterMs, settled, victim };
    }
  }
}

/** All of them in an order of their own, repeatedly. */
function* drawFolderFaults(
  random: Random,
  names: readonly FolderFaultName[],
): Generator<FolderFaultName> {
  while (names.length > 0) {
    for (const left = [...names]; left.length > 0;) {
      yield* left.splice(random.integer(0, left.length - 1), 1);
    }
  }
}

function drawFault(random: Random, { afterMs, settled, pauses }: Pace): Kill | Pause {
  const timed = { afterMs: random.integer(...afterMs), settled, victim: random.fraction() };
  if (random.fraction() >= pauses) {
    const starting = random.fraction() < STARTING;
    return { kind: 'kill', ...timed, starting, owner: random.fraction() < OWNER };
  }
  const long = random.fraction() < LONG;
  const forMs = random.integer(...(long ? LONG_PAUSE_MS : SHORT_PAUSE_MS));
  return { kind: 'pause', ...timed, forMs, long };
}
