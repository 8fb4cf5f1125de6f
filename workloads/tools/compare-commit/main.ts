/**
 * `./run.sh compare:commit <commit> --run "bench:..."`: what has changed since a commit?
 *
 * Both versions are measured in turns, so that whatever else the machine does affects both. The
 * older one is a working tree of its own, in a temporary folder. It shares the installed packages
 * of this one if its dependencies are the same, and otherwise installs its own.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa, ExecaError, parseCommandString } from 'execa';
import { flag, integer, number, runCommand, text, UsageError } from '#harness';
import { compareRuns, conclude } from '../compare/compare-runs.ts';
import { type EndedScript, runTreeScript } from '../script-process.ts';
import { sharePackages } from './share-packages.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const VERSIONS = ['before', 'now'] as const;

const specification = {
  script: 'compare:commit',
  description:
    'Runs one script in a working tree of an older commit and in this one, in turns, and compares ' +
    'the runs as ./run.sh compare does. Exit code 0: no metric is worse; 1: at least one is; 2: no ' +
    'metric has a verdict.',
  positionals: {
    commit: text({ description: 'the older version: a commit, a tag or a branch' }),
  },
  options: {
    run: text({
      description:
        'the script and its options, as after ./run.sh, without quotes and --out; both versions must know them',
      placeholder: 'script and options',
      defaultText: 'must be given',
    }),
    repeats: integer({
      description:
        'runs of each version; two have no intervals, and a single one only those of its record',
      default: 3,
      min: 1,
      max: 100,
    }),
    threshold: number({
      description: 'how much a metric may differ and still be the same',
      default: 5,
      min: 0,
      max: 1000,
      unit: '%',
    }),
    json: flag({ description: 'print the comparison as JSON' }),
  },
  examples: [
    {
      command: './run.sh compare:commit HEAD~1 --run "bench:crawl-rate --profile quick"',
      does: 'compares the last commit with the one before it',
    },
  ],
} as const;

await runCommand(specification, async ({ commit, run, repeats, threshold, json }, { signal }) => {
  if (run === undefined) throw new UsageError('--run must be given: the script to run.');
  const sha = await shaOf(commit);
  const script = await scriptOf(run);
  const work = await mkdtemp(path.join(tmpdir(), 'percolator-compare-'));
  const before = path.join(work, 'before');
  try {
    await git('worktree', 'add', '--quiet', '--detach', before, sha);
    await sharePackages(ROOT, before);
    const runs: Record<'before' | 'now', string[]> = { before: [], now: [] };
    for (let i = 0; i < repeats; i++) {
      // Each version goes first in every second turn.
      for (const version of i % 2 === 0 ? VERSIONS : VERSIONS.toReversed()) {
        const out = path.join(work, `${version}-${i + 1}`);
        process.stderr.write(`run ${i + 1} of ${repeats}, ${version}: ${run}\n`);
        await runScript(version === 'now' ? ROOT : before, { script, out, signal });
        runs[version].push(out);
      }
    }
    const options = { threshold, anyway: true }; // Two versions may record different parameters.
    const comparison = compareRuns(runs.before, runs.now, options);
    conclude(comparison, { json, more: 'set --repeats to 3 or more' });
  } finally {
    await git('worktree', 'remove', '--force', before).catch(() => undefined);
    await rm(work, { recursive: true, force: true });
  }
});

/**
 * The script and its options, each a word. They are looked at before the working tree is made,
 * which takes seconds, or minutes if it needs other packages.
 * @throws UsageError if it is no script that makes a record in `--out`
 */
async function scriptOf(run: string): Promise<readonly string[]> {
  const words = parseCommandString(run);
  const mustBe = (what: string): UsageError =>
    new UsageError(`--run must be ${what}, but is ${JSON.stringify(run)}.`);
  if (/["'`]/.test(run)) throw mustBe('without quotes (a blank inside of a word needs a \\)');
  if (words.includes('--out')) throw mustBe('without --out, which is set for each run');
  const [script = ''] = words;
  const help = await execa(path.join(ROOT, 'run.sh'), [script, '--help'], { reject: false });
  if (script === '' || !/^ +--profile </m.test(help.stdout)) {
    throw mustBe('a script that measures or proves and its options, such as "bench:crawl-rate"');
  }
  return words;
}

/** @throws UsageError if there is no such commit, or no repository */
async function shaOf(commit: string): Promise<string> {
  try {
    return await git('rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{commit}`);
  } catch (error) {
    const isMissing = error instanceof ExecaError && error.code === 'ENOENT';
    throw new UsageError(
      isMissing
        ? 'git is needed for an older version, and is not on PATH.'
        : `<commit> is ${JSON.stringify(commit)}, and must be a commit of this repository.`,
      { cause: error },
    );
  }
}

async function git(...words: string[]): Promise<string> {
  return (await execa('git', words, { cwd: ROOT })).stdout;
}

/** @throws UsageError if the script does not succeed */
async function runScript(
  tree: string,
  {
    script,
    out,
    signal,
  }: { readonly script: readonly string[]; readonly out: string; readonly signal: AbortSignal },
): Promise<void> {
  const ended = await runTreeScript(tree, [...script, '--out', out], { signal });
  if (!ended.failed) return;
  throw new UsageError(
    `--run is ${JSON.stringify(script.join(' '))}, which must succeed in both versions; in ${tree === ROOT ? 'this one' : 'the older one'} it ${wayOf(ended)}.`,
  );
}

function wayOf({ exitCode, signal, originalMessage }: EndedScript): string {
  if (signal !== undefined) return `was ended by ${signal}`;
  if (exitCode !== undefined) return `ended with exit code ${exitCode}`;
  return `could not be started: ${originalMessage}`;
}
