/**
 * `./run.sh reproduce`: measures all claims of the paper, in order of cost, and says of each
 * whether it was reproduced.
 *
 * Exit codes: 0 no claim was missed; 1 at least one was; 2 a mistake on the command line; 130 or
 * 143 interrupted, and the same command continues.
 */
import path from 'node:path';
import { execa } from 'execa';
import {
  choice,
  counted,
  flag,
  integer,
  outputFolder,
  runCommand,
  text,
  UsageError,
} from '#harness';
import {
  CLAIM_IDS,
  type ExperimentName,
  referenceRecords,
  type Reproduced,
  REPRODUCTION_COLUMNS,
  reproductionOf,
  reproductionPage,
  RUNS_FOLDER,
  summaryOf,
  writeFileAtomically,
} from '#results';
import { ROOT } from '../../harness/hosts/code-version.ts';
import { durationText, PROFILES } from '../../harness/experiment/plan.ts';
import { tableLines } from '../../harness/experiment/result-lines.ts';
import { type DoneRun, type NoRun, type PlannedRun, planOf, Reproducing } from './reproducing.ts';

const specification = {
  script: 'reproduce',
  description:
    'Measures the claims of the paper, the cheapest experiment first, and says of each whether it was ' +
    'reproduced: as the paper states it or, within a tolerance, as the reference runs found it. ' +
    'What was measured by this version of the code is not measured again, so that an interrupted ' +
    'call continues. Exit code 0: no claim was missed; 1: at least one was.',
  options: {
    minutes: integer({
      description: 'begin no experiment that would end later; its claims are then named as not run',
      defaultText: 'no limit',
      min: 1,
      max: 100_000,
    }),
    only: text({
      description: `claims, separated by commas: ${CLAIM_IDS.join(', ')}`,
      defaultText: 'all',
      placeholder: 'claim,...',
    }),
    profile: choice({
      description:
        'size of the runs; a smoke run shows that everything works, and judges nothing; waiting needs standard to be judged',
      choices: PROFILES,
      default: 'quick',
    }),
    out: outputFolder({
      description: 'folder of the runs and of index.html, the page of all claims',
      default: () => path.relative(process.cwd(), path.join(RUNS_FOLDER, 'reproduced')),
      defaultText: 'results/runs/reproduced',
    }),
    json: flag({ description: 'print the claims as JSON' }),
  },
  examples: [
    { command: './run.sh reproduce', does: 'Measures everything: about half an hour.' },
    {
      command: './run.sh reproduce --minutes 15',
      does: 'Measures what fits into a quarter of an hour.',
    },
    {
      command: './run.sh reproduce --only waiting,flat-batch --profile standard',
      does: 'Measures two claims, with more points and repeats.',
    },
  ],
} as const;

await runCommand(specification, async ({ minutes, only, profile, out, json }, { signal }) => {
  const claims = only === undefined ? CLAIM_IDS : claimsNamed(only);
  const plan = await planOf(claims, profile, helpOf);
  const rest = new Reproducing(out);
  const found = new Map<ExperimentName, DoneRun>();
  for (const run of plan) {
    const done = rest.done(run);
    if (done !== null) found.set(run.name, done);
  }
  tellPlan(plan, found);
  const missing = new Map<ExperimentName, NoRun>();
  const todo = plan.filter(({ name }) => !found.has(name));
  try {
    for (const run of withinMinutes(todo, minutes, missing)) {
      process.stderr.write(`${run.name}: ./run.sh ${run.words.join(' ')}\n`);
      const ended = await rest.run(run, signal);
      missing.delete(run.name);
      if ('reason' in ended) missing.set(run.name, ended);
      else found.set(run.name, ended);
    }
  } finally {
    if (signal.aborted) noteInterrupted(todo, found, missing);
    const rows = conclude({ claims, found, missing, out });
    print(rows, { page: path.join(out, 'index.html'), isJson: json });
    process.exitCode = rows.some(({ verdict }) => verdict === 'MISSED') ? 1 : 0;
  }
});

