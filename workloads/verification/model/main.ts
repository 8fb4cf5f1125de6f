/**
 * `./run.sh model`: checks the model of leases, horizon and second phase, in every state of small
 * worlds.
 *
 * 1. Find TLC, or fetch it (checker.ts).
 * 2. Check each configuration: the engine's algorithm, and each mistake put back
 *    (configurations.ts).
 * 3. Print a line for each: the expected result, the actual result, and the number of states.
 * 4. With `--traces`, instead: check whether runs of the simulator are behaviours of the model.
 *
 * Exit codes: 0 if every result was as expected; 1 if one was not; 2 if TLC is missing, or for a
 * mistake on the command line.
 */
import { flag, integer, runCommand, startProgress, textList } from '#harness';
import { UsageError } from '#results';
import { check, type Checker, checkTrace, fetchChecker, findChecker } from './checker.ts';
import type { Outcome } from './checker.ts';
import { type Configuration, CONFIGURATIONS } from './configurations.ts';
import { recordTraces, type Trace } from './traces.ts';

const WIDTHS = [6, 50, 9, 9, 10, 8] as const;
const TRACE_HEAD = traceRow(['seed', 'events', 'deletions', 'reads', 'seconds', 'the model']);
const HEAD = row(['rule', 'configuration', 'expected', 'result', 'states', 'seconds']);

const specification = {
  script: 'model',
  description:
    'Checks a formal model (TLA+) of leases, the horizon of the garbage collection and the second phase of a ' +
    "commit: the engine's algorithm keeps the rules in every state of a small world, and breaks one with each " +
    'mistake that is put back. Needs Java.',
  options: {
    only: textList({
      description: 'the name of a configuration; may be given several times',
      placeholder: 'name',
      defaultText: 'all except the long ones',
    }),
    all: flag({ description: 'check the long ones too, which takes hours' }),
    story: flag({ description: 'print the whole counterexample where one is found' }),
    traces: integer({
      description: 'runs of the simulator to compare with the model, instead of checking the model',
      default: 0,
      defaultText: 'none',
      min: 0,
      max: 1e6,
    }),
    from: integer({
      description: 'the first seed of these runs',
      default: 1,
      min: 1,
      max: 2 ** 31 - 1,
    }),
    fetch: flag({ description: 'fetch TLC if it is missing, and check nothing' }),
  },
  examples: [
    { command: './run.sh model', does: 'Checks everything in about ten minutes.' },
    {
      command: './run.sh model --only bound-recorded-later --story',
      does: 'Shows how a snapshot loses versions that it reads.',
    },
    {
      command: './run.sh model --traces 20',
      does: 'Compares twenty runs of the simulator with the model.',
    },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  const chosen = choose(options);
  const checker = await checkerOrRefusal();
  if (options.fetch) return;
  if (options.traces > 0) await checkTraces(checker, options, signal);
  else await checkModel(checker, { chosen, hasStory: options.story }, signal);
});

async function checkModel(
  checker: Checker,
  { chosen, hasStory }: { readonly chosen: readonly Configuration[]; readonly hasStory: boolean },
  signal: AbortSignal,
): Promise<void> {
  const progress = startProgress({ stream: process.stderr });
  process.stdout.write(`${HEAD}\n`);
  for (const [i, configuration] of chosen.entries()) {
    progress.phase(`${configuration.name}, ${i + 1} of ${chosen.length}`, 0, 'states');
    const outcome = await check(checker, configuration, signal);
    if (signal.aborted) break;
    progress.end();
    process.stdout.write(`${line(configuration, outcome)}\n`);
    if (hasStory && outcome.result === 'broken') process.stdout.write(`${story(outcome)}\n`);
    if (outcome.result === configuration.expected) continue;
    process.exitCode = 1;
    process.stderr.write(`${outcome.output}\n`);
  }
  progress.end();
}

async function checkTraces(
  checker: Checker,
  { traces, from }: { readonly traces: number; readonly from: number },
  signal: AbortSignal,
): Promise<void> {
  process.stdout.write(`${TRACE_HEAD}\n`);
  for await (const trace of recordTraces(from, traces)) {
    const outcome = await checkTrace(checker, trace, signal);
    if (signal.aborted) return;
    process.stdout.write(`${traceLine(trace, outcome)}\n`);
    if (outcome.result === 'holds') continue;
    process.exitCode = 1;
    const at = trace.events[outcome.steps.length];
    process.stderr.write(`${at ?? outcome.output}\n`);
  }
}

function choose({
  only,
  all,
}: {
  readonly only: readonly string[];
  readonly all: boolean;
}): readonly Configuration[] {
  if (only.length === 0) return CONFIGURATIONS.filter(({ isLong }) => all || isLong !== true);
  return only.map((name) => {
    const found = CONFIGURATIONS.find((one) => one.name === name);
    if (found !== undefined) return found;
    const names = CONFIGURATIONS.map((one) => one.name).join(', ');
    throw new UsageError(`--only must name a configuration (${names}), not "${name}"`);
  });
}

async function checkerOrRefusal(): Promise<Checker> {
  try {
    await fetchChecker();
  } catch {
    // Without Python or network: the message below says what is missing.
  }
  const checker = await findChecker();
  if (typeof checker === 'string') throw new UsageError(checker);
  return checker;
}

function line({ rule, name, expected }: Configuration, outcome: Outcome): string {
  const { result, states, seconds, steps } = outcome;
  const cells = [rule, name, expected, result, states.toLocaleString('en'), seconds.toFixed(1)];
  const length = result === 'broken' ? `  after ${steps.length} steps` : '';
  return `${row(cells)}${length}${result === expected ? '' : '  NOT AS EXPECTED'}`;
}

function traceLine({ seed, events, deletions, reads }: Trace, outcome: Outcome): string {
  const { result, steps, seconds } = outcome;
  const counts = [seed, events.length, deletions, reads].map((count) => count.toLocaleString('en'));
  const verdict = result === 'broken' ? `not allowed: event ${steps.length + 1}` : result;
  return traceRow([...counts, seconds.toFixed(1), verdict]);
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, i) => (i < 4 ? cell.padEnd(WIDTHS[i] ?? 0) : cell.padStart(WIDTHS[i] ?? 0)))
    .join('  ');
}

/** The words of TLC: each step by its name, and the state that it leads to. */
function story({ output }: Outcome): string {
  const start = output.indexOf('State 1: ');
  const end = output.search(/^\d+ states generated/m);
  return output.slice(start, end < 0 ? undefined : end).trimEnd();
}

function traceRow(cells: readonly string[]): string {
  return cells.map((cell, i) => (i < 5 ? cell.padStart(9) : cell)).join('  ');
}
