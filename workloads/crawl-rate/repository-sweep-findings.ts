/** The findings of `./run.sh bench:crawl-rate --sweep repository`, for the report. */
import {
  type FindingsParts,
  formatCount,
  formatJudged,
  higherIsBetter,
  lowerIsBetter,
  TARGETS,
} from '#results';
import { type Estimate, estimate, intervalOf } from '../harness/statistics/ratio.ts';
import { rounded } from '../harness/statistics/rounded.ts';

/** What was measured at one size. */
export interface SweepPoint {
  readonly repository: number;
  readonly loadSeconds: number;
  /** At least one. */
  readonly turns: readonly SweepTurn[];
}

/** One repeat of one size. */
export interface SweepTurn {
  readonly documents: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const { costRatioMax: COST_RATIO_MAX } = TARGETS.crawlRate;
/** The sizes that the target is about. */
const [SMALL, LARGE] = [10_000, 2_000_000];

interface Row {
  readonly repository: number;
  readonly loadedPerSecond: number;
  readonly perSecond: Estimate;
  readonly costUs: Estimate;
}

export function sweepFindings(points: readonly SweepPoint[]): FindingsParts {
  const rows = points.map(rowOf);
  const costs = rows.map(({ costUs }) => costUs.value);
  const ratio = Math.max(...costs) / Math.min(...costs);
  const documents = points
    .flatMap(({ turns }) => turns)
    .reduce((sum, turn) => sum + turn.documents, 0);
  return {
    headline:
      `A new document takes ${costs[0]?.toFixed(0)} \u00b5s of processor time in a repository of ` +
      `${formatCount(rows[0]?.repository ?? 0)} documents, and ${costs.at(-1)?.toFixed(0)} \u00b5s in one of ` +
      `${formatCount(rows.at(-1)?.repository ?? 0)}.`,
    check: {
      passed: true,
      detail: `after each turn, all documents were in the clusters that the reference clustering finds (${formatCount(documents)} were measured)`,
    },
    tables: [tableOf(rows)],
    charts: [chartOf(rows)],
    targets: [targetOf(rows, ratio)],
  };
}

function rowOf({ repository, loadSeconds, turns }: SweepPoint): Row {
  return {
    repository,
    loadedPerSecond: repository / loadSeconds,
    perSecond: estimate(turns.map(({ documents, seconds }) => documents / seconds)),
    costUs: estimate(turns.map(({ documents, cpuSeconds }) => (1e6 * cpuSeconds) / documents)),
  };
}

function targetOf(rows: readonly Row[], ratio: number): FindingsParts['targets'][number] {
  const sizes = rows.map(({ repository }) => repository);
  const isMet = (value: number): boolean => value <= COST_RATIO_MAX;
  const isAsked = Math.min(...sizes) <= SMALL && Math.max(...sizes) >= LARGE;
  return {
    name: 'cost of a document by the size of the repository',
    target: `from ${formatCount(SMALL)} to ${formatCount(LARGE)} documents, at most ${COST_RATIO_MAX} times as dear at one size as at another`,
    measured: `${formatJudged(ratio, 2, isMet)} times`,
    ...(isAsked
      ? { met: isMet(ratio) }
      : {
          met: null,
          reason: `the sizes went from ${formatCount(sizes[0] ?? 0)} to ${formatCount(sizes.at(-1) ?? 0)}`,
        }),
  };
}

function tableOf(rows: readonly Row[]): FindingsParts['tables'][number] {
  return {
    name: 'sizes',
    title: 'New documents in repositories of several sizes',
    caption:
      'Loaded: in bulk, without transactions. Clustered and CPU: new documents at full speed, geometric means of the turns; low and high bound the 95 % confidence interval of the CPU time.',
    columns: [
      'repository',
      'loaded, documents/s',
      'turns',
      'clustered, documents/s',
      'CPU, \u00b5s per document',
      'low',
      'high',
    ],
    rows: rows.map(({ repository, loadedPerSecond, perSecond, costUs }) => [
      formatCount(repository),
      rounded(loadedPerSecond),
      costUs.samples,
      rounded(perSecond.value),
      rounded(costUs.value),
      rounded(costUs.low),
      rounded(costUs.high),
    ]),
    metrics: {
      rowNames: 1,
      columns: [
        higherIsBetter('loaded, documents/s', 'documents/s'),
        higherIsBetter('clustered, documents/s', 'documents/s', {
          intervals: rows.map(({ perSecond }) => intervalOf(perSecond)),
        }),
        lowerIsBetter('CPU, \u00b5s per document', '\u00b5s', {
          intervalColumns: ['low', 'high'],
        }),
      ],
    },
  };
}

function chartOf(rows: readonly Row[]): FindingsParts['charts'][number] {
  return {
    name: 'sizes',
    title: 'Processor time of a new document',
    caption:
      'In microseconds, with the 95 % confidence interval of the turns where there are three or more.',
    x: { title: 'Documents in the repository', scale: 'logarithmic', ticks: [] },
    y: { title: 'Processor time per document, in microseconds', scale: 'linear', ticks: [] },
    series: [
      {
        name: 'Percolator',
        look: 'percolator',
        isLine: true,
        points: rows.map(({ repository, costUs: { value, low, high, samples } }) => ({
          x: repository,
          y: value,
          low,
          high,
          samples,
        })),
      },
    ],
  };
}
