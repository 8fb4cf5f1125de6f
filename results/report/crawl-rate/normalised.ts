/**
 * Figure 7 independent of the machine: everything in units of T0, one batch run over the
 * repository.
 *
 * x is the fraction of the repository that arrives during one batch run, rate times T0; y is the
 * latency over T0. A laptop and the paper's 240 machines then share one picture: every batch system
 * far below its own wall has its median near 1.5, and Percolator's wall is at one over its cost
 * ratio.
 */
import type { Chart, ChartMark, ChartSeries } from '../charts/chart.ts';
import { formatDigits, formatRate, formatShare, formatSystem } from '../charts/format.ts';
import { shareTicks } from '../charts/ticks.ts';
import type { ChartWithTable } from '../page/chart-section.ts';
import type { ResultTable, RunRecord } from '../run-record.ts';
import { latencySeries } from './figure-7.ts';
import { PAPER, PAPER_SERIES } from './paper.ts';
import { byRate, medianSeconds, p99Seconds, samplesOf, stateOf } from './points.ts';

/** Null if no batch model was fitted: without T0 there is no unit. */
export function normalisedFigure(record: RunRecord): ChartWithTable | null {
  const model = record.mapreduceModel;
  const unit = model === null ? 0 : model.fixedSeconds + model.perRepositorySeconds;
  if (unit <= 0) return null;
  const chart: Chart = {
    name: 'normalised',
    title: 'The same figure, independent of the machine',
    caption:
      'Everything in units of one batch run over the whole repository. This is the picture in ' +
      'which a laptop and the paper\u2019s cluster can be compared: every batch far below its ' +
      'wall has its median near 1.5 batch runs.',
    x: {
      title: 'Share of the repository that arrives during one batch run',
      scale: 'logarithmic',
      ticks: shareTicks(),
    },
    y: { title: 'Latency, in batch runs', scale: 'logarithmic', ticks: [] },
    series: [...latencySeries(record).map((series) => scaled(series, unit)), paperSeries()],
  };
  return { chart, table: tableOf(record, unit) };
}

/** The fraction of the repository that arrives during a batch run of `seconds`. */
function arrivedPerRun(percentPerHour: number, seconds: number): number {
  return (percentPerHour / 100) * (seconds / 3600);
}

function scaled(series: ChartSeries, unit: number): ChartSeries {
  const marks = series.marks.map(({ x, y, low, high, words }): ChartMark => {
    const arrived = arrivedPerRun(x, unit);
    const runs = y === null ? [] : [`${formatDigits(y / unit)} batch runs`];
    const inRuns = (seconds: number | null | undefined): number | null =>
      seconds === null || seconds === undefined ? null : seconds / unit;
    return {
      x: arrived,
      y: inRuns(y),
      low: inRuns(low),
      high: inRuns(high),
      words: [...words, ...runs, `${formatShare(arrived)} arrives during a batch run`],
    };
  });
  return { ...series, marks };
}

function paperSeries(): ChartSeries {
  const unit = PAPER.mapreduceProcessingSeconds;
  const x = arrivedPerRun(PAPER.ratePercentPerHour, unit);
  const mark = (name: string, seconds: number): ChartMark => ({
    x,
    y: seconds / unit,
    words: [`${name}: ${formatDigits(seconds / unit)} batch runs of 20 min`],
  });
  return {
    ...PAPER_SERIES,
    marks: [mark('MapReduce', PAPER.mapreduceSeconds), mark('Percolator', PAPER.percolatorSeconds)],
    wall: {
      x: arrivedPerRun(PAPER.percolatorWallPercentPerHour, unit),
      text: 'the paper\u2019s wall',
    },
  };
}

function tableOf({ points }: RunRecord, unit: number): ResultTable {
  const inRuns = (seconds: number | null): number | null =>
    seconds === null ? null : seconds / unit;
  return {
    name: 'normalised',
    title: 'Latency in batch runs',
    caption: 'An empty cell has no checked latency, or too few documents for a 99th percentile.',
    columns: ['System', 'Crawl rate', 'Arrives during a run', 'Median', 'p99', 'Documents'],
    rows: byRate(points)
      .filter((point) => stateOf(point) === 'measured')
      .map((point) => [
        formatSystem(point.system),
        formatRate(point.ratePercentPerHour),
        formatShare(arrivedPerRun(point.ratePercentPerHour, unit)),
        inRuns(medianSeconds(point)),
        inRuns(p99Seconds(point)),
        samplesOf(point),
      ]),
  };
}
