/** The result of a search for settings, for the report and in words. */
import type { FindingsParts, ResultChart, ResultSeries, ResultTable } from '#results';
import type { Estimate } from '../../harness/statistics/ratio.ts';
import { DEFAULTS, nameOf } from './candidates.ts';
import { asConfig, type EngineValues } from '../../harness/engine-settings.ts';
import { rounded } from '../../harness/statistics/rounded.ts';
import {
  type SearchResult,
  isSignificant,
  type Objective,
  paretoFront,
  type TriedSettings,
} from './search.ts';

export interface TuneResult {
  readonly workload: string;
  readonly unit: string;
  readonly objective: Objective;
  readonly found: SearchResult;
}

/** The recommended settings: the winner if it is significantly better, otherwise the defaults. */
export function recommended({ winner, gain }: SearchResult): EngineValues {
  return gain !== null && isSignificant(gain) && gain.value > 1 ? winner : DEFAULTS;
}

/** The certainty of the recommendation, in one or two sentences. */
export function certaintyOf({ found, objective }: TuneResult): string {
  const { winner, gain, winnerTrials } = found;
  if (gain === null) return 'No settings did better than the defaults. Keep the defaults.';
  const what = objective === 'throughput' ? 'throughput' : 'speed (one at a time)';
  const words = `${times(gain)} the ${what} of the defaults, over ${winnerTrials.length} pairs of trials on fresh data`;
  if (!isSignificant(gain)) {
    return `No significant difference: the best candidate (${nameOf(winner)}) reached ${words}. Keep the defaults.`;
  }
  return gain.value > 1
    ? `The best candidate reached ${words}.`
    : `The best candidate was worse in the final trials: ${words}. Keep the defaults.`;
}

export function configText(found: SearchResult): string {
  return `${JSON.stringify(asConfig(recommended(found)), null, 2)}\n`;
}

export function findingsOf(result: TuneResult): FindingsParts {
  const { found } = result;
  return {
    headline: `${certaintyOf(result)} Recommended: ${nameOf(recommended(found))}, as in config.json.`,
    check: { passed: true, detail: 'the result of each trial was checked before it counted' },
    tables: [triedTable(result), ...(found.gain === null ? [] : [finalTable(result)])],
    charts: [paretoChart(result)],
    targets: [],
  };
}

function times({ value, low, high }: Estimate): string {
  const interval =
    low === null || high === null ? '' : ` (95 %: ${low.toFixed(2)} to ${high.toFixed(2)})`;
  return `${value.toFixed(2)} times${interval}`;
}

function triedTable({ unit, found }: TuneResult): ResultTable {
  const front = new Set(paretoFront(found.tried));
  const rows = found.tried
    .toSorted((a, b) => b.trial.perSecond - a.trial.perSecond)
    .map((one) => [
      nameOf(one.values),
      Math.round(one.trial.perSecond),
      rounded(one.trial.latencyMs),
      rounded(one.seconds, 3),
      front.has(one) ? 'yes' : 'no',
    ]);
  return {
    name: 'candidates',
    title: 'Candidates',
    caption:
      'Each row is the longest trial of its settings. Short trials are noisy; only the final pairs decide.',
    columns: [
      'settings',
      `${unit} per second`,
      'median ms, one at a time',
      'seconds',
      'on the front',
    ],
    rows,
  };
}

function finalTable({ unit, found }: TuneResult): ResultTable {
  const { winnerTrials, defaultTrials } = found;
  return {
    name: 'final-pairs',
    title: 'The best candidate and the defaults, in turns',
    caption: `The best candidate: ${nameOf(found.winner)}.`,
    columns: [
      'pair',
      `best: ${unit} per second`,
      `defaults: ${unit} per second`,
      'best: median ms, one at a time',
      'defaults: median ms, one at a time',
    ],
    rows: winnerTrials.map((trial, i) => [
      i + 1,
      Math.round(trial.perSecond),
      Math.round(defaultTrials[i]?.perSecond ?? 0),
      rounded(trial.latencyMs),
      rounded(defaultTrials[i]?.latencyMs ?? 0),
    ]),
  };
}

function paretoChart({ unit, workload, found }: TuneResult): ResultChart {
  const series = (
    name: string,
    look: ResultSeries['look'],
    tried: readonly TriedSettings[],
    isLine = false,
  ): ResultSeries => ({
    name,
    look,
    isLine,
    points: tried.map(({ trial }) => ({
      x: trial.perSecond,
      y: trial.latencyMs,
      low: null,
      high: null,
    })),
  });
  const front = paretoFront(found.tried);
  const isDefault = ({ values }: TriedSettings): boolean => values === DEFAULTS;
  return {
    name: 'pareto',
    title: `Throughput and latency of ${workload} under different settings`,
    caption: 'Right and down is better. No trial beats a point of the front in both measures.',
    x: { title: `${unit} per second, busy`, scale: 'logarithmic', ticks: [] },
    y: { title: 'Median latency in ms, one at a time', scale: 'logarithmic', ticks: [] },
    // The first is drawn on top.
    series: [
      series('defaults', 'paper', found.tried.filter(isDefault)),
      series('Pareto front', 'percolator', front, true),
      series(
        'other settings',
        'other',
        found.tried.filter((one) => !front.includes(one)),
      ),
    ],
  };
}
