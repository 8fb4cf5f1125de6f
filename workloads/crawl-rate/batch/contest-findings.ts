/** The findings of `./run.sh bench:mapreduce`, for the report. */
import { median } from 'simple-statistics';
import {
  type FindingsParts,
  higherIsBetter,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
  formatJudged,
  type Target,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { Run } from './contest.ts';

export interface Contestant {
  /** The engine's name. */
  readonly name: string;
  /** Null if it was not measured. */
  readonly startUpSeconds: number | null;
  /** At least one. */
  readonly runs: readonly RepeatedRun[];
}

export interface RepeatedRun extends Run {
  /** From 0; a slow engine does not take part in every repeat. */
  readonly repeat: number;
}

export interface ContestResult {
  readonly documents: number;
  readonly contestants: readonly Contestant[];
  /** Sentences about engines that are not on this machine. */
  readonly missing: readonly string[];
}

const OURS = 'MapReduce';
const RATIOS: Readonly<Record<string, number>> = TARGETS.crawlRate.batchSpeedMin;
/** With fewer, the start of the programs is most of what is measured. */
const DOCUMENTS_MIN = 100_000;

export function findingsOf({ documents, contestants, missing }: ContestResult): FindingsParts {
  const fastest = contestants.toSorted((a, b) => secondsOf(a) - secondsOf(b))[0];
  const count = documents.toLocaleString('en');
  return {
    headline: `${fastest?.name} clusters ${count} documents fastest; the MapReduce is ${ratios(contestants)}.`,
    check: {
      passed: true,
      detail: [
        `all ${contestants.length} engines found the same clusters in every run`,
        ...missing,
      ].join('; '),
    },
    tables: [enginesTable(documents, contestants)],
    charts: [chartOf(contestants)],
    targets: Object.entries(RATIOS).map(([name, least]) =>
      targetOf(documents, contestants, name, least),
    ),
  };
}

function ratios(contestants: readonly Contestant[]): string {
  return contestants
    .filter(({ name }) => name !== OURS)
    .map(({ name }) => `${ratioTo(contestants, name).toFixed(2)} times as fast as ${name}`)
    .join(', ');
}

function targetOf(
  documents: number,
  contestants: readonly Contestant[],
  name: string,
  least: number,
): Target {
  const ratio = ratioTo(contestants, name);
  return {
    name: `speed of the MapReduce, relative to ${name}`,
    target: `at least ${least}`,
    measured: formatJudged(ratio, 2, (value) => value >= least),
    ...(documents < DOCUMENTS_MIN
      ? { met: null, reason: `fewer than ${DOCUMENTS_MIN.toLocaleString('en')} documents` }
      : { met: ratio >= least }),
  };
}

function ratioTo(contestants: readonly Contestant[], name: string): number {
  const [ours, other] = [OURS, name].map((one) => contestants.find((each) => each.name === one));
  return ours && other ? secondsOf(other) / secondsOf(ours) : Number.NaN;
}

function secondsOf({ runs }: Contestant): number {
  return median(runs.map((run) => run.seconds));
}

function enginesTable(documents: number, contestants: readonly Contestant[]): ResultTable {
  return {
    name: 'engines',
    title: 'Clustering all documents',
    caption:
      'Medians of the runs, from the call to durable clusters; fastest and slowest run. CPU is the time of all processes, ' +
      'start-up the time of a run on one document, and disk the most space that all files but the documents took.',
    columns: [
      'engine',
      'runs',
      'seconds',
      'fastest',
      'slowest',
      'documents/s',
      'CPU, s',
      'start-up, s',
      'disk, MB',
    ],
    rows: contestants.map((one) => {
      const { name, runs, startUpSeconds } = one;
      const seconds = runs.map((run) => run.seconds);
      const cpu = runs.flatMap(({ cpuSeconds }) => cpuSeconds ?? []);
      return [
        name,
        runs.length,
        ...[secondsOf(one), Math.min(...seconds), Math.max(...seconds)].map((value) =>
          rounded(value),
        ),
        Math.round(documents / secondsOf(one)),
        cpu.length === 0 ? null : rounded(median(cpu)),
        rounded(startUpSeconds),
        rounded(median(runs.map(({ diskBytes }) => diskBytes)) / 1e6),
      ];
    }),
    metrics: {
      rowNames: 1,
      columns: [
        lowerIsBetter('seconds', 's'),
        higherIsBetter('documents/s', 'documents/s'),
        lowerIsBetter('CPU, s', 's'),
      ],
    },
  };
}

function chartOf(contestants: readonly Contestant[]): ResultChart {
  return {
    name: 'repeats',
    title: 'Seconds of each run',
    caption: 'The engines take turns, so that all meet the same disturbances.',
    x: { title: 'Repeat', scale: 'linear', ticks: [] },
    y: { title: 'Seconds', scale: 'logarithmic', ticks: [] },
    series: contestants.map(({ name, runs }) => ({
      name,
      look: name === OURS ? 'percolator' : 'other',
      isLine: true,
      points: runs.map(({ repeat, seconds }) => ({
        x: repeat + 1,
        y: seconds,
        low: null,
        high: null,
      })),
    })),
  };
}
