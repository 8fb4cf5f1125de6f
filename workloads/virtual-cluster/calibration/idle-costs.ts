/**
 * How this machine cools while it is idle (warmth.ts): the curve nearest to what `bench:cluster
 * --figure costs` has measured of a short and of a long operation after pauses; and how much longer
 * a group then waits for the disk, the curve nearest to what a raw write waited.
 */
import { numberIn, type RunRecord } from '#results';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { ALONE, IDLE_TABLE, PAUSES_MS, SYNCED } from '../measured-costs/idle.ts';
import { type Alone, ALWAYS_WARM, extraUs, type Idle } from '../warmth.ts';
import { assumed, type Change, must } from './change.ts';

/**
 * What an operation took in addition after a pause. The machine also cools while a write waits for
 * the disk, but without a pause before the write, too, so that part is not in the difference.
 */
export interface Extra {
  readonly alone: Alone;
  readonly us: number;
}

const MAIN = 'µs of the main thread';
const UNTIL_END = 'µs until its end';
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
    ['log.waitAfterIdleUs', waitAfterIdle(costs)],
  ];
}

const WITHOUT_EFFECT = 'without effect, as nothing is to be refilled';

const NOT_MEASURED: readonly Change[] = [
  ['idle.refillUs', assumed(0, 'not measured: bench:cluster --figure costs does')],
  ['idle.longestMs', { value: 10, source: WITHOUT_EFFECT }],
  ['idle.warmingUs', { value: 50, source: WITHOUT_EFFECT }],
  ['log.waitAfterIdleUs', assumed(0, 'not measured: bench:cluster --figure costs does')],
];

/**
 * A read does not wait for the disk. So the processor time by which its thread exceeds the read's
 * own duration belongs to the end of the pause, and is subtracted from the thread's time for a
 * write, too. 0 if the record has no durations.
 */
function waitAfterIdle(costs: RunRecord): Change[1] {
  const of = (column: string, what: string, idleMs: number): number | null =>
    numberIn(costs, IDLE_TABLE, column, what, String(idleMs));
  if (of(UNTIL_END, SYNCED, 0) === null) {
    return assumed(0, 'the record has no durations after pauses');
  }
  const besidesWorkUs = (what: string, idleMs: number): number =>
    must(costs, of(UNTIL_END, what, idleMs), what) - must(costs, of(MAIN, what, idleMs), what);
  const waitUs = (idleMs: number): number =>
    besidesWorkUs(SYNCED, idleMs) - besidesWorkUs(NAMES.rawRead, idleMs);
  const extras = PAUSES_MS.map((idleMs) => ({ idleMs, us: waitUs(idleMs) - waitUs(0) }));
  return {
    value: perRootMs(extras),
    source: `run ${costs.runId}, what a raw write waits for the disk after pauses`,
  };
}

/** The extra wait for each √ms of a pause, by least squares; at least 0. */
export function perRootMs(
  extras: readonly { readonly idleMs: number; readonly us: number }[],
): number {
  const sum = (of: (extra: { idleMs: number; us: number }) => number): number =>
    extras.reduce((total, extra) => total + of(extra), 0);
  return Math.max(0, sum(({ idleMs, us }) => Math.sqrt(idleMs) * us) / sum(({ idleMs }) => idleMs));
}

function extrasOf(costs: RunRecord): readonly Extra[] {
  const took = (what: string, idleMs: number): number =>
    must(costs, numberIn(costs, IDLE_TABLE, MAIN, what, String(idleMs)), what);
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

/** The curve with the least sum of squares of the errors, relative to what was measured. */
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
