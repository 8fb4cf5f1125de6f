/**
 * The search for settings within a time budget: successive halving, and then a test whether the
 * winner is really better than the defaults.
 *
 *     8 candidates, short trials ─▶ the better 4, twice as long ─▶ 2, four times ─▶ the winner
 *     winner and defaults, in turns, on fresh seeds ─▶ ratio with its 95 % confidence interval
 *
 * The defaults are always among the candidates. The last step uses new measurements, also for the
 * defaults: of many candidates the luckiest looks best, and its luck must not count.
 *
 * This file knows nothing about engines: the caller passes the function that runs a trial.
 */
import type { Random } from '#engine';
import { shuffled } from '../../harness/chance.ts';
import { type Estimate, estimateRatio } from '../../harness/statistics.ts';
import type { EngineValues } from '../../harness/engine-settings.ts';

export interface Trial {
  /** Throughput at full load. */
  readonly perSecond: number;
  /** Median latency with one transaction at a time. */
  readonly latencyMs: number;
}

export interface TriedSettings {
  readonly values: EngineValues;
  /** The longest trial: that of the last round that these settings reached. */
  readonly trial: Trial;
  readonly seconds: number;
}

export type Objective = 'throughput' | 'latency';

export interface SearchOptions {
  /** The first one is the default. */
  readonly candidates: readonly EngineValues[];
  readonly objective: Objective;
  /** Length of a trial in the first round. */
  readonly seconds: number;
  /** Trials of winner and defaults at the end, each; at least 3. */
  readonly repeats: number;
  /** Decides the order of the trials, and the seeds of their data. */
  readonly random: Random;
  /** Measures one trial; `seed` decides its data, which all trials of a round share. */
  readonly measure: (
    values: EngineValues,
    how: { readonly seconds: number; readonly seed: number },
  ) => Promise<Trial>;
  readonly onTrial?: ((done: number) => void) | undefined;
}

export interface SearchResult {
  readonly tried: readonly TriedSettings[];
  readonly winner: EngineValues;
  /** Winner over defaults, in the objective: above 1 is better. Null if the defaults won. */
  readonly gain: Estimate | null;
  /** The final trials, in pairs. */
  readonly winnerTrials: readonly Trial[];
  readonly defaultTrials: readonly Trial[];
}

/** Length of a final trial, in units of the first round's. */
const FINAL_LENGTH = 4;

export async function search(options: SearchOptions): Promise<SearchResult> {
  const { candidates, objective, random } = options;
  const [defaults] = candidates;
  if (defaults === undefined) throw new Error('there is nothing to search among');
  const tried = new Map<EngineValues, TriedSettings>();
  let trials = 0;
  const measure: SearchOptions['measure'] = async (values, how) => {
    const measured = await options.measure(values, how);
    options.onTrial?.(++trials);
    return measured;
  };

  let left = [...candidates];
  for (let round = 0, { seconds } = options; left.length > 1; round++, seconds *= 2) {
    const seed = dataSeed(random, `round ${round}`);
    for (const values of shuffled(random, left)) {
      const trial = await measure(values, { seconds, seed });
      tried.set(values, { values, trial, seconds });
    }
    left = betterHalf(left, tried, objective);
  }
  const winner = left[0] ?? defaults;
  if (winner === defaults) {
    return { tried: [...tried.values()], winner, gain: null, winnerTrials: [], defaultTrials: [] };
  }
  const final = await compare({ ...options, measure }, winner, defaults);
  const scores = (of: readonly Trial[]): number[] => of.map((trial) => scoreOf(trial, objective));
  const gain = estimateRatio(scores(final.winnerTrials), scores(final.defaultTrials));
  return { tried: [...tried.values()], winner, gain, ...final };
}

/** Compares in turns, each pair on new data. */
async function compare(
  options: Pick<SearchOptions, 'seconds' | 'repeats' | 'random'> & {
    readonly measure: SearchOptions['measure'];
  },
  winner: EngineValues,
  defaults: EngineValues,
): Promise<Pick<SearchResult, 'winnerTrials' | 'defaultTrials'>> {
  const winnerTrials: Trial[] = [];
  const defaultTrials: Trial[] = [];
  const seconds = options.seconds * FINAL_LENGTH;
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    const seed = dataSeed(options.random, `final pair ${repeat}`);
    for (const side of shuffled(options.random, [winner, defaults])) {
      const trial = await options.measure(side, { seconds, seed });
      (side === winner ? winnerTrials : defaultTrials).push(trial);
    }
  }
  return { winnerTrials, defaultTrials };
}

/** @param trials which trials share the data: "round 2" */
function dataSeed(random: Random, trials: string): number {
  return random.fork(`data of ${trials}`).integer(0, 2 ** 31 - 1);
}

/**
 * The maximum number of trials, and the sum of their lengths, in units of the first round's trials.
 */
export function trialsOf(
  candidates: number,
  repeats: number,
): { readonly trials: number; readonly lengths: number } {
  let trials = 0;
  let lengths = 0;
  for (let left = candidates, length = 1; left > 1; left = Math.ceil(left / 2), length *= 2) {
    trials += left;
    lengths += left * length;
  }
  return { trials: trials + 2 * repeats, lengths: lengths + 2 * repeats * FINAL_LENGTH };
}

/** Whether the difference is significant: the interval excludes 1. */
export function isSignificant({ low, high }: Estimate): boolean {
  return low !== null && high !== null && (low > 1 || high < 1);
}

/**
 * The settings that no other ones beat: none are better in throughput or latency without being
 * worse in the other of the two. In the order of throughput, the lowest first.
 */
export function paretoFront(tried: readonly TriedSettings[]): readonly TriedSettings[] {
  const isBeaten = ({ trial }: TriedSettings): boolean =>
    tried.some(
      ({ trial: other }) =>
        other.perSecond >= trial.perSecond &&
        other.latencyMs <= trial.latencyMs &&
        (other.perSecond > trial.perSecond || other.latencyMs < trial.latencyMs),
    );
  return tried
    .filter((one) => !isBeaten(one))
    .toSorted((a, b) => a.trial.perSecond - b.trial.perSecond);
}

function betterHalf(
  left: readonly EngineValues[],
  tried: ReadonlyMap<EngineValues, TriedSettings>,
  objective: Objective,
): EngineValues[] {
  const score = (values: EngineValues): number => {
    const trial = tried.get(values)?.trial;
    return trial === undefined ? 0 : scoreOf(trial, objective);
  };
  return left.toSorted((a, b) => score(b) - score(a)).slice(0, Math.ceil(left.length / 2));
}

function scoreOf({ perSecond, latencyMs }: Trial, objective: Objective): number {
  return objective === 'throughput' ? perSecond : 1 / latencyMs;
}
