/**
 * The findings of figure 7: the latency until a document is clustered by crawl rate, of Percolator
 * and of back-to-back MapReduces, next to the numbers that the paper states. They are made when a
 * run is measured, and from the points of an old record (old-record.ts).
 */
import {
  counted,
  formatMeasured,
  formatRate,
  formatRatio,
  formatSystem,
} from '../charts/format.ts';
import {
  column,
  type FindingsParts,
  higher,
  lower,
  noNumbers,
  resultTable,
  rowName,
} from '../columns-and-series.ts';
import type { ResultTable } from '../run-record.ts';
import { HEADLINE_SAMPLES_MIN, tooFewSamples } from '../histogram.ts';
import { figure7Charts } from './charts.ts';
import {
  type CrawlResult,
  type Distribution,
  distributionsOf,
  type Figure7,
  type MeasuredPoint,
  mostWaiting,
  PERCENTILES,
  type Point,
  pointsTable,
  RATE,
  stateOf,
  type System,
  SYSTEMS,
  waitingOf,
} from './points.ts';

export const SUBJECT = {
  kicker: 'Percolator paper, figure 7',
  title: 'Crawl rate against clustering latency',
} as const;

/** Where the number of a system is unbounded: it did not keep up. */
const UNBOUNDED = '\u221e';

export function figure7Findings(given: Figure7): Omit<FindingsParts, 'targets'> {
  const failed = [given.check, given.crawl?.check].find((check) => check?.passed === false);
  if (failed !== undefined) {
    const { targets: _, ...none } = noNumbers(failed.detail);
    return none;
  }
  const points = given.points.toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour);
  const figure = { ...given, points };
  return {
    headline: headline(points),
    check: { passed: true, detail: checkedWords(figure) },
    tables: [
      latencyTable(points),
      mediansTable(points),
      ...repositoryTables(figure),
      distributionTable(points),
      backlogTable(points),
      pointsTable(points),
      ...crawlTables(given.crawl),
    ].filter(({ rows }) => rows.length > 0),
    charts: figure7Charts(figure),
  };
}

function checkedWords({ check, crawl }: Figure7): string {
  return crawl === null
    ? check.detail
    : `${check.detail}; of the real crawl, ${crawl.check.detail}`;
}

function headline(points: readonly Point[]): string {
  if (points.length === 0) return 'Nothing was measured.';
  const sentences = [comparison(points), wall(points, 'percolator'), wall(points, 'mapreduce')];
  return sentences.filter((sentence) => sentence !== null).join(' ');
}

/** Compares the systems at the lowest rate at which both have enough documents. */
function comparison(points: readonly Point[]): string {
  const enough = points.filter((one) => (one.latency?.count ?? 0) >= HEADLINE_SAMPLES_MIN);
  for (const ours of enough.filter(({ system }) => system === 'percolator')) {
    const batch = enough.find(
      ({ system, ratePercentPerHour: rate }) =>
        system === 'mapreduce' && rate === ours.ratePercentPerHour,
    );
    if (batch?.latency && ours.latency) {
      return comparisonOf(ours.ratePercentPerHour, ours.latency, batch.latency);
    }
  }
  return `At no crawl rate do both systems have a checked latency from at least ${counted(HEADLINE_SAMPLES_MIN, 'documents')}.`;
}

type Compared = Pick<NonNullable<Point['latency']>, 'medianMs' | 'count'>;

function comparisonOf(rate: number, ours: Compared, batch: Compared): string {
  const said = ({ medianMs, count }: Compared, name: string): string =>
    `within ${formatMeasured(medianMs / 1000)} by ${name} (${counted(count, 'documents')})`;
  const ratio = batch.medianMs / ours.medianMs;
  const words = ratio >= 1 ? `${formatRatio(ratio)} faster` : `${formatRatio(1 / ratio)} slower`;
  return (
    `At a crawl rate of ${formatRate(rate)}, half of the new documents were clustered ` +
    `${said(ours, 'Percolator')} and ${said(batch, 'MapReduce')}: Percolator was ${words}.`
  );
}

