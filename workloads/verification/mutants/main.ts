/**
 * `./run.sh mutants`: are the judges any good? Every known mistake of the protocol is put back into
 * the engine, one at a time, and simulated until a judge convicts it.
 *
 * 1. For each mutant, try seeds from the first on, until one convicts it that the unchanged engine
 *    passes.
 * 2. Print a table: the rule, the mutant, which judge convicted it of what, and after how many
 *    runs.
 *
 * Exit codes: 0 if all are caught; 1 if one got away; 2 for a mistake on the command line.
 */
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { huntAll, type Hunted, type Mutant, MUTANTS, QUICKEST, WITHOUT_MUTANT } from './index.ts';
import { flag, integer, runCommand, startProgress, textList } from '#harness';
import { UsageError } from '#results';

const QUICKEST_FILE = new URL('./quickest.json', import.meta.url);

const specification = {
  script: 'mutants',
  description:
    'Puts every known mistake of the protocol back into the engine, one at a time, and simulates ' +
    'until a judge convicts it. Prints which judge, and after how many runs.',
  options: {
    only: textList({
      description: 'the name of a mutant; may be given several times',
      placeholder: 'name',
      defaultText: 'all',
    }),
    seeds: integer({
      description: 'runs after which a mutant has got away',
      default: 5_000,
      min: 1,
      max: 1e6,
    }),
    from: integer({
      description: 'the first seed; the others follow',
      default: 1,
      min: 1,
      max: 2 ** 31 - 1,
    }),
    quick: flag({ description: 'only the one seed that is known to catch each mutant' }),
    jobs: integer({
      description: 'mutants hunted at the same time, one per core',
      default: availableParallelism(),
      min: 1,
      max: 256,
    }),
    update: flag({ description: 'write the seeds that caught them to a file, for the tests' }),
  },
  examples: [
    { command: './run.sh mutants', does: 'Hunts every mutant.' },
    {
      command: './run.sh mutants --only notify-after-commit --from 1000',
      does: 'Hunts one mutant, with other seeds.',
    },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  const mutants = chosen(options.only);
  const seeds = Array.from({ length: options.seeds }, (_, i) => options.from + i);
  const progress = startProgress();
  progress.phase('hunting', mutants.length, 'mutants');
  let done = 0;
  const hunted = await huntAll(mutants, {
    seedsOf: ({ name }) => (options.quick ? [QUICKEST[name] ?? 1] : seeds),
    jobs: options.jobs,
    signal,
    onHunted: () => {
      progress.update(++done);
    },
  });
  progress.end();
  process.stdout.write(`${tableLines(hunted).join('\n')}\n`);
  if (options.only.length === 0) process.stdout.write(`${withoutLines().join('\n')}\n`);
  if (options.update) await update(hunted);
  if (hunted.some(({ caught }) => caught === undefined)) process.exitCode = 1;
});

function chosen(names: readonly string[]): readonly Mutant[] {
  for (const name of names) {
    if (MUTANTS.some((mutant) => mutant.name === name)) continue;
    throw new UsageError(
      `--only must name a mutant, as \`./run.sh mutants\` lists them, not ${name}.`,
    );
  }
  return MUTANTS.filter(({ name }) => names.length === 0 || names.includes(name));
}

function tableLines(hunted: readonly Hunted[]): readonly string[] {
  const rows = hunted.map(({ mutant, caught }) => [
    mutant.rule,
    mutant.name,
    caught === undefined ? 'GOT AWAY' : caught.claim,
    caught === undefined ? '' : `${caught.runs} (seed ${caught.seed})`,
  ]);
  const escaped = hunted.filter(({ caught }) => caught === undefined).length;
  return [
    ...aligned([['rule', 'mutant', 'convicted of', 'after runs'], ...rows]),
    '',
    `${hunted.length - escaped} of ${hunted.length} mutants were caught.`,
  ];
}

function withoutLines(): readonly string[] {
  const lines = Object.entries(WITHOUT_MUTANT).map(([rule, why]) => `  ${rule}  ${why}`);
  return ['', 'Rules without a mutant:', ...lines];
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, i) =>
    Math.max(...rows.map((row) => (row[i] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((text, i) => text.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Keeps the seeds of mutants that were not hunted in this run. */
async function update(hunted: readonly Hunted[]): Promise<void> {
  const seeds: Record<string, number> = {};
  for (const { name } of MUTANTS) {
    const caught = hunted.find(({ mutant }) => mutant.name === name)?.caught;
    const seed = caught?.seed ?? QUICKEST[name];
    if (seed !== undefined) seeds[name] = seed;
  }
  await writeFile(QUICKEST_FILE, `${JSON.stringify(seeds, null, 2)}\n`);
}
