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
  const [reference, runs] = [readRuns(roots.reference), readRuns(roots.runs)];
  const figures = reference
    .filter(({ run }) => SHOWN.test(run.name))
    .toSorted((a, b) => a.run.name.localeCompare(b.run.name, 'en', { numeric: true }))
    .flatMap(({ shown }) => (shown === null ? [] : [figureOf(shown, runs)]));
  const index = { reference: reference.map(({ run }) => run), runs: runs.map(({ run }) => run) };
  const file = path.join(folder, 'index.html');
  writeFileAtomically(file, allPage({ figures, ...index }, path.resolve(folder)));
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

interface ReadRun {
  /** Has `damage` also if the record can be used, and another file of the run cannot. */
  readonly run: FoundRun;
  /** Null for a run that is damaged or has not finished. */
  readonly shown: ShownRun | null;
}

/** The newest first. */
function readRuns(root: string): readonly ReadRun[] {
  return findRuns(root).map(readRun);
}

function readRun(run: FoundRun): ReadRun {
  const { folder, record } = run;
  if (record?.state !== 'finished') return { run, shown: null };
  try {
    return { run, shown: { run, record, content: readContent(folder).content } };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { run: { ...run, damage: error.message }, shown: null };
  }
}

function figureOf(reference: ShownRun, runs: readonly ReadRun[]): Figure {
  const { experiment } = reference.record;
  const drawn = runs
    .flatMap(({ shown }) => shown ?? [])
    .filter(({ record, content }) => record.experiment === experiment && content.charts.length > 0);
  const latest = drawn[0] ?? null;
  const judging = drawn.find(({ record }) => record.profile !== 'smoke') ?? null;
  return { name: reference.run.name, reference, latest, judging };
}