/** The highest rate at which a system kept up, and the first above it at which it did not. */
function wall(points: readonly Point[], system: System): string | null {
  const rates = (state: ReturnType<typeof stateOf>): readonly number[] =>
    points
      .filter((point) => point.system === system && stateOf(point) === state)
      .map((point) => point.ratePercentPerHour);
  const highest = rates('measured').at(-1);
  const saturated = rates('saturated');
  if (highest === undefined && saturated.length === 0) return null;
  const name = formatSystem(system);
  const isEveryJudged = rates('invalid').length === 0; // An invalid point says nothing of its rate.
  if (highest === undefined) {
    const tried = saturated.map(formatRate).join(' and ');
    return `${name} did not keep up at ${isEveryJudged ? 'any of the rates tried' : tried}.`;
  }
  const above = saturated.find((rate) => rate > highest);
  const below = saturated.filter((rate) => rate < highest).map(formatRate);
  if (above === undefined && below.length === 0 && isEveryJudged) {
    return `${name} kept up at every rate tried, up to ${formatRate(highest)}.`;
  }
  const except = below.length === 0 ? '' : `, except at ${below.join(' and ')}`;
  const end = above === undefined ? '' : `; at ${formatRate(above)} its backlog grew`;
  return `${name} kept up with rates up to ${formatRate(highest)}${except}${end}.`;
}

/** One row for each crawl rate, both systems side by side, with the reason for each empty cell. */
function latencyTable(points: readonly Point[]): ResultTable {
  const rates = [...new Set(points.map((point) => point.ratePercentPerHour))];
  const rows = rates.map((rate) => {
    const at = points.filter((point) => point.ratePercentPerHour === rate);
    const of = (system: System) => at.find((point) => point.system === system)?.latency ?? null;
    return { rate, at, of };
  });
  return resultTable(
    {
      name: 'figure-7',
      title: 'Latency until clustered, by crawl rate',
      caption:
        'The 99th percentile (p99) is left out where it would rest on fewer than 100 documents.',
    },
    rows,
    [
      rowName(RATE, ({ rate }) => rate),
      ...SYSTEMS.flatMap((system) => [
        column<(typeof rows)[number]>(
          `${formatSystem(system)} median ms`,
          ({ of }) => of(system)?.medianMs ?? null,
        ),
        column<(typeof rows)[number]>(
          `${formatSystem(system)} p99 ms`,
          ({ of }) => of(system)?.p99Ms ?? null,
        ),
        column<(typeof rows)[number]>(
          `${formatSystem(system)} documents`,
          ({ of }) => of(system)?.count ?? null,
        ),
      ]),
      column('MapReduce / Percolator', ({ of }) => ratioOf(of('mapreduce'), of('percolator'))),
      column('verdict', ({ at }) => verdictWords(at)),
    ],
  );
}

function ratioOf(batch: Point['latency'], ours: Point['latency']): string | number | null {
  if (batch === null || ours === null) return null;
  return tooFewSamples(Math.min(batch.count, ours.count)) ?? batch.medianMs / ours.medianMs;
}

function verdictWords(points: readonly Point[]): string {
  const bad = points.filter((point) => stateOf(point) !== 'measured');
  if (bad.length === 0) return points.length > 1 ? 'both kept up' : 'kept up';
  return bad.map((point) => `${formatSystem(point.system)}: ${whyNot(point)}`).join('; ');
}

function whyNot({ verdict, verdictReason, latency }: Point): string {
  if (verdict === 'sustained' && latency === null) return 'no document was measured';
  return `${verdict === 'saturated' ? verdict : 'invalid measurement'}: ${verdictReason}`;
}

/** What two runs are compared by: a row for each repeat, from at least 30 documents. */
function mediansTable(points: readonly MeasuredPoint[]): ResultTable {
  const rows = points
    .filter(({ verdict }) => verdict !== 'invalid')
    .flatMap((point) => mediansOf(point).map((median) => ({ point, median })));
  return resultTable(
    {
      name: 'medians',
      title: 'The median latency of each repeat',
      caption: `${UNBOUNDED}: the system did not keep up. At least ${HEADLINE_SAMPLES_MIN} documents make a median here.`,
    },
    rows,
    [
      rowName('system', ({ point }) => formatSystem(point.system)),
      rowName(RATE, ({ point }) => point.ratePercentPerHour),
      column('median ms', ({ median }) => median, lower('ms')),
    ],
  );
}

function mediansOf({ verdict, latency, repeatMediansMs }: MeasuredPoint) {
  if (verdict === 'saturated') return [UNBOUNDED];
  if (latency === null || latency.count < HEADLINE_SAMPLES_MIN) return [null];
  return repeatMediansMs.length > 0 ? repeatMediansMs : [latency.medianMs];
}

