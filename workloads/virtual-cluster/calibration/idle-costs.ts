/**
 * How this machine cools while it is idle (warmth.ts): the curve nearest to what `bench:cluster
 * --figure costs` has measured of a short and of a long operation after pauses.
 */
import { numberIn, type RunRecord } from '#results';
import { ALONE, IDLE_TABLE, PAUSES_MS } from '../measured-costs/idle.ts';
import { type Alone, ALWAYS_WARM, extraUs, type Idle } from '../warmth.ts';
import { assumed, type Change, must } from './change.ts';

/**
 * What an operation took in addition after a pause. A write waits for the disk on the way, with and
 * without a pause before it; what it takes in addition after that is not in the difference.
 */
export interface Extra {
  readonly alone: Alone;
  readonly us: number;
}

const LONGEST_MS = Math.max(...PAUSES_MS);

export function idleCosts(costs: RunRecord | null): readonly Change[] {
  const tables = costs?.findings?.tables ?? [];
  if (costs === null || !tables.some(({ name }) => name === IDLE_TABLE)) return NOT_MEASURED;
  const { refillUs, longestMs, warmingUs } = fitted(extrasOf(costs));
  const source = `run ${costs.runId}, a raw read and a write of Percolator after pauses`;
  return [
    ['idle.refillUs', { value: refillUs, source }],
    ['idle.longestMs', assumed(longestMs, 'the longest pause that was measured')],
    ['idle.warmingUs', { value: warmingUs, source }],
  ];
}

const WITHOUT_EFFECT = 'without effect, as nothing is to be refilled';

const NOT_MEASURED: readonly Change[] = [
  ['idle.refillUs', assumed(0, 'not measured: bench:cluster --figure costs does')],
  ['idle.longestMs', { value: 10, source: WITHOUT_EFFECT }],
  ['idle.warmingUs', { value: 50, source: WITHOUT_EFFECT }],
];

function extrasOf(costs: RunRecord): readonly Extra[] {
  const took = (what: string, idleMs: number): number =>
    must(costs, numberIn(costs, IDLE_TABLE, 'µs of the main thread', what, String(idleMs)), what);
  return ALONE.flatMap((what) => {
    const us = took(what, 0);
    return PAUSES_MS.map((idleMs) => ({
      alone: { idleMs, us },
      us: Math.max(0, took(what, idleMs) - us),
    }));
  });
}

/** Values of `warmingUs` that are tried: each a tenth more than the last. */
const TRIED_US = { from: 5, to: 2_000, step: 1.1 };

/** The least sum of squares of the errors, relative to what was measured. */
export function fitted(extras: readonly Extra[]): Idle {
  let best: Fit | undefined;
  for (let warmingUs = TRIED_US.from; warmingUs <= TRIED_US.to; warmingUs *= TRIED_US.step) {
    const fit = fittedWith(extras, warmingUs);
    if (best === undefined || fit.error < best.error) best = fit;
  }
  return best?.idle ?? ALWAYS_WARM;
}

interface Fit {
  readonly idle: Idle;
  readonly error: number;
}

function fittedWith(extras: readonly Extra[], warmingUs: number): Fit {
  const unit = { refillUs: 1, longestMs: LONGEST_MS, warmingUs };
  const shares = extras
    .filter(({ us }) => us > 0)
    .map(({ alone, us }) => extraUs(unit, alone) / us);
  const sum = (of: (share: number) => number): number =>
    shares.reduce((total, share) => total + of(share), 0);
  const squares = sum((share) => share ** 2);
  const refillUs = squares === 0 ? 0 : sum((share) => share) / squares;
  return { idle: { ...unit, refillUs }, error: sum((share) => (refillUs * share - 1) ** 2) };
}
