/**
 * `./run.sh mutants:machine`: are the tests any good? The program changes the engine mechanically,
 * one small change at a time, and shows each mutant to the quick judges.
 *
 *   1. A parser finds every place where an operator can make a mistake (operators.ts), except for
 *      those that say nothing about the protocol (generate.ts).
 *   2. The judges run on the unchanged engine: what do they cost, and which code do they reach
 *      (judges.ts)?
 *   3. Another process (bench.ts) loads each mutant, and shows it to the judges that reach it:
 *      tests of its folder, the cheapest tests of others (all with `--thorough`), simulated seeds,
 *      exhaustive searches. The first that fails has killed it.
 *   4. The record counts the mutants by folder, and lists the survivors. Each survivor must be
 *      killed by a new test, or listed in equivalents/.
 *
 * Why not Stryker? Its operators are fixed: none awaits a promise too late or exchanges two
 * timestamps. Its judges are test runners, so the simulator and the search could not take part. And
 * it excludes mutants with wrong types through a TypeScript interface that TypeScript 7 does not
 * have.
 */
import path from 'node:path';
import {
  counted,
  flag,
  integer,
  type Measuring,
  runExperiment,
  seedOption,
  type Sizes,
  text,
  textList,
} from '#harness';
import { type FindingsParts, UsageError } from '#results';
import { findingsOf, judgedOf, readEquivalents, reasonFor, rowsOf, staleOf } from './findings.ts';
import {
  filesOf,
  FOLDERS,
  inFairOrder,
  KEPT,
  type MachineMutant,
  mutantsOf,
  readSource,
  type SkipName,
} from './generate.ts';
import { judgeAll, Ledger, type MutantVerdict, type VerdictOptions } from './verdict.ts';
import { measureJudges } from './judges.ts';

/** Guesses, for the plan; there are some 3,000 mutants, and 80 judges. */
const JUDGES_SECONDS = 300;
const MUTANT_SECONDS = 3;
const MUTANTS = 3_000;

const EXAMPLE = 'oracle/allocator.ts:135';

const SIZES: Sizes<{ readonly sample: number }> = {
  smoke: { sample: 2 },
  quick: { sample: 50 },
  standard: { sample: 500 },
  full: { sample: 1e6 },
};

interface MachineSettings {
  readonly only: readonly string[];
  readonly sample: number;
  readonly seed: number;
  readonly jobs: number;
  readonly ledger: string;
  readonly anew: boolean;
  readonly survivors: boolean;
  readonly thorough: boolean;
}

await runExperiment(
  {
    script: 'mutants:machine',
    subject: {
      kind: 'proof',
      kicker: 'Verification',
      title: 'Small changes, and the tests that notice them',
    },
    description:
      'Changes the engine mechanically, one change at a time, and shows each mutant to the quick judges. ' +
      'Reports how many survived, by folder, and which.',
    sizes: SIZES,
    options: {
      only: textList({
        description: 'a folder, file or line below engine/ to change; may be given several times',
        placeholder: 'place',
        defaultText: 'all folders',
      }),
      sample: integer({
        description: 'mutants to judge, with a fair share of each folder and operator',
        min: 1,
        max: 1e6,
      }),
      seed: seedOption('which mutants are drawn first'),
      jobs: integer({
        description: 'mutants judged at the same time',
        default: 1,
        min: 1,
        max: 256,
      }),
      ledger: text({
        description: 'the file to which verdicts are added; a mutant in it is not judged again',
        default: path.join(KEPT, 'ledger.jsonl'),
        defaultText: 'results/runs/mutants-machine/ledger.jsonl',
        placeholder: 'file',
      }),
      anew: flag({ description: 'forget the verdicts in the ledger first' }),
      survivors: flag({
        description: 'judge again the survivors that are not listed in equivalents/',
      }),
      thorough: flag({
        description:
          'ask all judges that reach a mutant, however long they take; also about survivors in the ledger that not all have seen',
      }),
      list: flag({ description: 'only print the mutants' }),
    },
    examples: [
      {
        command: `./run.sh mutants:machine --only ${EXAMPLE}`,
        does: 'judges mutants of one line',
      },
    ],
    instead: {
      list: async ({ only }) => {
        const lines = chosen(generate().mutants, only).map(
          ({ file, line, key }) => `${file}:${line}  ${key}`,
        );
        process.stdout.write(`${lines.join('\n')}\n`);
      },
    },
    plan: ({ sample, jobs, ledger }) => ({
      about: `up to ${counted(sample, 'changes')}, after the judges were measured, which takes minutes unless it was done since the engine last changed`,
      seconds: JUDGES_SECONDS + (Math.min(sample, MUTANTS) * MUTANT_SECONDS) / jobs,
      store: { name: 'simulated', durability: 'as in ./run.sh simulate' },
      limitations: [
        'The judges are tests that take seconds, and a few seeds and searches.',
        `Verdicts of earlier runs (${path.basename(ledger)}) count as long as the engine's file is unchanged, even if the tests have changed.`,
      ],
    }),
  },
  measureAll,
);

