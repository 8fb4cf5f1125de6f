/** The result of a search for settings, for the report and in words. */
import {
  column,
  dots,
  type FindingsParts,
  line,
  type ResultChart,
  type ResultTable,
  resultTable,
  series,
} from '#results';
import { type Estimate, rounded } from '../../harness/statistics.ts';
import { DEFAULTS, nameOf } from './tuned-workloads.ts';
import { asConfig, type EngineValues } from '../../harness/engine-settings.ts';
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
  return resultTable(
    {
      name: 'candidates',
      title: 'Candidates',
      caption:
        'Each row is the longest trial of its settings. Short trials are noisy; only the final pairs decide.',
    },
    found.tried.toSorted((a, b) => b.trial.perSecond - a.trial.perSecond),
    [
      column('settings', ({ values }) => nameOf(values)),
      column(`${unit} per second`, ({ trial }) => Math.round(trial.perSecond)),
      column('median ms, one at a time', ({ trial }) => rounded(trial.latencyMs)),
      column('seconds', ({ seconds }) => rounded(seconds, 3)),
      column('on the front', (one) => (front.has(one) ? 'yes' : 'no')),
    ],
  );
}

function finalTable({ unit, found }: TuneResult): ResultTable {
  const pairs = found.winnerTrials.map((best, i) => {
    const { perSecond, latencyMs } = found.defaultTrials[i] ?? { perSecond: 0, latencyMs: 0 };
    return { number: i + 1, best, defaults: { perSecond, latencyMs } };
  });
  return resultTable(
    {
      name: 'final-pairs',
      title: 'The best candidate and the defaults, in turns',
      caption: `The best candidate: ${nameOf(found.winner)}.`,
    },
    pairs,
    [
      column('pair', ({ number }) => number),
      column(`best: ${unit} per second`, ({ best }) => Math.round(best.perSecond)),
      column(`defaults: ${unit} per second`, ({ defaults }) => Math.round(defaults.perSecond)),
      column('best: median ms, one at a time', ({ best }) => rounded(best.latencyMs)),
      column('defaults: median ms, one at a time', ({ defaults }) => rounded(defaults.latencyMs)),
    ],
  );
}

function paretoChart({ unit, workload, found }: TuneResult): ResultChart {
  const front = paretoFront(found.tried);
  const isDefault = ({ values }: TriedSettings): boolean => values === DEFAULTS;
  const isBehind = (one: TriedSettings): boolean => !front.includes(one);
  const latency = ({ trial }: TriedSettings): number => trial.latencyMs;
  const at = ({ trial }: TriedSettings) => ({ x: trial.perSecond });
  return {
    name: 'pareto',
    title: `Throughput and latency of ${workload} under different settings`,
    caption: 'Right and down is better. No trial beats a point of the front in both measures.',
    x: { title: `${unit} per second, busy`, scale: 'logarithmic', ticks: [] },
    y: { title: 'Median latency in ms, one at a time', scale: 'logarithmic', ticks: [] },
    // The first is drawn on top.
    series: [
      ...series(found.tried.filter(isDefault), at, [dots('defaults', 'paper', latency)]),
      ...series(front, at, [line('Pareto front', 'percolator', latency)]),
      ...series(found.tried.filter(isBehind), at, [dots('other settings', 'other', latency)]),
    ],
  };
}
