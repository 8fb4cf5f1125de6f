/**
 * The attempts of transactions that straddled the failure, by how they ended. An attempt is in
 * flight at a moment if it began before and ended after.
 *
 *     committed      the writer was told so
 *     conflict       another transaction was faster, or rolled it back: nothing was committed
 *     unknown        the answer to its commit was lost; later the writer asks how it ended
 *     unavailable    the storage failed before its commit was sent: nothing was committed
 */
import { type Arrival, type Attempt, COMMITTED, UNKNOWN } from './attempts.ts';

export const ENDS = ['committed', 'conflict', 'unknown', 'unavailable'] as const;
export type End = (typeof ENDS)[number];
export type Ends = Readonly<Record<End, number>>;

const CONFLICTS: ReadonlySet<string> = new Set(['WRITE_CONFLICT', 'ROLLED_BACK', 'LOCKED']);

/** Ends of the attempts that overlap with the time from `fromMs` to `toMs`. */
export function endsOf(arrivals: readonly Arrival[], fromMs: number, toMs: number = fromMs): Ends {
  const ends = { committed: 0, conflict: 0, unknown: 0, unavailable: 0 };
  for (const attempt of arrivals.flatMap(({ attempts }) => attempts)) {
    if (attempt.beganMs <= toMs && attempt.endedMs >= fromMs) ends[endOf(attempt)]++;
  }
  return ends;
}

function endOf({ outcome }: Attempt): End {
  if (outcome === COMMITTED) return 'committed';
  if (outcome === UNKNOWN) return 'unknown';
  return CONFLICTS.has(outcome) ? 'conflict' : 'unavailable';
}
