/**
 * Makes the page of all figures and runs from the records in results/reference and
 * results/runs.
 */
import path from 'node:path';
import { readContent } from '../report.ts';
import { findRuns, type FoundRun, REFERENCE_FOLDER, RUNS_FOLDER } from '../run-folders.ts';
import { UsageError } from '../usage-error.ts';
import { writeFileAtomically } from '../write-file.ts';
import { allPage, type Figure, type ShownRun } from './all-page.ts';

/** The reference runs of experiments of the paper; others are of tools and benches. */
const SHOWN = /^(?:figure-\d+|web-index)$/;

interface Roots {
  readonly runs: string;
  readonly reference: string;
}

/**
 * Writes `index.html` into `folder`, and returns its path. A damaged run is in the index with the
 * reason, and is not shown elsewhere.
 */
export function buildAll(
  folder: string,
  roots: Roots = { runs: RUNS_FOLDER, reference: REFERENCE_FOLDER },
): string {
  const [reference, runs] = [findRuns(roots.reference), findRuns(roots.runs)];
  const figures = reference
    .filter(({ name }) => SHOWN.test(name))
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
    .flatMap((run) => figureOf(run, runs) ?? []);
  const file = path.join(folder, 'index.html');
  writeFileAtomically(file, allPage({ figures, reference, runs }, path.resolve(folder)));
  return file;
}

/**
 * Makes the page of all runs again, to which the pages in results/runs link. The script that
 * measured or removed a run does not fail if the page cannot be made; `./run.sh report --all` says
 * why.
 */
export function refreshAll(): void {
  try {
    buildAll(path.dirname(RUNS_FOLDER));
  } catch {
    // The old page stays.
  }
}

function figureOf(reference: FoundRun, runs: readonly FoundRun[]): Figure | null {
  const shown = shownRun(reference);
  if (shown === null) return null;
  const { experiment } = shown.record;
  const finished = runs.filter(
    ({ record }) => record?.experiment === experiment && record.state === 'finished',
  );
  const latest = newestShown(finished);
  const isSmoke = latest?.record.profile === 'smoke';
  const large = finished.filter(({ record }) => record?.profile !== 'smoke');
  const judging = isSmoke ? newestShown(large) : latest;
  return { name: reference.name, reference: shown, latest, judging };
}

/** @param runs the newest first */
function newestShown(runs: readonly FoundRun[]): ShownRun | null {
  const shown = runs.values().map(shownRun);
  return shown.find((run) => run !== null && run.content.charts.length > 0) ?? null;
}

/** Null if its files are damaged. */
function shownRun(run: FoundRun): ShownRun | null {
  if (run.record === null) return null;
  try {
    return { run, record: run.record, content: readContent(run.folder).content };
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}
