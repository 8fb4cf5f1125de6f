/** The charts of figure 7: latency by crawl rate, and those that show why it is so. */
import { formatDuration, formatRate, formatSystem } from '../charts/format.ts';
import { dots, line, series } from '../columns-and-series.ts';
import type { ResultChart, ResultMark, ResultSeries } from '../run-record.ts';
import {
  distributionsOf,
  type Figure7,
  type MapreduceModel,
  type MeasuredPoint,
  PERCENTILES,
  type Point,
  stateOf,
  type System,
  SYSTEMS,
  waitingOf,
} from './points.ts';

/** Numbers that the paper states about its figure 7 (section 3.1); none is read off the drawing. */
const PAPER = {
  ratePercentPerHour: 1,
  mapreduceSeconds: 30 * 60,
  /** One run of the three MapReduces: T0, by which the normalised axes are scaled. */
  mapreduceProcessingSeconds: 20 * 60,
  percolatorSeconds: 2,
  percolatorWallPercentPerHour: 40,
};

export function figure7Charts(figure: Figure7): readonly ResultChart[] {
  const { points } = figure;
  const charts = [
    latencyChart(figure),
    ...normalisedCharts(figure),
    distributionChart(points),
    costChart(points),
    backlogChart(points),
  ];
  return charts.filter((chart) => chart.series.some(({ look }) => look !== 'paper'));
}

const RATE_AXIS = 'Crawl rate, % of the repository per hour';

const GAP = { upper: 'MapReduce, median', lower: 'Percolator, median' };

function latencyChart(figure: Figure7): ResultChart {
  const ours = latencySeries(figure);
  return {
    name: 'figure-7',
    title: 'Latency until clustered, by crawl rate',
    caption: captionOf(ours),
    x: { title: RATE_AXIS, scale: 'logarithmic', ticks: [] },
    y: { title: 'Seconds until clustered', scale: 'logarithmic', ticks: [] },
    series: [...ours, ...paperSeries(ours)],
    gap: GAP,
  };
}

/** Our own series: the median, the 99th percentile and the saturated points of each system. */
function latencySeries({ points, mapreduceModel }: Figure7): readonly ResultSeries[] {
  return [
    ...SYSTEMS.flatMap((system) => systemSeries(points, system)),
    ...modelSeries(mapreduceModel, points),
  ].filter((one) => one.points.length > 0);
}

function systemSeries(all: readonly MeasuredPoint[], system: System): readonly ResultSeries[] {
  const points = all.filter((point) => point.system === system);
  const name = formatSystem(system);
  const look = system === 'percolator' ? 'percolator' : 'other';
  const sameAs = `${name}, median`;
  const at = ({ ratePercentPerHour, latency, documents }: Point) => {
    return { x: ratePercentPerHour, samples: latency?.count ?? documents };
  };
  return series(points, at, [
    line(sameAs, look, medianMark),
    { ...line(`${name}, 99th percentile`, look, p99Seconds), sameAs },
    {
      ...dots<Point>(`${name}, backlog grows`, look, (point) =>
        stateOf(point) === 'saturated' ? point.backlogGrowthPerSecond : null,
      ),
      sameAs,
      isUnbounded: true,
    },
  ]);
}

/** Each median with the range of its repeats' medians. */
function medianMark({ latency, repeatMediansMs: repeats }: MeasuredPoint) {
  if (latency === null) return null;
  const hasRange = repeats.length > 1;
  return {
    y: latency.medianMs / 1000,
    low: hasRange ? Math.min(...repeats) / 1000 : null,
    high: hasRange ? Math.max(...repeats) / 1000 : null,
  };
}

function p99Seconds({ latency }: Point): number | null {
  return latency === null || latency.p99Ms === null ? null : latency.p99Ms / 1000;
}

/** So many that no mark is drawn (charts/findings-chart.ts). */
const MODEL_STEPS = 64;

