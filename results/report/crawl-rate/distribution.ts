/**
 * The whole distribution of each point: latency against percentile, as HdrHistogram draws it.
 *
 * The axis is log 1/(1-p), so that 90 %, 99 % and 99.9 % are equally far apart; a curve ends where
 * less than one document lies beyond. A colour is a crawl rate, a style of line is a system.
 */
import type { ChartSeries, Marker } from '../charts/chart.ts';
import { formatMeasured, formatRate, formatSystem } from '../charts/format.ts';
import { durationTicks, percentileTicks } from '../charts/ticks.ts';
import { percentileMs } from '../histogram.ts';
import type { MeasuredLatency } from '../run-from-files.ts';
import type { ChartWithTable } from '../page/chart-section.ts';
import type { ResultTable } from '../run-record.ts';
import { PERCENTILE_SAMPLES_MIN, statedPercentileMs } from '../samples.ts';
import { documentsText } from './points.ts';

const STEPS = 60;

/** Null if no point has enough documents. */
export function distributionFigure(all: readonly MeasuredLatency[]): ChartWithTable | null {
  const latencies = all
    .filter(({ histogram }) => histogram.totalCount >= PERCENTILE_SAMPLES_MIN)
    .toSorted((a, b) => a.point.ratePercentPerHour - b.point.ratePercentPerHour);
  if (latencies.length === 0) return null;
  const rates = [...new Set(latencies.map(({ point }) => point.ratePercentPerHour))];
  return {
    chart: {
      name: 'distribution',
      title: 'The whole distribution of each point',
      caption:
        'Repeats are merged before percentiles are taken. Lines of one crawl rate share one of ' +
        'six colours and marks; Percolator\u2019s lines are solid, MapReduce\u2019s dashed. A ' +
        'curve ends where less than one document lies beyond; points of fewer than 100 documents ' +
        'have none.',
      x: {
        title: 'Share of the documents clustered within that latency',
        scale: 'logarithmic',
        ticks: percentileTicks(),
      },
      y: { title: 'Latency until clustered', scale: 'logarithmic', ticks: durationTicks() },
      series: latencies.map((one) => curveOf(one, rates.indexOf(one.point.ratePercentPerHour))),
    },
    table: {
      name: 'distribution',
      file: 'latency-percentiles.csv',
      title: 'Percentiles of each point',
      caption: 'A percentile needs at least 100 documents, and one beyond it.',
      columns: ['System', 'Crawl rate', ...PERCENTILES.map((one) => `p${one}`), 'Documents'],
      rows: latencies.map(rowOf),
    },
  };
}

const PERCENTILES = [50, 90, 99, 99.9, 99.99];

function rowOf({ point, histogram }: MeasuredLatency): ResultTable['rows'][number] {
  const percentiles = PERCENTILES.map((one) => durationText(statedPercentileMs(histogram, one)));
  const rate = formatRate(point.ratePercentPerHour);
  return [formatSystem(point.system), rate, ...percentiles, histogram.totalCount];
}

/** Shape and colour of a series by its rank, so that twelve curves can be told apart. */
export function lookOf(rank: number): { readonly color: number; readonly marker: Marker } {
  const markers: readonly Marker[] = ['circle', 'rect', 'triangle', 'rectRot', 'crossRot', 'star'];
  return { color: rank, marker: markers[rank % markers.length] ?? 'circle' };
}

function curveOf({ point, histogram }: MeasuredLatency, rank: number): ChartSeries {
  const { system, ratePercentPerHour } = point;
  const count = documentsText(histogram.totalCount);
  const nines = Math.log10(histogram.totalCount);
  const steps = Array.from({ length: STEPS + 1 }, (_, step) => 10 ** ((nines * step) / STEPS));
  return {
    ...lookOf(rank),
    name: `${formatSystem(system)} at ${formatRate(ratePercentPerHour)}`,
    line: system === 'percolator' ? 'solid' : 'dashed',
    markEvery: 12,
    marks: steps.slice(1).map((x) => {
      const percentile = 100 - 100 / x;
      const seconds = percentileMs(histogram, percentile) / 1000;
      const words = [`${percentileText(percentile)} within ${formatMeasured(seconds)}`, count];
      return { x, y: seconds, words };
    }),
  };
}

/** A percentile with enough digits to differ from 100 %. */
function percentileText(percentile: number): string {
  const digits = Math.max(0, Math.ceil(-Math.log10(1 - percentile / 100)) - 1);
  return `${percentile.toFixed(digits)} %`;
}

function durationText(ms: number | null): string | null {
  return ms === null ? null : formatMeasured(ms / 1000);
}
