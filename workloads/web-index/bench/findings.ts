/** The findings of `./run.sh bench:web-index` for the report. */
import {
  column,
  dots,
  type FindingsParts,
  HEADLINE_SAMPLES_MIN,
  line,
  lower,
  percentileMs,
  type ResultChart,
  resultTable,
  type ResultTable,
  rowName,
  series,
  SHARED,
  statedPercentileMs,
  type Target,
} from '#results';
import { meanOrZero, rounded } from '../../harness/statistics.ts';
import { type StoreCounts, total } from '../../harness/watched-stores.ts';
import { type AgePoint, AGES, type Freshness } from './freshness.ts';
import type { BatchResult, PipelineResult } from './measure.ts';

export interface Measured {
  readonly documents: number;
  readonly recrawled: number;
  readonly perSecond: number;
  readonly pipeline: PipelineResult;
  readonly batch: BatchResult;
}

/** "reducing the average age of documents in Google search results by 50 %" (abstract). */
const { youngerPercentMin: PAPER_YOUNGER_PERCENT } = SHARED;
/** "around 50 individual Bigtable operations to process a single document" (section 2.5). */
const PAPER_OPERATIONS = 50;
const PERCENTILES = [50, 90, 99] as const;
/** The most that the generator may be late (p99): a later one is part of what was measured. */
const LAG_MS_MAX = 250;

const NOTHING = { tables: [], charts: [], targets: [] };

export function findingsOf(measured: Measured): FindingsParts {
  const check = checkOf(measured);
  if (!check.passed) {
    return { headline: 'There are no numbers: the check failed.', check, ...NOTHING };
  }
  return {
    headline: headlineOf(measured),
    check,
    tables: [searchableTable(measured), ageTable(measured), costTable(measured)],
    charts: [ageChart(measured), latencyChart(measured)],
    targets: [ageTarget(measured)],
  };
}

function headlineOf(measured: Measured): string {
  const { pipeline, batch } = measured;
  const samples = Math.min(pipeline.latencies.totalCount, batch.latencies.totalCount);
  const younger = youngerPercent(measured);
  const late = lateOf(measured);
  if (late !== null) return `No headline: ${late}.`;
  if (Number.isNaN(younger)) {
    return 'No headline: the measured time was too short. With at least one of the systems, less than half of that time was left once a recrawl of each page could be found.';
  }
  if (samples < HEADLINE_SAMPLES_MIN) {
    return `No headline: only ${samples} recrawls could be measured with one system or both.`;
  }
  return (
    `From crawl to searchable, median: ${seconds(percentileMs(pipeline.latencies, 50))} with observers, ` +
    `${seconds(percentileMs(batch.latencies, 50))} with the batch. The pages found are ${youngerWords(younger)} ` +
    `(the paper: ${PAPER_YOUNGER_PERCENT} %; with no delay at all: ${mostYoungerPercent(measured).toFixed(0)} %). A recrawl takes ${total(pipeline.counts, 'operations').toFixed(0)} ` +
    `operations of the storage (the paper: about ${PAPER_OPERATIONS}).`
  );
}

function checkOf({ pipeline, batch }: Measured): FindingsParts['check'] {
  const lost = pipeline.lost + batch.lost;
  const wrong = [
    ...pipeline.findings,
    ...batch.findings,
    ...(lost > 0 ? [`${lost} recrawls could never be found`] : []),
    ...(pipeline.lagP99Ms > LAG_MS_MAX
      ? ['the crawl itself was late, so its times say nothing']
      : []),
  ];
  const passed = wrong.length === 0;
  const detail = passed
    ? 'tables, serving index and batch are as the judge computes them, and every recrawl was found'
    : wrong.slice(0, 3).join('; ');
  return { passed, detail };
}

/** Which system did not keep up, and why: then no time means anything. Null if both did. */
function lateOf({ pipeline, batch }: Measured): string | null {
  if (pipeline.late !== null) return `the observers did not keep up (${pipeline.late})`;
  return batch.late === null ? null : `the batch did not keep up (${batch.late})`;
}

interface MeasuredSystem extends Freshness {
  readonly name: string;
}

