/**
 * The record around a measurement that ends with tables and charts, all at once: made before anything is measured,
 * finished with what was found; interrupted, it says so and has no numbers.
 */
import { createRun, type Run, type RunHeader } from './run.ts';
import type { Findings, Target } from './run-record.ts';

/** Where in the paper, and of what: known before anything is measured. */
type Subject = Pick<Findings, 'kicker' | 'title'>;

export interface Found extends Omit<Findings, keyof Subject> {
  readonly targets: readonly Target[];
}

interface Recorded {
  readonly run: Run;
  readonly page: string;
}

/** @throws what `measure` throws */
export async function recordFindings(
  folder: string,
  { kicker, title, ...header }: RunHeader & Subject,
  signal: AbortSignal,
  measure: () => Promise<Found>,
): Promise<Recorded> {
  const run = createRun(folder, header);
  const check = { passed: false, detail: 'nothing has been measured and checked yet' };
  const nothing = { headline: 'There are no numbers.', check, tables: [], charts: [] };
  run.describe({ findings: { kicker, title, ...nothing } });
  try {
    const { targets, ...found } = await measure();
    run.describe({ findings: { kicker, title, ...found }, targets });
  } catch (error) {
    if (signal.aborted) run.finish('interrupted');
    throw error;
  }
  return { run, page: run.finish().page };
}
