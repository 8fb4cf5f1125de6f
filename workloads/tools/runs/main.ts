/**
 * `./run.sh runs [list|clean|note|bencher]`: what was measured here, how its metrics have changed
 * from commit to commit, what its user says of it, and the removal of what is not needed.
 *
 * Exit codes: 0 done; 2 a mistake on the command line, or a run that cannot be removed.
 */
import path from 'node:path';
import {
  choice,
  flag,
  inputFolder,
  integer,
  onlyWith,
  runCommand,
  text,
  textList,
  UsageError,
} from '#harness';
import {
  bytesIn,
  findRuns,
  type FoundRun,
  printable,
  readRunRecord,
  refreshAll,
  type RunRecord,
  REFERENCE_FOLDER,
  RUNS_FOLDER,
  counted,
  trendPage,
  trendTable,
  writeFileAtomically,
} from '#results';
import { bytesText } from '../../harness/experiment/plan.ts';
import { tableLines } from '../../harness/experiment/result-lines.ts';
import { bencherOf, trendOf } from './history.ts';
import { noteRun, type Notes, readableNotes } from './notes.ts';
import {
  type Choice,
  isReference,
  refuseReference,
  type Removable,
  removable,
  removeRuns,
  stateText,
} from './removable.ts';

/** The headline is cut, because a run should be one line of the list. */
const HEADLINE_LENGTH = 70;
const CLEAN = { action: ['clean'] } as const;
const NOTE = { action: ['note'] } as const;

const specification = {
  script: 'runs',
  description:
    'Lists the runs in results/runs and results/reference, or removes runs from results/runs: ' +
    'unfinished ones, or those that --days and --keep-last choose. Never removes a run that is ' +
    'still being measured, a symbolic link, or a folder that is not a run of this project. With ' +
    '--trend, shows how metrics have changed from commit to commit.',
  positionals: {
    action: choice({
      description:
        'list shows runs; clean removes some; note adds tags and a note to one; bencher prints the metrics of one in the format of Bencher',
      choices: ['list', 'clean', 'note', 'bencher'],
      default: 'list',
    }),
    run: inputFolder({
      description: 'the folder of a run, for note and bencher',
      default: null,
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
    trend: onlyWith(
      { action: ['list'] },
      text({
        description:
          'show how the metrics whose names (table: row: column) contain this have changed from run to run, with the commit of each, and write a page of it, trend.html, into the folder of the runs',
        placeholder: 'metric',
      }),
    ),
    tag: onlyWith(
      NOTE,
      textList({
        description:
          'a tag for the run; with a hyphen before it, one to remove; may be given several times',
        placeholder: 'tag',
      }),
    ),
    note: onlyWith(NOTE, text({ description: 'a note for the run, in place of an older one' })),
    json: flag({ description: 'print JSON' }),
  },
  examples: [
    { command: './run.sh runs', does: 'Lists all runs, the newest first.' },
    {
      command: "./run.sh runs --trend 'embedded, read: relative'",
      does: 'Shows how that metric of figure 8 has changed, in a table and on a page.',
    },
    {
      command: './run.sh runs note results/runs/micro-20260117T081500Z --tag new-disk',
      does: 'Gives a run a tag.',
    },
    {
      command: './run.sh runs clean --days 30 --keep-last 3 --yes',
      does: 'Removes runs older than 30 days, except the newest three of each experiment.',
    },
  ],
} as const;

await runCommand(specification, async ({ action, in: root, run, trend, tag, note, ...rest }) => {
  const { yes, json, ...chosen } = rest;
  if ((run === null) === (action === 'note' || action === 'bencher')) {
    throw new UsageError(
      `${action} must be given ${run === null ? 'the folder of a run' : 'no run'}.`,
    );
  }
  const roots = root === undefined ? [RUNS_FOLDER, REFERENCE_FOLDER] : [root];
  const answers = {
    list: () => ({ lines: trend === undefined ? list(roots, json) : history(roots, trend, json) }),
    clean: () => clean(root ?? RUNS_FOLDER, chosen, { yes, json }),
    note: () => ({ lines: noted(run ?? '', { tags: tag, note: note ?? null }) }),
    bencher: () => ({ lines: [JSON.stringify(bencherOf(wholeRun(run ?? '')), null, 2)] }),
  };
  const { lines, failure }: Cleaned = answers[action]();
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

/** The history of the metrics. The reference is immutable, so its page is in results/runs. */
function history(roots: readonly string[], wanted: string, json: boolean): readonly string[] {
  const lines = trendOf(roots.flatMap(findRuns), wanted);
  if (lines.length === 0) {
    throw new UsageError(
      `--trend must be a part of the name of a metric (table: row: column) of a finished run, but is ${JSON.stringify(wanted)}.`,
    );
  }
  const [first = RUNS_FOLDER] = roots;
  const folder = isReference(first) ? RUNS_FOLDER : first;
  const page = path.join(folder, 'trend.html');
  writeFileAtomically(page, trendPage(wanted, lines));
  if (json) return [JSON.stringify(lines, null, 2)];
  return [...lines.flatMap((line) => tableLines(trendTable(line))), `Report: ${folderText(page)}`];
}

function noted(folder: string, given: Notes): readonly string[] {
  const { tags, note } = noteRun(folder, given);
  return [
    `${folderText(folder)}: ${tags.join(', ') || 'no tags'}${note === null ? '' : `; ${note}`}`,
  ];
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
    ...readableNotes(folder),
    headline: record === null ? damage : record.findings.headline,
  };
}

function rowOf(run: FoundRun): readonly (string | null)[] {
  const { folder: _, bytes, date, headline, tags, note, ...texts } = described(run);
  const said = [...tags.map((tag) => `[${tag}]`), ...(note === null ? [] : [`${note}:`])];
  const line = [...said, headline ?? ''].join(' ').trim();
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
  refuseReference('--in', root);
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

/** What is sent to a board of numbers must be whole: no reader sees its state there. */
function wholeRun(folder: string): RunRecord {
  const record = readRunRecord(folder);
  const { check } = record.findings;
  if (record.state !== 'finished' || !check.passed) {
    const why = check.passed ? `is ${record.state}` : `failed its check (${check.detail})`;
    throw new UsageError(
      `bencher needs a finished run whose check passed, but ${JSON.stringify(folder)} ${why}.`,
    );
  }
  return record;
}
