/** The findings of `npm run bench:versions`, as the report draws them. */
import type { Found as Recorded, ResultChart, ResultTable } from '#results';
import type { ReadTimes } from './read-in-turns.ts';

export interface Outcome {
  /** Versions of the rewritten cell in the storage while it was read. */
  readonly versions: number;
  readonly times: ReadTimes;
}

export interface Found {
  readonly without: Outcome;
  readonly collected: Outcome;
}

/** How many times as long a read of the rewritten cell may take while a collector is at work. */
export const RATIO_MAX = 2;

export function isAccepted({ collected }: Found): boolean {
  return collected.times.ratio <= RATIO_MAX;
}

export function foundIn(found: Found, { versions }: { readonly versions: number }): Recorded {
  const { without, collected } = found;
  const ratio = ({ times }: Outcome): string => times.ratio.toFixed(2);
  return {
    headline:
      `A cell that was written ${versions.toLocaleString('en')} times takes ${ratio(without)} times as long to read ` +
      `as one that was written once; with a collector at work, ${ratio(collected)} times.`,
    check: { passed: true, detail: 'each of the values read is what was written last' },
    tables: [tableOf(found)],
    charts: [chartOf(found)],
    targets: [
      {
        name: 'reads of a rewritten cell, with a collector',
        target: `at most ${RATIO_MAX} times as long`,
        measured: `${ratio(collected)} times`,
        met: isAccepted(found),
      },
    ],
  };
}

function tableOf({ without, collected }: Found): ResultTable {
  const row = (label: string, { versions, times }: Outcome): ResultTable['rows'][number] => {
    const { onceMs, oftenMs, ratio } = times;
    return [label, versions, rounded(onceMs * 1_000), rounded(oftenMs * 1_000), rounded(ratio)];
  };
  return {
    name: 'reads',
    title: 'Reads of either cell',
    caption: 'Medians, in turns; versions are those that were in the storage meanwhile.',
    columns: ['', 'versions', 'written once, us', 'rewritten, us', 'ratio'],
    rows: [row('without a collector', without), row('with a collector at work', collected)],
  };
}

function chartOf({ without, collected }: Found): ResultChart {
  const points = (of: (times: ReadTimes) => number): ResultChart['series'][number]['points'] =>
    [without, collected].map(({ times }, i) => ({
      x: i + 1,
      y: of(times) * 1_000,
      low: null,
      high: null,
    }));
  return {
    name: 'reads',
    title: 'Reads of a cell written once, and of one written many times',
    caption: 'Medians, in microseconds.',
    x: {
      title: 'Garbage collection',
      scale: 'linear',
      ticks: [
        { at: 1, label: 'without' },
        { at: 2, label: 'at work' },
      ],
    },
    y: { title: 'Median of a read, in microseconds', scale: 'logarithmic', ticks: [] },
    series: [
      { name: 'rewritten', look: 'percolator', isLine: false, points: points((t) => t.oftenMs) },
      { name: 'written once', look: 'other', isLine: false, points: points((t) => t.onceMs) },
    ],
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
