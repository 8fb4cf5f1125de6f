/**
 * The faults of a round, drawn from its seed: who is killed or stopped, and when. What they meet is
 * up to the operating system, so a seed repeats the schedule and not the run.
 */
import type { Random } from '#engine';
import { LOCK_TIME_TO_LIVE_MS } from './plan.ts';

export type Fault =
  | {
      readonly kind: 'kill';
      readonly afterMs: number;
      readonly starting: boolean;
      readonly victim: number;
    }
  | {
      readonly kind: 'pause';
      readonly afterMs: number;
      readonly victim: number;
      readonly forMs: number;
    };

/** Milliseconds between two faults. Shorter, and processes are killed before they have done anything. */
const AFTER_MS = [50, 800] as const;
/** Share of the faults that only stop a process for a while (SIGSTOP, SIGCONT). */
const PAUSES = 0.15;
/** Share of the kills that may also hit a process which has not begun its work: opening is under test, too. */
const STARTING = 0.1;
/** Longer than the time to live of a lock: live transactions are taken for dead. */
const PAUSE_MS = [LOCK_TIME_TO_LIVE_MS + 50, 4 * LOCK_TIME_TO_LIVE_MS] as const;

/** Without end. `afterMs` counts from the fault before; `victim`, below 1, picks among those there are. */
export function* drawFaults(random: Random): Generator<Fault, never> {
  for (;;) {
    const afterMs = random.integer(...AFTER_MS);
    const victim = random.fraction();
    if (random.fraction() < PAUSES) {
      yield { kind: 'pause', afterMs, victim, forMs: random.integer(...PAUSE_MS) };
    } else {
      yield { kind: 'kill', afterMs, victim, starting: random.fraction() < STARTING };
    }
  }
}
