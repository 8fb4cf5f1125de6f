/**
 * `./run.sh judge <history>`: does a history fit snapshot isolation, and if not, why not?
 *
 * 1. Read the file: JSON lines with timestamps, from any store, or list-append histories without
 *    timestamps in Jepsen's form, as EDN or JSON. docs/judge.md describes both.
 * 2. Judge it with the judges of this project's engine (workloads/verification/judges).
 * 3. Print a summary and, for each kind of violation, the first few stories.
 *
 * Exit codes: 0 without a violation; 1 with one; 2 for bad input.
 */
import { choice, flag, inputFile, integer, runCommand, startProgress } from '#harness';
import { judgeFile, MODELS } from './judge-file.ts';
import { reportLines, reportOf } from './report.ts';
import type { JudgeOptions, HistoryVerdict } from './verdict.ts';

/** Violations kept in memory, unless `--all` or `--limit` asks for more. All are counted. */
const KEEP_MAX = 1000;

const specification = {
  script: 'judge',
  description:
    'Judges the history of a database: one with timestamps, of any store with snapshot isolation, or one of ' +
    'list append in the form of Jepsen, without timestamps. Tells each violation as a story. ' +
    'docs/judge.md describes the files.',
  positionals: {
    history: inputFile({ description: 'JSON lines, or EDN if its name ends in .edn' }),
  },
  options: {
    model: choice({
      choices: MODELS,
      description:
        'the promised model; in strong models real time counts; the serializable ones are for list append only',
      default: 'snapshot-isolation',
    }),
    ownWrites: choice({
      choices: ['seen', 'unseen'],
      description: 'whether transactions read their own writes, or always their snapshot',
      default: 'seen',
    }),
    limit: integer({
      description: 'printed stories of each kind',
      default: 3,
      min: 0,
      max: 1_000_000,
    }),
    all: flag({ description: 'tell every story' }),
    json: flag({ description: 'print the report as JSON' }),
  },
  examples: [
    { command: './run.sh judge history.jsonl', does: 'Judges by timestamps, exactly.' },
    {
      command: './run.sh judge history.edn --model strong-snapshot-isolation',
      does: 'Judges a Jepsen history; real time counts.',
    },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  const { history: file, model, all, json } = options;
  const limit = all ? Infinity : options.limit;
  const startedMs = performance.now();
  const verdict = await withProgress((onProgress) =>
    judgeFile(file, {
      model,
      ownWritesSeen: options.ownWrites === 'seen',
      keepMax: Math.max(limit, KEEP_MAX),
      onProgress,
      signal,
    }),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  const report = reportOf(verdict, { file, model, seconds, limit });
  const lines = json ? [JSON.stringify(report, null, 2)] : reportLines(report);
  process.stdout.write(`${lines.join('\n')}\n`);
  if (verdict.found > 0) process.exitCode = 1;
});

/** Ends the progress before a failure is reported: a bar would erase the sentence. */
async function withProgress(
  judge: (onProgress: JudgeOptions['onProgress']) => Promise<HistoryVerdict>,
): Promise<HistoryVerdict> {
  const progress = startProgress({ stream: process.stderr });
  progress.phase('judging', 0, 'transactions');
  try {
    const verdict = await judge((transactions) => progress.update(transactions));
    progress.update(verdict.transactions);
    return verdict;
  } finally {
    progress.end();
  }
}
