/**
 * Figure 7: latency against crawl rate, ours and the paper's.
 *
 *   solid line, filled marks     our median
 *   dashed line, hollow marks    our 99th percentile, of at least a hundred documents
 *   dotted line                  the batch model, where one was fitted
 *   arrow at the upper edge      saturated: the backlog grows, and the latency with it
 *   grey, hollow                 figures that the paper states for its own machines
 *
 * Failed and invalid points are not drawn; the table names them.
 */
import type { Chart, ChartMark, ChartSeries } from '../charts/chart.ts';
import { formatBacklogGrowth, formatDuration, formatRate, formatSystem } from '../charts/format.ts';
import { formatMeasured } from '../charts/format.ts';
import { durationTicks, rateTicks } from '../charts/ticks.ts';
import type { MapreduceModel, Point, RunRecord, System } from '../run-record.ts';
import { PAPER, PAPER_SERIES } from './paper.ts';
import { byRate, curveOver, LOOKS, medianSeconds, p99Seconds, stateOf, SYSTEMS } from './points.ts';

export function figure7(record: RunRecord): Chart {
  const series = [...latencySeries(record), paperSeries()];
  return {
    name: 'figure-7',
    title: 'Latency until clustered, by crawl rate',
    caption: captionOf(series),
    x: {
      title: 'Crawl rate, % of the repository per hour',
      scale: 'logarithmic',
      ticks: rateTicks(),
    },
    y: { title: 'Latency until clustered', scale: 'logarithmic', ticks: durationTicks() },
    series,
  };
}

/** Our own series: the median, the 99th percentile and the saturated points of each system. */
export function latencySeries(record: RunRecord): readonly ChartSeries[] {
  const points = byRate(record.points);
  const all = [
    ...SYSTEMS.flatMap((system) => systemSeries(points, system)),
    ...modelSeries(record.mapreduceModel, points),
  ];
  return all.filter(({ marks }) => marks.length > 0);
}

function systemSeries(all: readonly Point[], system: System): readonly ChartSeries[] {
  const points = all.filter((point) => point.system === system);
  const name = formatSystem(system);
  return [
    {
      ...LOOKS[system],
      name: `${name}, median`,
      line: 'solid',
      marks: mediansOf(points),
    },
    {
      ...LOOKS[system],
      name: `${name}, 99th percentile`,
      line: 'dashed',
      isHollow: true,
      marks: curveOver(points, p99Seconds, formatMeasured),
    },
    {
      ...LOOKS[system],
      name: `${name}, backlog grows`,
      line: 'none',
      isOnEdge: true,
      marks: points.filter((point) => stateOf(point) === 'saturated').map(saturatedMark),
    },
  ];
}

/** Each median with the range of its repeats' medians. */
function mediansOf(points: readonly Point[]): readonly ChartMark[] {
  const marks = curveOver(points, medianSeconds, formatMeasured);
  return marks.map((mark, i) => withRange(mark, points[i]?.repeatMediansMs ?? []));
}

function withRange(mark: ChartMark, repeatMediansMs: readonly number[]): ChartMark {
  if (mark.y === null || repeatMediansMs.length < 2) return mark;
  const low = Math.min(...repeatMediansMs) / 1000;
  const high = Math.max(...repeatMediansMs) / 1000;
  const range = `${formatMeasured(low)} to ${formatMeasured(high)}`;
  return {
    ...mark,
    low,
    high,
    words: [...mark.words, `${repeatMediansMs.length} repeats: ${range}`],
  };
}

/** Only the first mark of a series has a label: it names the system. */
function saturatedMark(point: Point, index: number): ChartMark {
  const words = [
    `at ${formatRate(point.ratePercentPerHour)}: saturated, no latency`,
    formatBacklogGrowth(point.backlogGrowthPerSecond),
  ];
  const label =
    index === 0 ? { label: [`${formatSystem(point.system)}: backlog grows`] } : undefined;
  return { x: point.ratePercentPerHour, y: null, words, ...label };
}

/**
 * Back-to-back runs of duration T = (F + V) / (1 - rV), where F and V are those of `MapreduceModel`
 * and r is the crawl rate in repositories per second. A document waits for the next run and then
 * for the end of that run, so its latency is uniform between T and 2T and its median 1.5 T.
 */
function modelSeries(
  model: MapreduceModel | null,
  points: readonly Point[],
): readonly ChartSeries[] {
  if (model === null) return [];
  const rates = points.map((point) => point.ratePercentPerHour);
  const from = Math.min(PAPER.ratePercentPerHour, ...rates);
  const to = Math.max(PAPER.percolatorWallPercentPerHour, ...rates);
  const steps = Array.from({ length: 101 }, (_, step) => from * (to / from) ** (step / 100));
  const marks = steps.flatMap((rate): readonly ChartMark[] => {
    const slack = 1 - (rate / 100 / 3600) * model.perRepositorySeconds;
    const seconds = (1.5 * (model.fixedSeconds + model.perRepositorySeconds)) / slack;
    const words = [`at ${formatRate(rate)}: ${formatMeasured(seconds)}`, 'a model, not measured'];
    // Close to its own wall the model can give any number.
    return slack > 0.02 ? [{ x: rate, y: seconds, words }] : [];
  });
  const look = { ...LOOKS.mapreduce, line: 'dotted', markEvery: 0 } as const;
  return [{ ...look, name: 'MapReduce, model of the median', marks }];
}

function paperSeries(): ChartSeries {
  const { ratePercentPerHour: x, percolatorWallPercentPerHour: wall } = PAPER;
  const batch = formatDuration(PAPER.mapreduceSeconds);
  const processing = formatDuration(PAPER.mapreduceProcessingSeconds);
  const percolator = formatDuration(PAPER.percolatorSeconds);
  return {
    ...PAPER_SERIES,
    marks: [
      {
        x,
        y: PAPER.mapreduceSeconds,
        words: [`MapReduce: about ${batch}, ${processing} of it processing`],
        label: [`the paper\u2019s MapReduce: ${batch}`],
      },
      {
        x,
        y: PAPER.percolatorSeconds,
        words: [`Percolator: ${percolator}`],
        label: [`the paper\u2019s Percolator: ${percolator}`],
      },
    ],
    wall: { x: wall, text: `the paper\u2019s wall: ${formatRate(wall)}` },
  };
}

/** One sentence for each kind of thing that the chart has. */
function captionOf(series: readonly ChartSeries[]): string {
  const sentences: readonly (readonly [boolean, string])[] = [
    [true, 'Both axes are logarithmic.'],
    [
      series.some((one) => one.isOnEdge),
      'An arrow at the upper edge marks a rate at which the system did not keep up: its backlog ' +
        'grows, and with it the latency, without bound.',
    ],
    [
      series.some(({ marks }) => marks.some(({ low }) => low !== undefined)),
      'A bar reaches from the lowest to the highest median of the repeats.',
    ],
    [
      series.some(({ color }) => color === 'paper'),
      'Grey marks and the dashed vertical line are the numbers that the paper states for its own ' +
        '240 machines.',
    ],
    [
      series.some(({ line }) => line === 'dotted'),
      'The dotted line is a model of the batch, not a measurement.',
    ],
  ];
  return sentences.flatMap(([isDrawn, sentence]) => (isDrawn ? [sentence] : [])).join(' ');
}