/** The capacity of both systems, and the repository that they worked on. */
function repositoryTables({ repository, capacity, mapreduceModel: model }: Figure7) {
  const facts: readonly (readonly [string, number | null | undefined])[] = [
    ['documents in the repository', repository?.documents],
    ['mean cluster size', repository?.meanClusterSize],
    ['share of documents that share their cluster', repository?.nonSingletonShare],
    ['q, cost of a document in Percolator over MapReduce', capacity?.costRatio],
    [BATCH_RUN, model && model.fixedSeconds + model.perRepositorySeconds],
    ['fixed seconds of these', model?.fixedSeconds],
  ];
  const rates = [
    { system: 'Percolator', perSecond: capacity?.percolatorDocumentsPerSecond },
    { system: 'MapReduce', perSecond: capacity?.mapreduceDocumentsPerSecond },
  ];
  return [
    resultTable(
      {
        name: 'capacity',
        title: 'Documents per second',
        caption:
          'The highest rate at which Percolator clustered, and the rate at which MapReduce streams the repository.',
      },
      rates.filter(({ perSecond }) => typeof perSecond === 'number'),
      [
        rowName('system', ({ system }) => system),
        column('documents/s', ({ perSecond }) => perSecond ?? null, higher('documents/s')),
      ],
    ),
    resultTable(
      {
        name: 'repository',
        title: 'The repository, and one batch run over it',
        caption: 'The batch run is a model, fitted to the runs that were measured.',
      },
      facts.filter(([, value]) => typeof value === 'number'),
      [column('what', ([what]) => what), column('value', ([, value]) => value ?? null)],
    ),
  ];
}

/** The row of the table `repository` that has T0, in seconds. */
export const BATCH_RUN = 'seconds of one batch run over the repository (model)';

function distributionTable(points: readonly MeasuredPoint[]): ResultTable {
  return resultTable(
    {
      name: 'distribution',
      title: 'Percentiles of each point',
      caption:
        'In milliseconds. A percentile needs at least 100 documents, and one beyond it. Repeats are merged first.',
    },
    distributionsOf(points),
    [
      column('system', ({ point }) => formatSystem(point.system)),
      column(RATE, ({ point }) => point.ratePercentPerHour),
      column('documents', ({ count }) => count),
      ...PERCENTILES.map((one, i) => column<Distribution>(`p${one}`, ({ ms }) => ms[i] ?? null)),
    ],
  );
}

function backlogTable(points: readonly MeasuredPoint[]): ResultTable {
  return resultTable(
    {
      name: 'backlog',
      title: 'Documents waiting',
      caption:
        'The most documents that waited at any one time in the first repeat of each point, and the number that waited at its end.',
    },
    waitingOf(points),
    [
      column('system', ({ point }) => formatSystem(point.system)),
      column(RATE, ({ point }) => point.ratePercentPerHour),
      column('seconds', ({ rows }) => rows.at(-1)?.seconds ?? null),
      column('at most', ({ rows }) => mostWaiting(rows)),
      column('at the end', ({ rows }) => rows.at(-1)?.documents ?? null),
    ],
  );
}

function crawlTables(crawl: CrawlResult | null): readonly ResultTable[] {
  if (crawl === null) return [];
  const { crossHostDuplicates: shown } = crawl;
  const total = Math.max(crawl.crossHostDuplicateGroups, shown.length);
  const numbers: readonly (readonly [string, number])[] = [
    ['pages', crawl.pages],
    ['distinct contents', crawl.distinctContents],
    ['clusters', crawl.clusters],
    ['mean pages of a cluster', crawl.meanClusterSize],
    ['share of pages that share their cluster', crawl.nonSingletonShare],
    ['groups of duplicates across hosts', total],
    ...Object.entries(crawl.counts).map(([kind, count]) => [`records: ${kind}`, count] as const),
  ];
  return [
    resultTable(
      {
        name: 'real-crawl',
        title: 'A real crawl, clustered by the same code',
        caption: `The pages of ${crawl.file}; nothing is timed.`,
      },
      numbers,
      [column('what', ([what]) => what), column('number', ([, number]) => number)],
    ),
    resultTable(
      {
        name: 'duplicates',
        title: 'Duplicates found across hosts',
        caption: `${shown.length < total ? `The first ${shown.length} of ` : ''}${counted(total, 'groups')}: pages of several hosts in one cluster.`,
      },
      shown,
      [column('shared', ({ shares }) => shares), column('pages', ({ urls }) => urls.join(' '))],
    ),
  ];
}
