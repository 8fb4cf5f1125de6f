/**
 * `./run.sh exhaust`: everything that can happen to two transactions, and a reader that resolves the
 * locks it meets, over up to three cells (workloads/verification/exhaustive).
 *
 * 1. For each scenario, suspicion (which processes are taken for dead) and budget of faults: visit
 *    every interleaving.
 * 2. Print one line for each: how many executions, in how many states, and whether that was all.
 * 3. Print a violation as a story, with the command that replays it.
 *
 * Exit codes: 0 if no rule was broken in what was visited; 1 if one was; 2 for a mistake on the
 * command line.
 */
import {
  type ExhaustOptions,
  exhaust,
  type Failure,
  retell,
  type Scenario,
  SCENARIOS,
  type Suspicion,
} from './index.ts';
import { choice, integer, runCommand, startProgress, text, textList } from '#harness';
import { UsageError } from '#results';
import { reportLine, TABLE_HEAD } from './report-lines.ts';

const SUSPICIONS = ['all', 'crashed'] as const;
const some = { default: 1, min: 0, max: 3 } as const;

const specification = {
  script: 'exhaust',
  description:
    'Visits every interleaving of two transactions over up to three cells, with a reader that resolves ' +
    'locks, processes that die, and messages that arrive twice, late or never. The engine is the real one; ' +
    'storage, network and time are modelled. A search with lost answers has no duplicates, because its size ' +
    'would be the product of both.',
  options: {
    scenario: textList({
      description: 'the name of a scenario; may be given several times',
      placeholder: 'name',
      defaultText: 'every scenario',
    }),
    suspicion: choice({
      description: 'which processes are taken for dead: all others, or only crashed ones',
      choices: SUSPICIONS,
      defaultText: 'both, one after the other',
    }),
    crashes: integer({ description: 'processes that may die', ...some }),
    duplicates: integer({ description: 'mutations that may arrive a second time', ...some }),
    lostAnswers: integer({ description: 'mutations whose answer may be lost', ...some }),
    maxStates: integer({
      description: 'states after which a search gives up; each takes about 150 bytes of memory',
      default: 20_000_000,
      min: 1,
      max: 1e9,
    }),
    replay: text({
      description: 'tells the story of these choices, as printed with a violation',
      placeholder: 'numbers',
    }),
  },
  examples: [
    {
      command: './run.sh exhaust',
      does: 'Visits everything; takes about an hour, and 3 GB of memory.',
    },
    {
      command: './run.sh exhaust --scenario crossed --duplicates 2 --lost-answers 0',
      does: 'Visits one scenario, in which two messages may arrive twice.',
    },
  ],
} as const;

interface SearchPlan {
  readonly scenario: Scenario;
  readonly options: ExhaustOptions & { readonly suspicion: Suspicion };
}

await runCommand(specification, async (options, { signal }) => {
  const plans = plan(options);
  if (options.replay !== undefined) {
    await replay(plans, options.replay);
    return;
  }
  const progress = startProgress({ stream: process.stderr });
  process.stdout.write(`${TABLE_HEAD}\n`);
  for (const [i, { scenario, options: searched }] of plans.entries()) {
    if (signal.aborted) break;
    progress.phase(`${scenario.name}, ${i + 1} of ${plans.length}`, 0, 'states');
    const startedMs = performance.now();
    const onProgress = (states: number): boolean => {
      progress.update(states);
      return !signal.aborted;
    };
    const report = await exhaust(scenario, { ...searched, onProgress });
    const seconds = (performance.now() - startedMs) / 1000;
    progress.end();
    process.stdout.write(`${reportLine(report, searched, seconds)}\n`);
    if (report.failure !== undefined) {
      tell(report.failure);
      process.stdout.write(`${commandOf({ scenario, options: searched }, report.failure)}\n`);
    }
  }
});

function plan(options: {
  readonly scenario: readonly string[];
  readonly suspicion: Suspicion | undefined;
  readonly crashes: number;
  readonly duplicates: number;
  readonly lostAnswers: number;
  readonly maxStates: number;
}): readonly SearchPlan[] {
  const { crashes, duplicates, lostAnswers, maxStates: statesMax } = options;
  const budgets = [{ crashes, copies: duplicates, lostAnswers: 0 }];
  if (lostAnswers > 0) budgets.push({ crashes, copies: 0, lostAnswers });
  const suspicions = options.suspicion === undefined ? SUSPICIONS : [options.suspicion];
  return chosen(options.scenario).flatMap((scenario) =>
    suspicions.flatMap((suspicion) =>
      budgets.map((budget) => ({ scenario, options: { ...budget, suspicion, statesMax } })),
    ),
  );
}

function chosen(names: readonly string[]): readonly Scenario[] {
  const known = SCENARIOS.map(({ name }) => name);
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new UsageError(
      `--scenario must be one of ${known.join(', ')}, but is ${JSON.stringify(name)}.`,
    );
  }
  return SCENARIOS.filter(({ name }) => names.length === 0 || names.includes(name));
}

async function replay(plans: readonly SearchPlan[], given: string): Promise<void> {
  const [only] = plans;
  if (only === undefined || plans.length > 1) {
    throw new UsageError(
      '--replay needs one --scenario, one --suspicion, and --lost-answers 0 or --duplicates 0.',
    );
  }
  const choices = given.split('.').map(Number);
  try {
    tell(await retell(only.scenario, only.options, choices));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`--replay must be choices of this search, but ${error.message}.`, {
      cause: error,
    });
  }
}

function tell({ violations, story }: Failure): void {
  const lines = story.map((line, i) => `${String(i + 1).padStart(4)}  ${line}`);
  const wrong = violations.map(({ claim, message }) => `  ${claim}: ${message}`);
  process.stdout.write(`\n${[...lines, '', ...wrong].join('\n')}\n\n`);
  if (violations.length > 0) process.exitCode = 1;
}

function commandOf({ scenario, options }: SearchPlan, { choices }: Failure): string {
  const { suspicion, crashes = 0, copies = 0, lostAnswers = 0 } = options;
  return (
    `./run.sh exhaust --scenario ${scenario.name} --suspicion ${suspicion} --crashes ${crashes} ` +
    `--duplicates ${copies} --lost-answers ${lostAnswers} --replay ${choices.join('.')}`
  );
}
