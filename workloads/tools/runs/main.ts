/**
 * `./run.sh runs [list|clean]`: what was measured here, and the removal of what is not needed.
 *
 * Exit codes: 0 done; 2 a mistake on the command line, or a run that cannot be removed.
 */
import path from 'node:path';
import { choice, flag, inputFolder, integer, onlyWith, runCommand, UsageError } from '#harness';
import {
  bytesIn,
  findRuns,
  type FoundRun,
  printable,
  refreshAll,
  REFERENCE_FOLDER,
  RUNS_FOLDER,
  counted,
} from '#results';
import { bytesText } from '../../harness/experiment/plan.ts';
import { tableLines } from '../../harness/experiment/result-lines.ts';
import {
  type Choice,
  refuseReference,
  type Removable,
  removable,
  removeRuns,
  stateText,
} from './removable.ts';

/** The headline is cut, because a run should be one line of the list. */
const HEADLINE_LENGTH = 70;
const CLEAN = { action: ['clean'] } as const;

const specification = {
  script: 'runs',
  description:
    'Lists the runs in results/runs and results/reference, or removes runs from results/runs: ' +
    'unfinished ones, or those that --days and --keep-last choose. Never removes a run that is ' +
    'still being measured, a symbolic link, or a folder that is not a run of this project.',
  positionals: {
    action: choice({
      description: 'clean removes runs; list shows them',
      choices: ['list', 'clean'],
      default: 'list',
    }),
  },
  options: {
    in: inputFolder({
      description: 'folder of the runs',
      defaultText: 'results/runs; list also shows results/reference',
    }),
    unfinished: onlyWith(
      CLEAN,
      flag({
        description:
          'runs that were killed, interrupted or failed; what clean removes if no option says more',
      }),
    ),
    days: onlyWith(
      CLEAN,
      integer({
        description: 'runs that are older, finished or not',
        min: 0,
        max: 36_500,
        unit: 'days',
      }),
    ),
    keepLast: onlyWith(
      CLEAN,
      integer({
        description:
          'all runs but this many of the newest finished ones of each experiment; with --days, only runs that are also older',
        min: 0,
        max: 1_000_000,
      }),
    ),
    yes: onlyWith(CLEAN, flag({ description: 'remove; without it, say what would be removed' })),
    json: flag({ description: 'print JSON' }),
  },
  examples: [
    { command: './run.sh runs', does: 'Lists all runs, the newest first.' },
    {
      command: './run.sh runs clean --days 30 --keep-last 3 --yes',
      does: 'Removes runs older than 30 days, except the newest three of each experiment.',
    },
  ],
} as const;

await runCommand(specification, async ({ action, in: root, yes, json, ...chosen }) => {
  const { lines, failure } =
    action === 'list'
      ? { lines: list(root === undefined ? [RUNS_FOLDER, REFERENCE_FOLDER] : [root], json) }
      : clean(root ?? RUNS_FOLDER, chosen, { yes, json });
  process.stdout.write(`${lines.join('\n')}\n`);
  return failure === undefined ? Promise.resolve() : Promise.reject(failure);
});

function list(roots: readonly string[], json: boolean): readonly string[] {
  const found = roots.map((root) => ({ root, runs: findRuns(root) }));
  const all = found.flatMap(({ runs }) => runs.map(described));
  if (json) return [JSON.stringify(all, null, 2)];
  return found.flatMap(({ root, runs }) =>
    runs.length === 0
      ? [`${folderText(root)}: no runs`, '']
      : tableLines({
          title: folderText(root),
          columns: ['name', 'experiment', 'profile', 'state', 'commit', 'date', 'size', 'headline'],
          rows: runs.map(rowOf),
        }),
  );
}

function described(run: FoundRun) {
  const { name, folder, record, damage } = run;
  return {
    folder,
    name,
    experiment: record?.experiment ?? null,
    profile: record?.profile ?? null,
    state: record === null ? 'damaged' : stateText(record),
    commit: record?.environment.commit?.hash.slice(0, 7) ?? null,
    date: record?.startedAt ?? null,
    bytes: bytesIn(folder),
    headline: record === null ? damage : record.findings.headline,
  };
}

function rowOf(run: FoundRun): readonly (string | null)[] {
  const { folder: _, bytes, date, headline, ...texts } = described(run);
  const line = headline ?? '';
  return [
    ...Object.values(texts),
    date === null ? null : date.slice(0, 16).replace('T', ' '),
    bytesText(bytes),
    line.length <= HEADLINE_LENGTH ? line : `${line.slice(0, HEADLINE_LENGTH - 1).trimEnd()}…`,
  ];
}

function folderText(folder: string): string {
  return printable(path.relative(process.cwd(), folder) || '.');
}

interface CleanOptions {
  readonly yes: boolean;
  readonly json: boolean;
}

interface Cleaned {
  readonly lines: readonly string[];
  /** Why some runs could not be removed; the others are gone. */
  readonly failure?: UsageError;
}

function clean(root: string, chosen: Choice, options: CleanOptions): Cleaned {
  refuseReference(root);
  const runs = removable(findRuns(root), chosen, Date.now()).map(({ run, why }) => ({
    run,
    why,
    bytes: bytesIn(run.folder),
  }));
  if (!options.yes) return { lines: cleanLines(runs, options) };
  const { removed, failures } = removeRuns(runs);
  if (path.resolve(root) === RUNS_FOLDER) refreshAll();
  const lines = cleanLines(removed, options);
  if (failures.length === 0) return { lines };
  return { lines, failure: new UsageError(failures.map(({ message }) => message).join('\n')) };
}

function cleanLines(
  runs: readonly (Removable & { readonly bytes: number })[],
  { yes, json }: CleanOptions,
): readonly string[] {
  if (json) {
    const shown = runs.map(({ run, why, bytes }) => ({ folder: run.folder, why, bytes }));
    return [JSON.stringify({ removed: yes, runs: shown }, null, 2)];
  }
  const total = runs.reduce((sum, { bytes }) => sum + bytes, 0);
  const all = `${counted(runs.length, 'runs')}, ${bytesText(total)}`;
  return [
    ...runs.map(({ run, why, bytes }) => `${folderText(run.folder)}: ${why}, ${bytesText(bytes)}`),
    yes
      ? `Removed: ${all}.`
      : `Would be removed: ${all}${runs.length > 0 ? '; --yes removes' : ''}.`,
  ];
}
