/** The findings of the crawl rate: how the systems compare, and where each stops keeping up. */
import { formatMeasured, formatRate, formatRatio, formatSystem } from '../charts/format.ts';
import type { Point, RunRecord, System } from '../run-record.ts';
import { HEADLINE_SAMPLES_MIN } from '../samples.ts';
import { documentsText, samplesOf, stateOf } from './points.ts';

export function headline(record: RunRecord): string {
  if (record.points.length === 0) return 'Nothing was measured.';
  return [
    comparison(record.points),
    wall(record.points, 'percolator'),
    wall(record.points, 'mapreduce'),
  ]
    .filter((sentence) => sentence !== null)
    .join(' ');
}

/** Compares the systems at the lowest rate at which both have enough documents. */
function comparison(points: readonly Point[]): string {
  const enough = points
    .filter(({ latency }) => latency !== null && latency.count >= HEADLINE_SAMPLES_MIN)
    .toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour);
  for (const percolator of enough.filter(({ system }) => system === 'percolator')) {
    const mapreduce = enough.find(
      ({ system, ratePercentPerHour }) =>
        system === 'mapreduce' && ratePercentPerHour === percolator.ratePercentPerHour,
    );
    if (mapreduce !== undefined) return comparisonOf(percolator, mapreduce);
  }
  return (
    'At no crawl rate do both systems have a checked latency from at least ' +
    `${documentsText(HEADLINE_SAMPLES_MIN)}.`
  );
}

function comparisonOf(percolator: Point, mapreduce: Point): string {
  const ours = percolator.latency?.medianMs ?? 0;
  const batch = mapreduce.latency?.medianMs ?? 0;
  return (
    `At a crawl rate of ${formatRate(percolator.ratePercentPerHour)}, half of the new documents ` +
    `were clustered within ${formatMeasured(ours / 1000)} by Percolator ` +
    `(${documentsText(samplesOf(percolator))}) and within ${formatMeasured(batch / 1000)} by ` +
    `MapReduce (${documentsText(samplesOf(mapreduce))}): ` +
    `Percolator was ${comparative(batch / ours)}.`
  );
}

function comparative(ratio: number): string {
  return ratio >= 1 ? `${formatRatio(ratio)} faster` : `${formatRatio(1 / ratio)} slower`;
}

/** The highest rate at which a system kept up, and the first above it at which it did not. */
function wall(points: readonly Point[], system: System): string | null {
  const rates = (state: string): number[] =>
    points
      .filter((point) => point.system === system && stateOf(point) === state)
      .map((point) => point.ratePercentPerHour)
      .toSorted((a, b) => a - b);
  const highest = rates('measured').at(-1);
  const saturated = rates('saturated');
  if (highest === undefined && saturated.length === 0) return null;
  const name = formatSystem(system);
  // A failed or an invalid point says nothing about its rate.
  const isEveryJudged = [...rates('failed'), ...rates('invalid')].length === 0;
  if (highest === undefined) {
    const where = isEveryJudged
      ? 'any of the rates tried'
      : saturated.map(formatRate).join(' and ');
    return `${name} did not keep up at ${where}.`;
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