/**
 * Back-to-back runs of duration T = (F + V) / (1 - rV), where F and V are those of `MapreduceModel`
 * and r is the crawl rate in repositories per second. A document waits for the next run and then
 * for the end of that run, so its latency is uniform between T and 2T and its median 1.5 T.
 */
function modelSeries(
  model: MapreduceModel | null,
  points: readonly Point[],
): readonly ResultSeries[] {
  if (model === null) return [];
  const rates = points.map((point) => point.ratePercentPerHour);
  const from = Math.min(PAPER.ratePercentPerHour, ...rates);
  const to = Math.max(PAPER.percolatorWallPercentPerHour, ...rates);
  const steps = Array.from(
    { length: MODEL_STEPS + 1 },
    (_, i) => from * (to / from) ** (i / MODEL_STEPS),
  );
  const secondsAt = (rate: number): number | null => {
    const slack = 1 - (rate / 100 / 3600) * model.perRepositorySeconds;
    // Close to its own wall the model can give any number.
    return slack > 0.02 ? (1.5 * (model.fixedSeconds + model.perRepositorySeconds)) / slack : null;
  };
  return series(steps, (rate) => ({ x: rate }), [
    { ...line(MODEL, 'other', secondsAt), sameAs: `${formatSystem('mapreduce')}, median` },
  ]);
}

const MODEL = 'MapReduce, model of the median';

/**
 * The two latencies that the paper states, and a vertical line at its wall, with the words of its
 * numbers.
 * @param unit the seconds of one batch run, if the chart is in units of it; then there are no words
 */
function paperSeries(ours: readonly ResultSeries[], unit?: number): readonly ResultSeries[] {
  const place = (rate: number): number => (unit === undefined ? rate : arrived(rate, unit));
  const words = (said: string): string | null =>
    unit === undefined ? `the paper\u2019s ${said}` : null;
  const stated = [
    { whose: 'MapReduce', seconds: PAPER.mapreduceSeconds },
    { whose: 'Percolator', seconds: PAPER.percolatorSeconds },
  ].map(({ whose, seconds }) => ({
    y: seconds / (unit ?? 1),
    label: words(`${whose}: ${formatDuration(seconds)}`),
  }));
  const { ratePercentPerHour: rate, percolatorWallPercentPerHour: wall } = PAPER;
  const bounded = ours.flatMap(({ points, isUnbounded }) => (isUnbounded ? [] : points));
  const ys = [...bounded, ...stated].map(({ y }) => y);
  const ends = [
    { y: Math.min(...ys), label: null },
    { y: Math.max(...ys), label: words(`wall: ${formatRate(wall)}`) },
  ];
  return [
    ...series(stated, () => ({ x: place(rate) }), [
      dots('the paper, on its machines', 'paper', (one) => ({ ...one, low: null, high: null })),
    ]),
    ...series(ends, () => ({ x: place(wall) }), [
      line('the paper\u2019s wall', 'paper', (one) => ({ ...one, low: null, high: null })),
    ]),
  ];
}

/** The share of the repository that arrives in so many seconds. */
function arrived(percentPerHour: number, seconds: number): number {
  return (percentPerHour / 100) * (seconds / 3600);
}

/**
 * Everything in units of T0, one batch run over the repository: x is the fraction of the repository
 * that arrives during one batch run, rate times T0; y is the latency over T0. A laptop and the
 * paper's 240 machines then share one picture: every batch system far below its own wall has its
 * median near 1.5, and Percolator's wall is at one over its cost ratio.
 */
