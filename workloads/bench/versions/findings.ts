/** The findings of `./run.sh bench:versions`, for the report. */
import {
  type FindingsParts,
  formatJudged,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { ReadTimes } from './read-in-turns.ts';

export interface Outcome {
  /** Versions of the rewritten cell in the storage during the reads. */
  readonly versions: number;
  readonly times: ReadTimes;
}

export interface VersionsResult {
  readonly without: Outcome;
  readonly collected: Outcome;
}

/** Of two read times, with a running collector: the rewritten cell's to the one written once. */
const { ratioMax: RATIO_MAX } = TARGETS.versions;

export function findingsOf(
  found: VersionsResult,
  { versions }: { readonly versions: number },
): FindingsParts {
  const { without, collected } = found;
  const isMet = (value: number): boolean => value <= RATIO_MAX;
  const ratio = ({ times }: Outcome): string => formatJudged(times.ratio, 2, isMet);
  return {
    headline:
      `A cell that was written ${versions.toLocaleString('en')} times takes ${ratio(without)} times as long to read ` +
      `as one that was written once; with a running collector, ${ratio(collected)} times.`,
    check: { passed: true, detail: 'each value read is the one written last' },
    tables: [tableOf(found)],
    charts: [chartOf(found)],
    targets: [
      {
        name: 'reads of a rewritten cell, with a collector',
        target: `at most ${RATIO_MAX} times as long`,
        measured: `${ratio(collected)} times`,
        met: isMet(collected.times.ratio),
        samples: collected.times.reads,
      },
    ],
  };
}

function tableOf({ without, collected }: VersionsResult): ResultTable {
  const row = (label: string, { versions, times }: Outcome): ResultTable['rows'][number] => {
    const { onceMs, oftenMs, ratio, reads } = times;
    return [
      label,
      versions,
      reads,
      rounded(onceMs * 1_000),
      rounded(oftenMs * 1_000),
      rounded(ratio),
    ];
  };
  return {
    name: 'reads',
    title: 'Reads of both cells',
    caption: 'Medians of alternating reads; versions are those in the storage during the reads.',
    columns: ['', 'versions', 'reads of each', 'written once, us', 'rewritten, us', 'ratio'],
    rows: [row('without a collector', without), row('with a running collector', collected)],
    metrics: {
      rowNames: 1,
      columns: [
        lowerIsBetter('written once, us', '\u00b5s'),
        lowerIsBetter('rewritten, us', '\u00b5s'),
        lowerIsBetter('ratio', 'times'),
      ],
    },
  };
}

function chartOf({ without, collected }: VersionsResult): ResultChart {
  const points = (of: (times: ReadTimes) => number): ResultChart['series'][number]['points'] =>
    [without, collected].map(({ times }, i) => ({
      x: i + 1,
      y: of(times) * 1_000,
      low: null,
      high: null,
      samples: times.reads,
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
        { at: 2, label: 'running' },
      ],
    },
    y: { title: 'Median of a read, in microseconds', scale: 'logarithmic', ticks: [] },
    series: [
      { name: 'rewritten', look: 'percolator', isLine: false, points: points((t) => t.oftenMs) },
      { name: 'written once', look: 'other', isLine: false, points: points((t) => t.onceMs) },
    ],
  };
}
