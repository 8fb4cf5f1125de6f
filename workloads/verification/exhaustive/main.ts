/**
 * `./run.sh exhaust`: everything that can happen to two transactions, and a reader that resolves
 * the locks it meets, over up to three cells (workloads/verification/exhaustive).
 *
 * 1. For each scenario, suspicion (which processes are presumed dead) and budget of faults: visit
 *    every interleaving (searches.ts).
 * 2. Record one line for each: how many executions, in how many states, and whether that was all.
 * 3. Tell a violation as a story, with the commands that replay it and show it in the explorer.
 */
import { sum } from 'simple-statistics';
import { choice, counted, integer, type Measuring, runExperiment, type Sizes } from '#harness';
import { text, textList } from '#harness';
import { UsageError } from '#results';
import { findingsOf, linkLines, type Searched, storyLines } from './findings.ts';
import { exhaust, type SearchFailure, retell } from './index.ts';
import { linkTo } from './link.ts';
import {
  coverageOfLarge,
  exhaustOptionsOf,
  type PlannedSearch,
  searchesOf,
  secondsOf,
  SUSPICIONS,
} from './searches.ts';

interface SearchSize {
  readonly crashes: number;
  readonly duplicates: number;
  readonly lostAnswers: number;
  readonly hasLarge: boolean;
}

const SIZES: Sizes<SearchSize> = {
  smoke: { crashes: 1, duplicates: 0, lostAnswers: 0, hasLarge: false },
  quick: { crashes: 1, duplicates: 0, lostAnswers: 0, hasLarge: true },
  standard: { crashes: 1, duplicates: 1, lostAnswers: 0, hasLarge: true },
  full: { crashes: 1, duplicates: 1, lostAnswers: 1, hasLarge: true },
};
const some = { min: 0, max: 3 } as const;

await runExperiment(
  {
    script: 'exhaust',
    subject: { kind: 'proof', kicker: 'Verification', title: 'Every interleaving of small cases' },
    description:
      'Visits every interleaving of two transactions over up to three cells, with a reader that resolves ' +
      'locks, processes that die, and messages that arrive twice, late or never. The engine is the real one; ' +
      'storage, network and time are modelled. No search has both lost answers and duplicates, because its size ' +
      'would be the product of the two. The scenarios three and three-crossed are large: unless they are named, ' +
      'they are searched without duplicates and lost answers, and a smoke run leaves them out.',
    sizes: SIZES,
    options: {
      scenario: textList({
        description: 'the name of a scenario; may be given several times',
        placeholder: 'name',
        defaultText: 'every scenario',
      }),
      suspicion: choice({
        description: 'which processes are presumed dead: all others, or only crashed ones',
        choices: SUSPICIONS,
        defaultText: 'both, one after the other',
      }),
      crashes: integer({ description: 'processes that may die', ...some }),
      duplicates: integer({ description: 'mutations that may arrive a second time', ...some }),
      lostAnswers: integer({ description: 'mutations whose answer may be lost', ...some }),
      maxStates: integer({
        description: 'a search of more states gives up; each state takes about 150 bytes of memory',
        default: 20_000_000,
        min: 1,
        max: 1e9,
      }),
      replay: text({
        description:
          'tell the story of these choices, as printed with a violation; needs one --scenario and one --suspicion',
        placeholder: 'numbers',
      }),
    },
    examples: [
      {
        command: './run.sh exhaust --scenario crossed --duplicates 2',
        does: 'visits one scenario, in which two messages may arrive twice',
      },
    ],
    instead: { replay: ({ replay = '', ...options }) => tell(searchesOf(options), replay) },
    plan: (options) => {
      const searches = searchesOf(options);
      return {
        about: `${counted(searches.length, 'searches')}${coverageOfLarge(searches)}`,
        seconds: sum(searches.map(secondsOf)),
        store: { name: 'modelled', durability: 'a mutation that was applied stays' },
        limitations: [
          'Not covered: scans, garbage collection, clocks that differ, leases that end.',
        ],
      };
    },
  },
  async (options, { keep, ...measuring }) => {
    const searches = searchesOf(options);
    const ended: Searched[] = [];
    for (const [i, search] of searches.entries()) {
      const name = `${search.scenario.name}, ${i + 1} of ${searches.length}`;
      const searched = await visit(name, search, measuring);
      if (measuring.signal.aborted) return findingsOf(ended, searches.length, searched);
      ended.push(searched);
      keep(findingsOf(ended, searches.length));
    }
    return findingsOf(ended, searches.length);
  },
);

async function visit(
  name: string,
  search: PlannedSearch,
  { progress, signal }: Pick<Measuring, 'progress' | 'signal'>,
): Promise<Searched> {
  progress.phase(name, 0, 'states');
  const startedMs = performance.now();
  const onProgress = (states: number): boolean => {
    progress.update(states);
    return !signal.aborted;
  };
  const report = await exhaust(search.scenario, { ...exhaustOptionsOf(search), onProgress });
  const seconds = (performance.now() - startedMs) / 1_000;
  return { search, report, seconds, link: await linkOf(search, report.failure) };
}

/** Undefined if nothing is wrong, or if the explorer cannot show it. */
async function linkOf(
  search: PlannedSearch,
  failure: SearchFailure | undefined,
): Promise<string | undefined> {
  if (failure === undefined || failure.violations.length === 0) return undefined;
  return linkTo(search.scenario, exhaustOptionsOf(search), failure.choices);
}

/** Prints the story; exits with 1 if it breaks a rule. */
async function tell(searches: readonly PlannedSearch[], given: string): Promise<void> {
  const [only] = searches;
  if (only === undefined || searches.length > 1) {
    throw new UsageError(
      '--replay needs one --scenario, one --suspicion, and --lost-answers 0 or --duplicates 0.',
    );
  }
  const told = await retoldOrRefused(only, choicesIn(given));
  const lines = [...storyLines(told), ...linkLines(await linkOf(only, told))];
  process.stdout.write(`\n${lines.join('\n')}\n\n`);
  if (told.violations.length > 0) process.exitCode = 1;
}

/** Refuses an empty choice, which would be taken for choice 0. */
function choicesIn(given: string): readonly number[] {
  if (/^\d+(?:\.\d+)*$/.test(given)) return given.split('.').map(Number);
  throw new UsageError(
    `--replay must be numbers with dots between them, such as 0.2.1, but is ${JSON.stringify(given)}.`,
  );
}

async function retoldOrRefused(
  search: PlannedSearch,
  choices: readonly number[],
): Promise<SearchFailure> {
  try {
    return await retell(search.scenario, exhaustOptionsOf(search), choices);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`--replay must be choices of this search, but ${error.message}.`, {
      cause: error,
    });
  }
}
