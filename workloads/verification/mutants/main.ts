/**
 * `./run.sh mutants`: are the judges any good? Every known mistake of the protocol is put back into
 * the engine, one at a time, and simulated until a judge convicts it.
 *
 * 1. For each mutant, try seeds from the first on, until a judge convicts it with a seed that the
 *    unchanged engine passes; or only the one seed that is known to convict it.
 * 2. Record the rule, the mutant, which judge convicted it of what, and after how many runs.
 */
import { writeFile } from 'node:fs/promises';
import {
  counted,
  firstSeedOption,
  flag,
  integer,
  jobsOption,
  runExperiment,
  type Sizes,
  textList,
  verdictOf,
} from '#harness';
import {
  column,
  type FindingsParts,
  pair,
  type ResultTable,
  resultTable,
  UsageError,
} from '#results';
import { GALLERY } from '../explorer/gallery/index.ts';
import { huntAll, type Hunted } from './hunt.ts';
import type { Mutant } from './mutant.ts';
import { knownSeedsOf, MUTANTS, QUICKEST, WITHOUT_MUTANT } from './mutants.ts';

const QUICKEST_FILE = new URL('./quickest.json', import.meta.url);
/** Guesses, for the plan: to load a mutant, to simulate a run, and the runs until a conviction. */
const LOAD_SECONDS = 1;
const RUN_SECONDS = 0.08;
const RUNS_MEAN = 50;

const SIZES: Sizes<{ readonly seeds: number; readonly mutantsMax: number }> = {
  smoke: { seeds: 0, mutantsMax: 4 },
  quick: { seeds: 0, mutantsMax: MUTANTS.length },
  standard: { seeds: 5_000, mutantsMax: MUTANTS.length },
  full: { seeds: 100_000, mutantsMax: MUTANTS.length },
};

await runExperiment(
  {
    script: 'mutants',
    subject: { kind: 'proof', kicker: 'Verification', title: 'Known mistakes, put back' },
    description:
      'Puts every known mistake of the protocol back into the engine, one at a time, and simulates ' +
      'until a judge convicts it. Reports which judge, and after how many runs.',
    sizes: SIZES,
    options: {
      only: textList({
        description: 'the name of a mutant; may be given several times',
        placeholder: 'name',
        defaultText: 'all, with --profile smoke the first four',
      }),
      seeds: integer({
        description:
          'runs after which a mutant has got away; 0 makes only the one run that is known to convict it',
        min: 0,
        max: 1e6,
      }),
      seed: firstSeedOption(),
      jobs: jobsOption('mutants hunted'),
      update: flag({
        description: 'write the seeds that convicted the mutants to quickest.json, for the tests',
      }),
    },
    examples: [
      {
        command: './run.sh mutants --only notify-after-commit --seeds 5000 --seed 1000',
        does: 'hunts one mutant, with other seeds',
      },
    ],
    plan: (options) => {
      const { seeds, jobs } = options;
      const needing = options.update ? '--update' : options.seed === 1 ? undefined : '--seed';
      if (needing !== undefined && seeds === 0) {
        throw new UsageError(
          `${needing} needs --seeds of at least 1, as with --profile standard, but --seeds is 0.`,
        );
      }
      const { length } = chosen(options);
      const runs = Math.max(1, Math.min(seeds, RUNS_MEAN));
      return {
        about: `${counted(length, 'mutants')}, ${seeds === 0 ? 'the known seed' : `up to ${counted(seeds, 'seeds')}`} of each`,
        seconds: (length * (LOAD_SECONDS + runs * RUN_SECONDS)) / jobs,
        store: { name: 'simulated', durability: 'as in ./run.sh simulate' },
        limitations: ['A mutant that is convicted once may be hard to convict: see its runs.'],
      };
    },
  },
  async (options, { progress, signal }) => {
    const mutants = chosen(options);
    const seeds = Array.from({ length: options.seeds }, (_, i) => options.seed + i);
    progress.phase('hunting', mutants.length, 'mutants');
    const hunted = await huntAll(mutants, {
      seedsOf: (mutant) => (seeds.length === 0 ? knownSeedsOf(mutant) : seeds),
      jobs: options.jobs,
      signal,
      onHunted: (done) => progress.update(done),
    });
    if (options.update) await update(hunted);
    return findingsOf(hunted, mutants);
  },
);

function chosen({
  only,
  mutantsMax,
}: {
  readonly only: readonly string[];
  readonly mutantsMax: number;
}): readonly Mutant[] {
  for (const name of only) {
    if (MUTANTS.some((mutant) => mutant.name === name)) continue;
    throw new UsageError(
      `--only must name a mutant, as \`./run.sh mutants\` lists them, but is ${JSON.stringify(name)}.`,
    );
  }
  return only.length === 0
    ? MUTANTS.slice(0, mutantsMax)
    : MUTANTS.filter(({ name }) => only.includes(name));
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

/** @param mutants those that were to be hunted */
function findingsOf(hunted: readonly Hunted[], mutants: readonly Mutant[]): FindingsParts {
  const escaped = hunted.filter(({ caught }) => caught === undefined);
  return {
    headline: `The judges convicted ${hunted.length - escaped.length} of ${counted(hunted.length, 'mutants')}.`,
    check: verdictOf({
      unit: 'mutants',
      planned: mutants.length,
      done: hunted.length,
      fault: 'got away',
      found: escaped.map(({ mutant }) => mutant.name),
    }),
    tables: [
      mutantTable(hunted),
      ...(mutants.length === MUTANTS.length ? [rulesWithoutMutant()] : []),
    ],
    charts: [],
    targets: [],
  };
}

function mutantTable(hunted: readonly Hunted[]): ResultTable {
  return resultTable(
    {
      name: 'mutants',
      title: 'Mistakes put back, and the judge that convicted each',
      caption:
        'Runs until the conviction, and its seed, which the unchanged engine passes. The explorer shows ' +
        'some step by step: `./run.sh explore --link` with the name in the last column.',
    },
    hunted,
    [
      column('rule', ({ mutant }) => mutant.rule),
      column('mutant', ({ mutant }) => mutant.name),
      column('convicted of', ({ caught }) => caught?.claim ?? 'GOT AWAY'),
      column('runs', ({ caught }) => caught?.runs ?? null),
      column('seed', ({ caught }) => caught?.seed ?? null),
      column('explore --link', ({ mutant }) => storyOf(mutant)),
    ],
  );
}

/** The first entry of the explorer's gallery that shows the mutant; null if none does. */
function storyOf(mutant: Mutant): string | null {
  return GALLERY.find((entry) => entry.mutant === mutant.name)?.name ?? null;
}

function rulesWithoutMutant(): ResultTable {
  return resultTable(
    {
      name: 'rules-without-mutant',
      title: 'Rules without a mutant',
      caption: 'Rules of engine/protocol.md that no change of the simulated engine can break.',
    },
    Object.entries(WITHOUT_MUTANT),
    pair('rule', 'reason'),
  );
}