function systemsOf({ pipeline, batch }: Measured): readonly MeasuredSystem[] {
  return [
    { ...pipeline, name: 'observers' },
    { ...batch, name: 'batch' },
  ];
}

/** Null if the system did not keep up. */
function stated({ latencies, late }: Freshness, percentile: number): number | null {
  return late === null ? statedPercentileMs(latencies, percentile) : null;
}

function searchableTable(measured: Measured): ResultTable {
  return resultTable<MeasuredSystem>(
    {
      name: 'searchable',
      title: 'From crawl to searchable',
      caption:
        'Milliseconds from the moment when a recrawl was due until its edition could be found, durable in the serving ' +
        'index; empty if the system did not keep up. The batch begins a run when the one before it has ended, so a recrawl waits for the end of one run, and then for its own.',
    },
    systemsOf(measured),
    [
      rowName('system', ({ name }) => name),
      rowName('recrawls/s', () => measured.perSecond),
      column('recrawls', ({ latencies }) => latencies.totalCount),
      column('median', (system) => rounded(stated(system, 50)), lower('ms')),
      column('p90', (system) => rounded(stated(system, 90)), lower('ms')),
      column('p99', (system) => rounded(stated(system, 99)), lower('ms')),
      column('max', ({ latencies, late }) =>
        late === null ? rounded(percentileMs(latencies, 100)) : null,
      ),
    ],
  );
}

function ageTable(measured: Measured): ResultTable {
  const { pipeline, batch } = measured;
  const least = leastAge(measured);
  return resultTable(
    {
      name: 'age',
      title: 'The age of what is found',
      caption:
        'Seconds since the crawl of the edition that is found: the mean over all recrawled pages, and over the part of the ' +
        'measured time in which a recrawl of each page could be found; empty if that part is less than half. Its floor, ' +
        `with no delay at all, is half of the time between two crawls of a page: here ${measured.recrawled} pages are ` +
        `crawled at ${measured.perSecond} a second, and no system can be below ${least.toPrecision(2)} s.`,
    },
    [
      { name: 'observers', age: meanAge(pipeline), younger: youngerPercent(measured) },
      { name: 'batch', age: meanAge(batch), younger: null },
      { name: 'no delay', age: least, younger: mostYoungerPercent(measured) },
    ],
    [
      rowName('system', ({ name }) => name),
      column('mean age', ({ age }) => rounded(age), lower('s')),
      column('more than without delay', ({ age }) => rounded(age - least)),
      column('% younger than the batch', ({ younger }) => rounded(younger)),
    ],
  );
}

function costTable({ documents, pipeline, batch }: Measured): ResultTable {
  const { load, counts } = pipeline;
  const costs = (of: StoreCounts) => ({
    operations: total(of, 'operations'),
    rpcs: total(of, 'rpcs'),
  });
  const none = { perSecond: null, operations: null, rpcs: null };
  return resultTable<{ work: string } & Record<keyof typeof none, number | null>>(
    {
      name: 'cost',
      title: 'What documents cost',
      caption:
        'Operations and RPCs of the storage for each document, all observers together. The load is of the whole ' +
        'repository at full speed; there each new link changes the ranks of pages near it. The batch processes the whole ' +
        'repository in each run, and uses no storage.',
    },
    [
      { work: 'observers, load', perSecond: documents / load.seconds, ...costs(load.counts) },
      { work: 'observers, recrawls', perSecond: null, ...costs(counts) },
      { ...none, work: 'batch, each run', perSecond: documents / meanOrZero(batch.runSeconds) },
      { ...none, work: 'paper', operations: PAPER_OPERATIONS },
    ],
    [
      rowName('work', ({ work }) => work),
      column('documents/s', ({ perSecond }) => rounded(perSecond)),
      column('operations', ({ operations }) => rounded(operations), lower('operations')),
      column('RPCs', ({ rpcs }) => rounded(rpcs), lower('RPCs')),
    ],
  );
}

