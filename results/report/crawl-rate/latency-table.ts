/**
 * The table of figure 7: one row per crawl rate, both systems side by side, each latency with its
 * number of documents, and the reason for each empty cell.
 */
import { formatBacklogGrowth, formatMeasured, formatRate, formatRatio } from '../charts/format.ts';
import { formatSystem } from '../charts/format.ts';
import { html, type Html } from '../page/html.ts';
import { verdict, type Cell, type PageTable } from '../page/table.ts';
import type { Point, System } from '../run-record.ts';
import { tooFewSamples } from '../samples.ts';
import { byRate, documentsText, medianSeconds, p99Seconds } from './points.ts';
import { samplesOf, stateOf, SYSTEMS } from './points.ts';

export function latencyTable(points: readonly Point[]): PageTable {
  const rates = [...new Set(byRate(points).map((point) => point.ratePercentPerHour))];
  return {
    name: 'latencies',
    file: 'points.csv',
    title: 'Latency until clustered',
    caption:
      'The 99th percentile (p99) is left out where it would rest on fewer than 100 documents.',
    columns: [
      'Crawl rate',
      ...SYSTEMS.flatMap((system) =>
        ['median', 'p99', 'documents'].map((what) => `${formatSystem(system)} ${what}`),
      ),
      'MapReduce / Percolator',
      'Verdict',
    ],
    rows: rates.map((rate) =>
      rowOf(
        rate,
        points.filter((point) => point.ratePercentPerHour === rate),
      ),
    ),
  };
}

function rowOf(rate: number, points: readonly Point[]): readonly Cell[] {
  const of = (system: System): Point | undefined => points.find((point) => point.system === system);
  return [
    formatRate(rate),
    ...SYSTEMS.flatMap((system) => cellsOf(of(system))),
    ratioOf(of('mapreduce')?.latency, of('percolator')?.latency),
    verdictOf(points),
  ];
}

function ratioOf(batch: Point['latency'] | undefined, ours: Point['latency'] | undefined): string {
  if (!batch || !ours) return '\u2013';
  const few = tooFewSamples(Math.min(batch.count, ours.count));
  return few ?? formatRatio(batch.medianMs / ours.medianMs);
}

function cellsOf(point: Point | undefined): readonly Cell[] {
  if (point === undefined || point.latency === null) return ['\u2013', '\u2013', '\u2013'];
  const p99 = p99Seconds(point);
  return [
    formatMeasured(medianSeconds(point) ?? 0),
    p99 === null ? '\u2013' : formatMeasured(p99),
    samplesOf(point),
  ];
}

function verdictOf(points: readonly Point[]): Html {
  const bad = points.filter((point) => stateOf(point) !== 'measured');
  if (bad.length === 0) return verdict(true, points.length > 1 ? 'both kept up' : 'kept up');
  const words = bad.map((point) => `${formatSystem(point.system)}: ${stateWords(point)}`);
  return verdict(false, words.join('; '));
}

function stateWords(point: Point): string {
  return {
    measured: 'kept up',
    saturated: 'saturated',
    failed: 'check failed',
    invalid: 'invalid measurement',
  }[stateOf(point)];
}

/** The points without a latency or with a note, each with its reason; null if there are none. */
export function pointRemarks(points: readonly Point[]): Html | null {
  const remarks = byRate(points).flatMap((point) => {
    const reasons = [...reasonsOf(point), ...point.notes];
    return reasons.length === 0 ? [] : [{ point, reasons }];
  });
  if (remarks.length === 0) return null;
  return html`<ul class="remarks">
    ${remarks.map(
      ({ point, reasons }) =>
        html`<li>
          <strong>${formatSystem(point.system)} at ${formatRate(point.ratePercentPerHour)}:</strong>
          ${reasons.join(' ')}
        </li>`,
    )}
  </ul>`;
}

function reasonsOf(point: Point): readonly string[] {
  if (!point.check.passed) return [`The check failed. ${point.check.detail}`];
  if (point.verdict === 'saturated') {
    return [`${point.verdictReason}; ${formatBacklogGrowth(point.backlogGrowthPerSecond)}`];
  }
  if (point.verdict === 'invalid') return [point.verdictReason];
  if (point.latency === null) return ['No document was measured.'];
  return p99Seconds(point) === null
    ? [`${documentsText(point.latency.count)}: too few for a 99th percentile.`]
    : [];
}
