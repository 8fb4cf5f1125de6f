/**
 * The record of a measurement that produces all its tables and charts at its end. It is created
 * before the measurement and finished with the findings; after an interrupt it says so and has no
 * numbers.
 */
import { createRun, type Run, type RunHeader } from './run.ts';
import type { FindingsParts, Subject } from './record-run.ts';

interface Recorded {
  readonly run: Run;
  readonly page: string;
}

/** @throws the error of `measure` */
export async function recordFindings(
  folder: string,
  { kicker, title, ...header }: RunHeader & Subject,
  signal: AbortSignal,
  measure: () => Promise<FindingsParts>,
): Promise<Recorded> {
  const run = createRun(folder, header);
  const check = { passed: false, detail: 'no measurement has finished and been checked yet' };
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