async function measureAll(settings: MachineSettings, measuring: Measuring): Promise<FindingsParts> {
  const { mutants: all, skipped } = generate();
  const mutants = chosen(all, settings.only);
  const ledger = new Ledger(settings.ledger, { anew: settings.anew });
  const equivalents = readEquivalents();
  const drawn = inFairOrder(mutants, settings.seed).slice(0, settings.sample);
  const waiting = drawn.filter((mutant) => {
    const isExplained = reasonFor(mutant, equivalents) !== undefined;
    return ledger.awaitsJudges(mutant, { ...settings, isExplained });
  });
  try {
    if (waiting.length > 0) await judgeWaiting(waiting, ledger, settings, measuring);
  } catch (error) {
    if (!measuring.signal.aborted) throw error;
  }
  const judged = judgedOf(drawn, (mutant) => ledger.verdictOn(mutant), equivalents);
  const stale = staleOf(equivalents, all);
  return findingsOf({
    planned: drawn.length,
    rows: rowsOf(mutants, judged),
    judged,
    skipped,
    stale,
  });
}

function generate(): {
  mutants: readonly MachineMutant[];
  skipped: Partial<Record<SkipName, number>>;
} {
  const skipped: Partial<Record<SkipName, number>> = {};
  const mutants = FOLDERS.flatMap(filesOf).flatMap((file) => {
    const generated = mutantsOf(file, readSource(file));
    for (const [name, count] of Object.entries(generated.skipped)) {
      skipped[name as SkipName] = (skipped[name as SkipName] ?? 0) + count;
    }
    return generated.mutants;
  });
  return { mutants, skipped };
}

function chosen(
  all: readonly MachineMutant[],
  places: readonly string[],
): readonly MachineMutant[] {
  const isAt = ({ file, line }: MachineMutant, place: string): boolean => {
    const below = `engine/${place}`;
    return file === below || `${file}:${line}` === below || file.startsWith(`${below}/`);
  };
  for (const place of places) {
    if (all.some((mutant) => isAt(mutant, place))) continue;
    throw new UsageError(
      `--only must name a folder, a file or a line with mutants, such as ${EXAMPLE}, but is ${JSON.stringify(place)}.`,
    );
  }
  if (places.length === 0) return all;
  return all.filter((mutant) => places.some((place) => isAt(mutant, place)));
}

async function judgeWaiting(
  mutants: readonly MachineMutant[],
  ledger: Ledger,
  { ledger: file, jobs, thorough }: MachineSettings,
  measuring: Measuring,
): Promise<void> {
  const { progress, signal } = measuring;
  const judges = await findJudges(path.join(path.dirname(file), 'judges.json'), measuring);
  progress.phase('judging', mutants.length, 'mutants');
  let judged = 0;
  const onVerdict = (verdict: MutantVerdict): void => {
    ledger.add(verdict);
    progress.update(++judged);
  };
  await judgeAll(mutants, { judges, isThorough: thorough }, { jobs, signal, onVerdict });
}

async function findJudges(
  keptIn: string,
  { progress, signal }: Measuring,
): Promise<VerdictOptions['judges']> {
  progress.phase('measuring the judges', 0, 'judges');
  const { judges, refused } = await measureJudges(keptIn, (done) => progress.update(done), signal);
  for (const { step, why } of refused) progress.note(`No judge: ${step}: ${why}`);
  return judges;
}