function normalisedCharts(figure: Figure7): readonly ResultChart[] {
  const { mapreduceModel: model } = figure;
  const unit = model === null ? 0 : model.fixedSeconds + model.perRepositorySeconds;
  if (unit <= 0) return []; // Without T0 there is no unit.
  const inRuns = (seconds: number | null): number | null =>
    seconds === null ? null : seconds / unit;
  const normalised = ({ x, y, low, high, samples }: ResultMark): ResultMark => ({
    x: arrived(x, unit),
    y: y / unit,
    low: inRuns(low),
    high: inRuns(high),
    samples: samples ?? null,
  });
  const ours = latencySeries({ ...figure, mapreduceModel: null }).map((one) =>
    Object.assign({}, one, { points: one.points.map(normalised) }),
  );
  return [
    {
      name: 'normalised',
      title: 'The same figure, independent of the machine',
      caption:
        'Everything in units of one batch run over the whole repository. This is the picture in which a laptop and the paper\u2019s cluster can be compared: every batch far below its wall has its median near 1.5 batch runs.',
      x: {
        title: 'Share of the repository that arrives during one batch run',
        scale: 'logarithmic',
        ticks: [],
      },
      y: { title: 'Latency, in batch runs', scale: 'logarithmic', ticks: [] },
      series: [...ours, ...paperSeries(ours, PAPER.mapreduceProcessingSeconds)],
      gap: GAP,
    },
  ];
}

/** One sentence for each kind of thing that the chart has. */
function captionOf(ours: readonly ResultSeries[]): string {
  const sentences: readonly (readonly [boolean, string])[] = [
    [true, 'Both axes are logarithmic. A line joins the rates at which the system kept up.'],
    [
      ours.some(({ isUnbounded }) => isUnbounded),
      'An arrow at the upper edge marks a rate at which the system did not keep up: its backlog grows, and with it the latency, without bound.',
    ],
    [true, 'The shade lies between the medians of the systems.'],
    [
      ours.some(({ points }) => points.some(({ low }) => low !== null)),
      'A bar reaches from the lowest to the highest median of the repeats.',
    ],
    [
      true,
      'Grey marks and the dashed vertical line are the numbers that the paper states for its own 240 machines: 30 min and 2 s at 1 %/h, and a wall at 40 %/h.',
    ],
    [ours.some(({ name }) => name === MODEL), 'The model of the batch is no measurement.'],
  ];
  return sentences.flatMap(([isDrawn, sentence]) => (isDrawn ? [sentence] : [])).join(' ');
}

/** The axis is log 1/(1-p), so that 90 %, 99 % and 99.9 % are equally far apart. */
function distributionChart(points: readonly MeasuredPoint[]): ResultChart {
  const place = (percentile: number): number => 1 / (1 - percentile / 100);
  const upper = PERCENTILES.filter((one) => one >= 25 && one < 100);
  const all = distributionsOf(points).flatMap(({ point, count, ms }) => {
    const shown = upper.map((one) => ({ one, y: ms[PERCENTILES.indexOf(one)] ?? null }));
    return series(shown, ({ one }) => ({ x: place(one), samples: count }), [
      line(nameOf(point), lookOf(point), ({ y }) => y),
    ]);
  });
  return {
    name: 'distribution',
    title: 'The whole distribution of each point',
    caption:
      'Repeats are merged before percentiles are taken. The lines of one crawl rate share a colour; those of MapReduce are dashed. Points of fewer than 100 documents have no line. The switches add the lines of further rates.',
    x: {
      title: 'Share of the documents clustered within that latency',
      scale: 'logarithmic',
      ticks: upper.map((one) => ({ at: place(one), label: `${one} %` })),
    },
    y: { title: 'Milliseconds until clustered', scale: 'logarithmic', ticks: [] },
    series: paired(all, tellingDistributions(points)),
  };
}

function nameOf({ system, ratePercentPerHour }: Point): string {
  return `${formatSystem(system)} at ${formatRate(ratePercentPerHour)}`;
}

function lookOf({ system }: Point): ResultSeries['look'] {
  return system === 'percolator' ? 'percolator' : 'other';
}

/**
 * Gives MapReduce's line at a rate the colour of Percolator's, if there is one. Of many lines, only
 * those of the rates that `tell` are drawn until the reader asks for others.
 */
