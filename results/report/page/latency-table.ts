/**
 * The table of figure 7: one row per crawl rate, both systems side by side, and the reason for each
 * empty cell.
 */
import { stateOf } from '../charts/build-chart-data.ts';
import { formatBacklogGrowth, formatMeasured, formatRate, formatRatio } from '../charts/format.ts';
import { formatSystem } from '../charts/format.ts';
import type { Point, System } from '../run-record.ts';
import { html, type Html } from './html.ts';

export function latencyTable(points: readonly Point[]): Html {
  const rates = [...new Set(points.map((point) => point.ratePercentPerHour))].toSorted(
    (a, b) => a - b,
  );
  return html`<div class="scroll">
    <table id="latencies">
      <thead>
        <tr>
          <th rowspan="2" class="number">Crawl rate</th>
          <th colspan="2" class="mapreduce">MapReduce</th>
          <th colspan="2" class="percolator">Percolator</th>
          <th rowspan="2" class="number">MapReduce /<br />Percolator</th>
          <th rowspan="2">Verdict</th>
        </tr>
        <tr>
          <th class="number">median</th>
          <th class="number">p99</th>
          <th class="number">median</th>
          <th class="number">p99</th>
        </tr>
      </thead>
      <tbody>
        ${rates.map((rate) =>
          row(
            points.filter((point) => point.ratePercentPerHour === rate),
            rate,
          ),
        )}
      </tbody>
    </table>
  </div>`;
}

function row(points: readonly Point[], rate: number): Html {
  const of = (system: System): Point | undefined => points.find((point) => point.system === system);
  const mapreduce = of('mapreduce');
  const percolator = of('percolator');
  const batch = mapreduce?.latency?.medianMs ?? 0;
  const ours = percolator?.latency?.medianMs ?? 0;
  return html`<tr>
    <th scope="row" class="number">${formatRate(rate)}</th>
    ${cells(mapreduce)} ${cells(percolator)}
    <td class="number">${batch > 0 && ours > 0 ? formatRatio(batch / ours) : '\u2013'}</td>
    <td>${verdict(points)}</td>
  </tr>`;
}

/** Two cells with a latency, or one across both with the reason why there is none. */
function cells(point: Point | undefined): Html {
  if (point === undefined) return html`<td class="none" colspan="2">not measured</td>`;
  const state = stateOf(point);
  if (state === 'failed') return html`<td class="bad" colspan="2">check failed</td>`;
  if (state === 'invalid') return html`<td class="bad" colspan="2">invalid measurement</td>`;
  if (state === 'saturated' || point.latency === null) {
    return html`<td class="bad" colspan="2">
      <span class="infinite">∞</span> ${formatBacklogGrowth(point.backlogGrowthPerSecond)}
    </td>`;
  }
  const { medianMs, p99Ms } = point.latency;
  return html`<td class="number" title="${spread(point)}">${formatMeasured(medianMs / 1000)}</td>
    <td class="number">${formatMeasured(p99Ms / 1000)}</td>`;
}

function spread(point: Point): string {
  const medians = point.repeatMediansMs.map((ms) => ms / 1000);
  if (medians.length < 2) return '';
  const [low, high] = [Math.min(...medians), Math.max(...medians)];
  return `${medians.length} repeats: from ${formatMeasured(low)} to ${formatMeasured(high)}`;
}

function verdict(points: readonly Point[]): Html {
  const bad = points.filter((point) => stateOf(point) !== 'measured');
  if (bad.length === 0) {
    return html`<span class="ok">${points.length > 1 ? 'both kept up' : 'kept up'}</span>`;
  }
  return html`${bad.map(
    (point) =>
      html`<span class="bad">${formatSystem(point.system)}: ${STATE_WORDS[stateOf(point)]}</span> `,
  )}`;
}

const STATE_WORDS = {
  measured: 'kept up',
  saturated: 'saturated',
  failed: 'check failed',
  invalid: 'invalid',
} as const;

/** The points without a latency or with a note, each with its reason; null if there are none. */
export function pointRemarks(points: readonly Point[]): Html | null {
  const remarks = points
    .toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour)
    .flatMap((point) => {
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
  return point.verdict === 'sustained' ? [] : [point.verdictReason];
}
