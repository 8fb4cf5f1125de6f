/** The findings in two sentences, and their limitations. */
import { stateOf } from '../charts/build-chart-data.ts';
import { formatMeasured, formatRate, formatRatio, formatSystem } from '../charts/format.ts';
import type { Point, RunRecord, System } from '../run-record.ts';

export function headline(record: RunRecord): string {
  return [
    comparison(record.points),
    wall(record.points, 'percolator'),
    wall(record.points, 'mapreduce'),
  ]
    .filter((sentence) => sentence !== null)
    .join(' ');
}

/** Compares the systems at the lowest rate at which both have a latency, as the paper does. */
function comparison(points: readonly Point[]): string {
  const pairs = points
    .filter((point) => point.system === 'percolator')
    .flatMap((percolator) => {
      const mapreduce = points.find(
        (point) =>
          point.system === 'mapreduce' &&
          point.ratePercentPerHour === percolator.ratePercentPerHour,
      );
      const ours = percolator.latency?.medianMs ?? 0;
      const batch = mapreduce?.latency?.medianMs ?? 0;
      return ours > 0 && batch > 0 ? [{ rate: percolator.ratePercentPerHour, ours, batch }] : [];
    })
    .toSorted((a, b) => a.rate - b.rate);
  const [lowest] = pairs;
  if (lowest === undefined) return 'No crawl rate has a checked latency of both systems.';
  const { rate, ours, batch } = lowest;
  return (
    `At a crawl rate of ${formatRate(rate)}, half of the new documents were clustered within ` +
    `${formatMeasured(ours / 1000)} by Percolator and within ${formatMeasured(batch / 1000)} by ` +
    `MapReduce: Percolator was ${comparative(batch / ours)}.`
  );
}

function comparative(ratio: number): string {
  return ratio >= 1 ? `${formatRatio(ratio)} faster` : `${formatRatio(1 / ratio)} slower`;
}

/** The highest rate at which a system kept up, and the first at which it did not. */
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
  if (highest === undefined) return `${name} did not keep up at any of the rates tried.`;
  const above = saturated.find((rate) => rate > highest);
  const below = saturated.filter((rate) => rate < highest).map(formatRate);
  if (above === undefined && below.length === 0) {
    return `${name} kept up at every rate tried, up to ${formatRate(highest)}.`;
  }
  const except = below.length === 0 ? '' : `, except at ${below.join(' and ')}`;
  const end = above === undefined ? '' : `; at ${formatRate(above)} its backlog grew`;
  return `${name} kept up with rates up to ${formatRate(highest)}${except}${end}.`;
}

/** The run's own limitations, after those derived from its record. */
export function limitations(record: RunRecord): readonly string[] {
  return [...derivedLimitations(record), ...record.limitations];
}

function derivedLimitations(record: RunRecord): readonly string[] {
  const { commit } = record.environment;
  const failed = record.points.filter((point) => stateOf(point) === 'failed').length;
  const invalid = record.points.filter((point) => stateOf(point) === 'invalid').length;
  const found: readonly (string | null)[] = [
    record.state === 'finished'
      ? null
      : 'The run did not finish; the numbers below are those it had measured.',
    failed > 0 ? `${countedPoints(failed)} failed its check and so has no numbers.` : null,
    invalid > 0
      ? `${countedPoints(invalid)} could not be measured properly and so has no latency.`
      : null,
    record.label === 'exploratory'
      ? 'Each point was measured once, so the spread between runs is unknown: the run is exploratory.'
      : null,
    commit === null
      ? 'The run was not made from a git checkout; its code is not identified.'
      : null,
    commit?.dirty === true ? 'The code differed from its commit when the run was made.' : null,
  ];
  return found.filter((sentence) => sentence !== null);
}

function countedPoints(count: number): string {
  return count === 1 ? 'One point' : `Each of ${count} points`;
}