function paired(all: readonly ResultSeries[], tell: ReadonlySet<string>): readonly ResultSeries[] {
  const names = new Set(all.map(({ name }) => name));
  const isOff = (name: string): boolean => all.length > LINES_MAX && !tell.has(name);
  return all.map((one) => {
    const ours = one.name.replace('MapReduce', 'Percolator');
    const drawn = isOff(one.name) ? { ...one, isOff: true } : one;
    return ours !== one.name && names.has(ours) ? { ...drawn, sameAs: ours } : drawn;
  });
}

/** More lines than these are a tangle. */
const LINES_MAX = 5;

/** Both systems at the lowest rate, and at the highest one at which Percolator kept up. */
function tellingDistributions(points: readonly Point[]): ReadonlySet<string> {
  const kept = points.filter((point) => stateOf(point) === 'measured');
  const ours = kept
    .filter(({ system }) => system === 'percolator')
    .map(({ ratePercentPerHour }) => ratePercentPerHour);
  const rates = new Set([Math.min(...ours), Math.max(...ours)]);
  return new Set(kept.filter((point) => rates.has(point.ratePercentPerHour)).map(nameOf));
}

/** Each system at its highest rate, and Percolator at the highest at which it kept up. */
function tellingBacklogs(points: readonly Point[]): ReadonlySet<string> {
  const highest = (of: readonly Point[]): readonly Point[] =>
    of.toSorted((a, b) => b.ratePercentPerHour - a.ratePercentPerHour).slice(0, 1);
  const bySystem = SYSTEMS.map((system) => points.filter((point) => point.system === system));
  const kept = points.filter((one) => one.system === 'percolator' && stateOf(one) === 'measured');
  return new Set([...bySystem, kept].flatMap(highest).map(nameOf));
}

function costChart(points: readonly Point[]): ResultChart {
  const known = points.filter(({ cpuSecondsPerDocument: cost }) => cost !== null && cost > 0);
  const cost = (system: System) => (point: Point) =>
    point.system === system ? 1000 * (point.cpuSecondsPerDocument ?? 0) : null;
  const at = (point: Point) => ({ x: point.ratePercentPerHour, samples: point.documents });
  return {
    name: 'cost',
    title: 'The cost of a new document',
    caption:
      'CPU time of all processes of a system. The batch reads the whole repository however few documents have arrived; Percolator pays per document. Where the lines cross, the batch becomes cheaper.',
    x: { title: RATE_AXIS, scale: 'logarithmic', ticks: [] },
    y: { title: 'CPU time per new document, ms', scale: 'logarithmic', ticks: [] },
    series: series(known, at, [
      line('Percolator', 'percolator', cost('percolator')),
      line('MapReduce', 'other', cost('mapreduce')),
    ]).filter(({ points: marks }) => marks.length > 0),
  };
}

/** Most marks of a line of the backlog: a day has more samples than a chart can show. */
const BACKLOG_MARKS = 120;

function backlogChart(points: readonly MeasuredPoint[]): ResultChart {
  const all = waitingOf(points).flatMap(({ point, rows }) => {
    const every = Math.ceil(rows.length / BACKLOG_MARKS);
    const shown = rows.filter((_, i) => i % every === 0 || i === rows.length - 1);
    return series(shown, ({ seconds }) => ({ x: seconds }), [
      line(nameOf(point), lookOf(point), ({ documents }) => documents),
    ]);
  });
  return {
    name: 'backlog',
    title: 'Documents waiting, over the time of a point',
    caption:
      'Each line is the first repeat of a point. If it stays level, the system kept up in that repeat; if it climbs, the system has no latency to report. MapReduce\u2019s line falls when a run ends, and is level if its peaks are. The lines of one crawl rate share a colour; those of MapReduce are dashed. The switches add the lines of further rates.',
    x: { title: 'Seconds since the point began', scale: 'linear', ticks: [] },
    y: { title: 'Documents waiting', scale: 'linear', ticks: [] },
    series: paired(all, tellingBacklogs(points)),
  };
}
