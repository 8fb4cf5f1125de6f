/**
 * How this machine cools while it is idle (warmth.ts): the curve nearest to what `bench:cluster
 * --figure costs` has measured of a short and of a long operation after pauses.
 */
import { numberIn, type RunRecord } from '#results';
import { ALONE, IDLE_TABLE, PAUSES_MS } from '../measured-costs/idle.ts';
import { type Alone, extraUs, type Idle } from '../warmth.ts';
import { assumed, type Change, must } from './change.ts';

/**
 * What an operation took in addition after a pause. A write waits for the disk on the way, with and
 * without a pause before it; what it takes in addition after that is not in the difference.
 */
export interface Extra {
  readonly alone: Alone;
  readonly us: number;
}

export function idleCosts(costs: RunRecord | null): readonly Change[] {
  const tables = costs?.findings?.tables ?? [];
  if (costs === null || !tables.some(({ name }) => name === IDLE_TABLE)) return NOT_MEASURED;
  const { refillUs, coolingMs, warmingUs } = fitted(extrasOf(costs));
  const source = `run ${costs.runId}, a raw read and a write of Percolator after pauses`;
  return [
    ['idle.refillUs', { value: refillUs, source }],
    ['idle.coolingMs', { value: coolingMs, source }],
    ['idle.warmingUs', { value: warmingUs, source }],
  ];
}

const WITHOUT_EFFECT = 'without effect, as nothing is lost';

const NOT_MEASURED: readonly Change[] = [
  ['idle.refillUs', assumed(0, 'not measured: bench:cluster --figure costs does')],
  ['idle.coolingMs', { value: 10, source: WITHOUT_EFFECT }],
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

/** Values of the constants that are tried: each a tenth more than the last. */
const TRIED = { coolingMs: [0.5, 200], warmingUs: [5, 2_000] } as const;
const STEP = 1.1;

/** The least sum of squares of the errors, relative to what was measured. */
export function fitted(extras: readonly Extra[]): Idle {
  let best: { readonly idle: Idle; readonly error: number } | undefined;
  for (const coolingMs of steps(TRIED.coolingMs)) {
    for (const warmingUs of steps(TRIED.warmingUs)) {
      const found = refilled(extras, { coolingMs, warmingUs });
      if (best === undefined || found.error < best.error) best = found;
    }
  }
  return best?.idle ?? { refillUs: 0, coolingMs: 1, warmingUs: 1 };
}

function refilled(
  extras: readonly Extra[],
  constants: Omit<Idle, 'refillUs'>,
): { readonly idle: Idle; readonly error: number } {
  const shares = extras
    .filter(({ us }) => us > 0)
    .map(({ alone, us }) => extraUs({ refillUs: 1, ...constants }, alone) / us);
  const sum = (of: (share: number) => number): number =>
    shares.reduce((total, share) => total + of(share), 0);
  const squares = sum((share) => share ** 2);
  const refillUs = squares === 0 ? 0 : sum((share) => share) / squares;
  return { idle: { refillUs, ...constants }, error: sum((share) => (refillUs * share - 1) ** 2) };
}

function steps([from, to]: readonly [number, number]): readonly number[] {
  const count = Math.ceil(Math.log(to / from) / Math.log(STEP));
  return Array.from({ length: count + 1 }, (_, i) => from * STEP ** i);
}