function ageChart(measured: Measured): ResultChart {
  const { pipeline, batch } = measured;
  const least = leastAge(measured);
  const moments = [...pipeline.ages, ...batch.ages].map(({ seconds: x }) => x);
  const ends = [Math.min(...moments, 0), Math.max(...moments, 0)];
  const at = ({ seconds: x }: AgePoint) => ({ x });
  const age = ({ meanAgeSeconds }: AgePoint): number => meanAgeSeconds;
  return {
    name: 'age',
    title: 'The age of what is found, under a steady recrawl',
    caption:
      'The mean over all recrawled pages. It climbs during a run of the batch, and falls when its result is served. ' +
      `Dashed is the floor that the schedule sets: ${least.toPrecision(2)} s, with no delay at all.`,
    x: { title: 'Seconds', scale: 'linear', ticks: [] },
    y: { title: 'Mean age in seconds', scale: 'linear', ticks: [] },
    // The first is drawn above the others: the observers are only just above the floor.
    series: [
      ...series(ends, (x) => ({ x }), [line('no delay', 'paper', () => least)]),
      ...series(pipeline.ages, at, [line('observers', 'percolator', age)]),
      ...series(batch.ages, at, [line('batch', 'other', age)]),
    ],
  };
}

function latencyChart({ pipeline, batch }: Measured): ResultChart {
  const marks = (name: string, look: 'percolator' | 'other', measured: Freshness) =>
    series(PERCENTILES, (_, x) => ({ x, samples: measured.latencies.totalCount }), [
      dots(name, look, (percentile) => {
        const ms = stated(measured, percentile);
        return ms === null ? null : Math.max(0.01, ms);
      }),
    ]);
  return {
    name: 'searchable',
    title: 'From crawl to searchable',
    caption:
      'Time from when a recrawl was due until it can be found. Percentiles other than the median need a hundred recrawls.',
    x: {
      title: 'Percentile',
      scale: 'linear',
      ticks: PERCENTILES.map((percentile, at) => ({ at, label: `p${percentile}` })),
    },
    y: { title: 'Milliseconds', scale: 'logarithmic', ticks: [] },
    series: [...marks('observers', 'percolator', pipeline), ...marks('batch', 'other', batch)],
  };
}

function ageTarget(measured: Measured): Target {
  const target = {
    name: 'age of what is found',
    target: `at least ${PAPER_YOUNGER_PERCENT} % younger than with the batch (section 1 of the paper)`,
    samples: Math.min(measured.pipeline.latencies.totalCount, measured.batch.latencies.totalCount),
  };
  const younger = youngerPercent(measured);
  if (Number.isNaN(younger)) {
    const reason = lateOf(measured) ?? 'the measured time was too short';
    return { ...target, measured: 'not known', met: null, reason };
  }
  const most = mostYoungerPercent(measured);
  const found = { ...target, measured: youngerWords(younger) };
  if (most >= PAPER_YOUNGER_PERCENT) return { ...found, met: younger >= PAPER_YOUNGER_PERCENT };
  const reason = `with no delay at all it would be ${most.toFixed(0)} %, so the number tells the schedule, not the system`;
  return { ...found, met: null, reason };
}

function youngerPercent({ pipeline, batch }: Measured): number {
  return 100 * (1 - meanAge(pipeline) / meanAge(batch));
}

function youngerWords(percent: number): string {
  return `${Math.abs(percent).toFixed(0)} % ${percent < 0 ? 'older' : 'younger'}`;
}

/** What a system without any delay would reach: no system can be above it. */
function mostYoungerPercent(measured: Measured): number {
  return 100 * (1 - leastAge(measured) / meanAge(measured.batch));
}

/** The floor: half of the time between two crawls of one page. */
function leastAge({ recrawled, perSecond }: Measured): number {
  return recrawled / perSecond / 2;
}

/**
 * NaN if the system did not keep up, or if a recrawl of each page could be found for less than half
 * of the measured time: the age climbs during a run of the batch, so a short part of that time says
 * little about the whole.
 */
function meanAge({ ages, late }: Freshness): number {
  if (late !== null || ages.length < AGES / 2) return Number.NaN;
  return meanOrZero(ages.map(({ meanAgeSeconds }) => meanAgeSeconds));
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${ms.toFixed(0)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
