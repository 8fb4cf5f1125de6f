/**
 * `./run.sh mutants:machine`: are the tests any good? The program changes the engine mechanically,
 * one small change at a time, and shows each mutant to the quick judges.
 *
 *   1. A parser finds every place where an operator can make a mistake (operators.ts), except for
 *      those that say nothing about the protocol (skips.ts).
 *   2. The judges run on the unchanged engine: what do they cost, and which code do they reach
 *      (judges.ts)?
 *   3. Another process (bench.ts) loads each mutant, and shows it to the judges that reach it:
 *      tests of its folder, tests of others, simulated seeds, exhaustive searches. The first that
 *      fails has killed it.
 *   4. The program prints a table by folder, and the survivors. Each must be killed by a new test,
 *      or listed in equivalents/.
 *
 * Why not Stryker? Its operators are fixed: none awaits a promise too late or exchanges two
 * timestamps. Its judges are test runners, so the simulator and the search could not take part. And
 * it excludes mutants with wrong types through a TypeScript interface that TypeScript 7 does not
 * have.
 *
 * Exit codes: 0; 1 if more than 5 % of the judged mutants survived without a reason; 2 for a
 * mistake on the command line.
 */
import path from 'node:path';
import { flag, integer, runCommand, startProgress, text, textList } from '#harness';
import { UsageError } from '#results';
import { Bench } from './bench.ts';
import { readEquivalents, reasonFor, staleOf } from './equivalents.ts';
import { filesOf, FOLDERS, KEPT, readSource } from './folders.ts';
import { type MachineMutant, mutantsOf } from './generate.ts';
import { measureJudges } from './judges.ts';
import { Ledger } from './ledger.ts';
import { writeRecord } from './record.ts';
import { inFairOrder } from './sample.ts';
import { type SkipName, SKIPS } from './skips.ts';
import { isSurvivor, judgedOf, linesOf, rowsOf } from './summary.ts';
import { type VerdictOptions, judge } from './verdict.ts';

const NOT_EXPLAINED_MAX = 0.05;

const specification = {
  script: 'mutants:machine',
  description:
    'Changes the engine mechanically, one change at a time, and shows each mutant to the quick judges. ' +
    'Prints how many survived, by folder, and which.',
  options: {
    only: textList({
      description: 'a folder, file or line below engine/ to change; may be given several times',
      placeholder: 'place',
      defaultText: 'all folders',
    }),
    sample: integer({
      description: 'mutants to judge, with a fair share of each folder and operator',
      defaultText: 'all',
      min: 1,
      max: 1e6,
    }),
    seed: integer({
      description: 'decides which mutants are drawn first',
      default: 1,
      min: 0,
      max: 2 ** 31 - 1,
    }),
    jobs: integer({ description: 'mutants judged at the same time', default: 1, min: 1, max: 256 }),
    ledger: text({
      description: 'the file to which verdicts are added; a mutant in it is not judged again',
      default: path.join(KEPT, 'ledger.jsonl'),
      defaultText: 'results/runs/mutants-machine/ledger.jsonl',
      placeholder: 'file',
    }),
    anew: flag({ description: 'forget the verdicts in the ledger first' }),
    survivors: flag({ description: 'judge survivors again' }),
    thorough: flag({ description: 'ask all judges that reach a mutant, however long they take' }),
    record: flag({ description: 'save the result as the reference in results/' }),
    list: flag({ description: 'only print the mutants' }),
  },
  examples: [
    { command: './run.sh mutants:machine --sample 100', does: 'Judges a fair sample.' },
    {
      command: './run.sh mutants:machine --only oracle/allocator.ts:111',
      does: 'Judges the mutants of one line.',
    },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  const { mutants: all, skipped } = generate();
  const mutants = chosen(all, options.only);
  if (options.list) {
    for (const { file, line, key } of mutants) process.stdout.write(`${file}:${line}  ${key}\n`);
    return;
  }
  const ledger = new Ledger(options.ledger, { anew: options.anew });
  const equivalents = readEquivalents();
  const drawn = inFairOrder(mutants, options.seed).slice(0, options.sample);
  const waiting = drawn.filter((mutant) => {
    const verdict = ledger.verdictOn(mutant);
    if (verdict === undefined) return true;
    const isUnexplained = reasonFor(mutant, equivalents) === undefined;
    return options.survivors && verdict.killedBy === undefined && isUnexplained;
  });
  if (waiting.length > 0) {
    const keptIn = path.join(path.dirname(options.ledger), 'judges.json');
    await judgeAll(waiting, ledger, {
      court: { ...(await findJudges(keptIn, signal)), isThorough: options.thorough },
      jobs: options.jobs,
      signal,
    });
  }

  const judged = judgedOf(drawn, (mutant) => ledger.verdictOn(mutant), equivalents);
  const rows = rowsOf(mutants, judged);
  process.stdout.write(`\n${linesOf(rows, judged).join('\n')}\n`);
  process.stdout.write(`\n${skipLines(skipped).join('\n')}\n`);
  const stale = staleOf(equivalents, all);
  for (const one of stale) process.stdout.write(`STALE, no longer generated: ${one}\n`);
  const wrong = judged.filter((one) => !isSurvivor(one) && one.reason !== undefined);
  for (const { mutant } of wrong) {
    process.stdout.write(`KILLED, though listed as equivalent: ${mutant.file}: ${mutant.key}\n`);
  }
  if (options.record) writeRecord({ seed: options.seed, rows, judged, skipped });
  const total = rows.at(-1)?.notExplained ?? 0;
  if (total > NOT_EXPLAINED_MAX || stale.length + wrong.length > 0) process.exitCode = 1;
});

function skipLines(skipped: Partial<Record<SkipName, number>>): readonly string[] {
  return Object.entries(skipped).map(
    ([name, count]) => `${count} not made, by the rule ${name}: ${SKIPS[name as SkipName].reason}.`,
  );
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
      `--only must name a folder, a file or a line with mutants, such as oracle/allocator.ts:111, not ${place}.`,
    );
  }
  if (places.length === 0) return all;
  return all.filter((mutant) => places.some((place) => isAt(mutant, place)));
}

async function findJudges(
  keptIn: string,
  signal: AbortSignal,
): Promise<Pick<VerdictOptions, 'judges'>> {
  const progress = startProgress();
  progress.phase('measuring the judges', 0, 'judges');
  const { judges, refused } = await measureJudges(keptIn, (done) => progress.update(done), signal);
  progress.end();
  for (const { step, why } of refused) process.stdout.write(`No judge: ${step}: ${why}\n`);
  return { judges };
}

async function judgeAll(
  mutants: readonly MachineMutant[],
  ledger: Ledger,
  {
    court,
    jobs,
    signal,
  }: { readonly court: VerdictOptions; readonly jobs: number; signal: AbortSignal },
): Promise<void> {
  const progress = startProgress();
  progress.phase('judging', mutants.length, 'mutants');
  const waiting = [...mutants];
  const work = async (): Promise<void> => {
    using bench = new Bench();
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      signal.throwIfAborted();
      ledger.add(await judge(mutant, court, bench));
      progress.update(mutants.length - waiting.length);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  progress.end();
}