function claimsNamed(only: string): readonly string[] {
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !CLAIM_IDS.some((id) => id === name));
  if (unknown !== undefined) {
    throw new UsageError(
      `--only must name claims (${CLAIM_IDS.join(', ')}), but names ${JSON.stringify(unknown)}.`,
    );
  }
  return CLAIM_IDS.filter((id) => names.includes(id));
}

async function helpOf(script: string): Promise<string> {
  return (await execa(path.join(ROOT, 'run.sh'), [script, '--help'])).stdout;
}

function tellPlan(plan: readonly PlannedRun[], found: ReadonlyMap<ExperimentName, DoneRun>): void {
  const todo = plan.filter(({ name }) => !found.has(name));
  const seconds = todo.reduce((sum, run) => sum + run.seconds, 0);
  const each = todo.map((run) => `${run.name} (${durationText(run.seconds)})`);
  const there = found.size === 0 ? '' : `; measured before: ${[...found.keys()].join(', ')}`;
  process.stderr.write(
    todo.length === 0
      ? `Plan: nothing is left to measure${there}.\n`
      : `Plan: ${counted(todo.length, 'experiments')}, about ${durationText(seconds)}: ${each.join(', ')}${there}.\n`,
  );
}

/** The runs that fit, one by one: each is asked about when the one before it has ended. */
function* withinMinutes(
  runs: readonly PlannedRun[],
  minutes: number | undefined,
  missing: Map<ExperimentName, NoRun>,
): Generator<PlannedRun> {
  const endMs = minutes === undefined ? Infinity : performance.now() + minutes * 60_000;
  for (const { name, seconds } of runs) {
    missing.set(name, { reason: `it takes about ${durationText(seconds)}`, hasFailed: false });
  }
  for (const run of runs) {
    if (performance.now() + run.seconds * 1_000 <= endMs) yield run;
  }
}

function noteInterrupted(
  todo: readonly PlannedRun[],
  found: ReadonlyMap<ExperimentName, DoneRun>,
  missing: Map<ExperimentName, NoRun>,
): void {
  for (const { name } of todo) {
    const hasEnded = found.has(name) || missing.get(name)?.hasFailed === true;
    if (!hasEnded) missing.set(name, { reason: 'interrupted', hasFailed: false });
  }
}

/** Writes the page, and returns the verdicts. */
function conclude({
  claims,
  found,
  missing,
  out,
}: {
  readonly claims: readonly string[];
  readonly found: ReadonlyMap<ExperimentName, DoneRun>;
  readonly missing: ReadonlyMap<ExperimentName, NoRun>;
  readonly out: string;
}): readonly Reproduced[] {
  const yours = new Map([...found].map(([name, { record }]) => [name, record] as const));
  const all = reproductionOf({ reference: referenceRecords(), yours, missing });
  const rows = all.filter(({ id }) => claims.includes(id));
  const runs = [...found.values()].map(({ folder, record }) => ({
    to: encodeURI(path.relative(path.resolve(out), folder)),
    record,
  }));
  writeFileAtomically(path.join(out, 'index.html'), reproductionPage(rows, runs));
  return rows;
}

function print(
  rows: readonly Reproduced[],
  { page, isJson }: { readonly page: string; readonly isJson: boolean },
): void {
  const lines = isJson
    ? [JSON.stringify(rows, null, 2)]
    : [
        ...tableLines({
          title: 'The paper\u2019s claims',
          columns: REPRODUCTION_COLUMNS,
          rows: rows.map(({ id, paper, reference, yours, tolerance, verdict }) => [
            id,
            paper,
            reference,
            yours,
            tolerance,
            verdict,
          ]),
        }),
        ...rows.flatMap(({ id, verdict, reason }) =>
          reason === null ? [] : [`${id}: ${verdict}: ${reason}`],
        ),
        '',
        summaryOf(rows),
        `Report: ${page}`,
      ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
