/** CPU time per new document against crawl rate; it shows where the batch becomes cheaper. */
import type { ChartSeries } from '../charts/chart.ts';
import { formatMeasured, formatRate, formatSystem } from '../charts/format.ts';
import { durationTicks, rateTicks } from '../charts/ticks.ts';
import type { ChartWithTable } from '../page/chart-section.ts';
import type { Point, RunRecord, System } from '../run-record.ts';
import { byRate, curveOver, LOOKS, SYSTEMS } from './points.ts';

/** Null if no point that passed its check has a cost. */
export function costFigure(record: RunRecord): ChartWithTable | null {
  const points = byRate(record.points);
  const known = points.filter((point) => (costOf(point) ?? 0) > 0);
  if (known.length === 0) return null;
  const series = SYSTEMS.map((system) => seriesOf(points, system));
  return {
    chart: {
      name: 'cost',
      title: 'The cost of a new document',
      caption:
        'The batch reads the whole repository however few documents have arrived; Percolator pays ' +
        'per document. Where the lines cross, the batch becomes cheaper.',
      x: {
        title: 'Crawl rate, % of the repository per hour',
        scale: 'logarithmic',
        ticks: rateTicks(),
      },
      y: { title: 'CPU time per new document', scale: 'logarithmic', ticks: durationTicks() },
      series: series.filter(({ marks }) => marks.length > 0),
    },
    table: {
      name: 'cost',
      file: 'points.csv',
      title: 'CPU time per new document',
      caption:
        'CPU time of all processes of the system, divided by the number of new documents clustered.',
      columns: ['System', 'Crawl rate', 'CPU time per new document', 'Documents'],
      rows: known.map((point) => [
        formatSystem(point.system),
        formatRate(point.ratePercentPerHour),
        formatMeasured(costOf(point) ?? 0),
        point.documents,
      ]),
    },
  };
}

function seriesOf(points: readonly Point[], system: System): ChartSeries {
  return {
    ...LOOKS[system],
    name: formatSystem(system),
    line: 'solid',
    marks: curveOver(
      points.filter((point) => point.system === system),
      costOf,
      (seconds) => `${formatMeasured(seconds)} of CPU a document`,
    ),
  };
}

function costOf(point: Point): number | null {
  return point.check.passed ? point.cpuSecondsPerDocument : null;
}
