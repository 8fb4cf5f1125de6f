/** What is asked of the planner, and trials of a part of a cluster. */
import type { LoadedCalibration } from '../calibration/load.ts';
import type { Outcome, Percentile, Size, Trial, Workload } from './trial.ts';

export interface PlanRequest {
  readonly loaded: LoadedCalibration;
  readonly workload: Workload;
  /** Units a second. */
  readonly load: number;
  /** The time within which `percentile` percent of the units must be done. */
  readonly latencyMs: number;
  readonly percentile: Percentile;
  /** Share of the time that tablet servers and workers are free. */
  readonly margin: number;
  /**
   * How long the check may take on this machine, about; 0: none but the last trial of the search.
   */
  readonly checkSeconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Told of each trial, before it. */
  readonly onTrial: (what: string, trial: Trial) => void;
}

/**
 * Units that a trial measures, about: a 99th percentile rests on 30 documents or 2 Trade-Results.
 */
export const UNITS = { documents: 3_000, 'Trade-Results': 200 };

/**
 * The smallest part of a cluster that has at least this many machines of each kind; all of it if it
 * has fewer.
 */
export function partOf(
  { workload, loaded, load, seed }: PlanRequest,
  size: Size,
  least: Size,
): Trial {
  const share = Math.min(
    1,
    Math.max(
      least.tabletServers / size.tabletServers,
      workload.hasWorkers ? least.workers / size.workers : 0,
    ),
  );
  // Rounded down: then each machine has at least its share of the load.
  const part = (machines: number): number => Math.max(1, Math.floor(machines * share + ROUNDING));
  return {
    calibration: loaded.calibration,
    tabletServers: part(size.tabletServers),
    workers: workload.hasWorkers ? part(size.workers) : 0,
    perSecond: load * share,
    share,
    units: UNITS[workload.unit],
    seed,
  };
}

/** Without it, 24 / 47 of 47 machines would be 23. */
const ROUNDING = 1e-6;

/** Simulates the trial. @throws the signal's reason once the signal is aborted */
export function tryOut(
  { workload, signal, onTrial }: PlanRequest,
  what: string,
  trial: Trial,
): Promise<Outcome> {
  signal.throwIfAborted();
  onTrial(what, trial);
  return workload.simulate(trial, signal);
}

export function isFastEnough(
  { latencyMs, percentile }: Pick<PlanRequest, 'latencyMs' | 'percentile'>,
  outcome: Outcome,
): boolean {
  return outcome.keptUp && outcome.latencyMs[percentile] <= latencyMs;
}
