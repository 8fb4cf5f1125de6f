/**
 * The record of a run from its beginning to its end, whichever way it ends:
 *
 *     finished      `measure` has returned
 *     interrupted   the signal was aborted; what was described until then stays
 *     failed        an error ended it; what was described until then stays
 *     (none)        the user can repair the error, and nothing was measured: no record is left
 */
import { firstErrorOf } from './first-error.ts';
import { createRun, type Run, type RunHeader } from './run-in-progress.ts';
import type { Findings, Target } from './run-record.ts';
import { UsageError } from './usage-error.ts';

/** What is known of the findings before the measurement. */
export type Subject = Pick<Findings, 'kind' | 'kicker' | 'title'>;

/** What a measurement found. */
export interface FindingsParts extends Omit<Findings, keyof Subject> {
  readonly targets: readonly Target[];
}

export interface Recording {
  readonly run: Run;
  /** Puts into the record what was found so far, which then stays whatever happens. */
  readonly keep: (found: FindingsParts) => void;
}

interface Recorded {
  readonly run: Run;
  readonly page: string;
}

/** For the record of a run that found nothing, or failed its check: only the reason. */
export function noNumbers(detail: string): FindingsParts {
  const check = { passed: false, detail };
  return { headline: 'There are no numbers.', check, tables: [], charts: [], targets: [] };
}

/**
 * @param subject null for an experiment that describes its record itself
 * @throws the error of `measure`; if the signal was aborted, only a `UsageError`
 */
export async function recordRun(
  folder: string,
  { subject, signal, ...header }: RunHeader & { subject: Subject | null; signal: AbortSignal },
  measure: (recording: Recording) => Promise<FindingsParts | null>,
): Promise<Recorded> {
  const run = createRun(folder, header);
  const keep = ({ targets, ...found }: FindingsParts): void => {
    if (subject !== null) run.describe({ findings: { ...subject, ...found }, targets });
  };
  keep(noNumbers('the run has no result'));
  // A second interrupt and an error in a callback end the process at once.
  const closeAtExit = (): void => {
    ignoringErrors(() => run.close(signal.aborted ? 'interrupted' : 'failed'));
  };
  process.once('exit', closeAtExit);
  try {
    const found = await measure({ run, keep });
    if (found !== null) keep(found);
  } catch (error) {
    const isForUser = firstErrorOf(error) instanceof UsageError;
    const isReported = isForUser || !signal.aborted;
    const state = signal.aborted ? 'interrupted' : 'failed';
    if (isForUser && isEmpty(run)) run.discard();
    // The error to report is the one that ended the run; the disk may be full now, too.
    else if (isReported) ignoringErrors(() => run.finish(state));
    if (isReported) throw error;
  } finally {
    process.off('exit', closeAtExit);
  }
  return { run, page: run.finish(signal.aborted ? 'interrupted' : 'finished').page };
}

function ignoringErrors(action: () => unknown): void {
  try {
    action();
  } catch {
    // What was written before stays.
  }
}

function isEmpty({ record: { points, findings, crawl } }: Run): boolean {
  return points.length === 0 && crawl === null && (findings?.tables.length ?? 0) === 0;
}
