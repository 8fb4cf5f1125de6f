/**
 * `./run.sh model`: checks the model of leases, horizon and second phase, in every state of small
 * worlds.
 *
 * 1. Find TLC, or fetch it (checker.ts).
 * 2. Check each configuration: the engine's algorithm, and each mistake put back
 *    (configurations.ts). The record has the expected result, the actual one, and the number of
 *    states.
 * 3. With `--traces`, instead: check whether runs of the simulator are behaviours of the model.
 */
import { sum } from 'simple-statistics';
import {
  counted,
  firstSeedOption,
  flag,
  integer,
  type Measuring,
  onlyWith,
  runExperiment,
  type Sizes,
  textList,
} from '#harness';
import { type FindingsParts, UsageError } from '#results';
import { check, type Checker, checkTrace, fetchChecker, findChecker } from './checker.ts';
import { type Configuration, CONFIGURATIONS } from './configurations.ts';
import { type Checked, type CheckedTrace, modelFindings, traceFindings } from './findings.ts';
import { recordTraces } from './traces.ts';

const FEW = new Set(['no-second-look', 'uncovered-readers-do-not-look', 'no-markers']);
/** Guesses, for the plan. */
const SHORT_SECONDS = 20;
const LONG_SECONDS = 3_600;
const TRACE_SECONDS = 10;

const OF_WORLDS = 'The worlds have one or two processes and a few timestamps.';
const OF_TRACES =
  'What a process knows without telling, such as whether it is covered, is checked only by its consequences.';

interface ModelSize {
  /** The configurations that are checked if none is named. */
  readonly wanted: (configuration: Configuration) => boolean;
}

const isShort = ({ isLong }: Configuration): boolean => isLong !== true;
const SIZES: Sizes<ModelSize> = {
  smoke: { wanted: ({ name }) => FEW.has(name) },
  quick: { wanted: isShort },
  standard: { wanted: isShort },
  full: { wanted: () => true },
};

/** With `--traces` no configuration is checked. */
const WITH_CONFIGURATIONS = { traces: ['0'] } as const;

interface ModelSettings extends ModelSize {
  readonly only: readonly string[];
  readonly traces: number;
  readonly seed: number;
  readonly story: boolean;
}

await runExperiment(
  {
    script: 'model',
    subject: { kind: 'proof', kicker: 'Verification', title: 'A model of leases and second phase' },
    description:
      'Checks a formal model (TLA+) of leases, the horizon of the garbage collection and the second phase of a ' +
      "commit: the engine's algorithm keeps the rules in every state of a small world, and breaks one with each " +
      'mistake that is put back. Needs Java.',
    sizes: SIZES,
    options: {
      only: onlyWith(
        WITH_CONFIGURATIONS,
        textList({
          description: 'the name of a configuration; may be given several times',
          placeholder: 'name',
          defaultText: 'by profile: three | all except the long ones | the same | all',
        }),
      ),
      story: onlyWith(
        WITH_CONFIGURATIONS,
        flag({ description: 'record the whole counterexample where one is found' }),
      ),
      traces: integer({
        description:
          'runs of the simulator to compare with the model, instead of checking the model',
        default: 0,
        defaultText: 'none',
        min: 0,
        max: 1e6,
      }),
      seed: firstSeedOption(),
    },
    examples: [
      {
        command: './run.sh model --only bound-recorded-later --story',
        does: 'shows how a snapshot loses versions that it reads',
      },
      {
        command: './run.sh model --traces 20',
        does: 'compares twenty runs of the simulator with the model',
      },
    ],
    plan: (settings) => ({
      ...workOf(settings),
      store: { name: 'modelled', durability: 'a mutation that was applied stays' },
      limitations: [settings.traces > 0 ? OF_TRACES : OF_WORLDS],
    }),
  },
  async (settings, measuring) => {
    const checker = await checkerOrRefusal();
    return settings.traces > 0
      ? checkTraces(checker, settings, measuring)
      : checkModel(checker, settings, measuring);
  },
);

function workOf(settings: ModelSettings): { readonly about: string; readonly seconds: number } {
  const { traces } = settings;
  if (traces > 0) {
    return {
      about: `${counted(traces, 'runs')} of the simulator`,
      seconds: traces * TRACE_SECONDS,
    };
  }
  const chosen = choose(settings);
  const seconds = chosen.map((one) => (isShort(one) ? SHORT_SECONDS : LONG_SECONDS));
  return {
    about: counted(chosen.length, 'configurations'),
    seconds: sum(seconds),
  };
}

async function checkModel(
  checker: Checker,
  settings: ModelSettings,
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const chosen = choose(settings);
  const checked: Checked[] = [];
  const found = (): FindingsParts => modelFindings(checked, chosen.length, settings.story);
  for (const [i, configuration] of chosen.entries()) {
    progress.phase(`${configuration.name}, ${i + 1} of ${chosen.length}`, 0, 'states');
    const outcome = await check(checker, configuration, signal);
    if (signal.aborted) break;
    checked.push({ configuration, outcome });
    if (outcome.result !== configuration.expected) progress.note(outcome.output);
    keep(found());
  }
  return found();
}

async function checkTraces(
  checker: Checker,
  { traces, seed }: ModelSettings,
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const checked: CheckedTrace[] = [];
  progress.phase('checking', traces, 'runs');
  for await (const trace of recordTraces(seed, traces)) {
    if (signal.aborted) break;
    const outcome = await checkTrace(checker, trace, signal);
    if (signal.aborted) break;
    checked.push({ trace, outcome });
    keep(traceFindings(checked, traces));
    progress.update(checked.length);
    if (outcome.result === 'unfinished') progress.note(outcome.output);
  }
  return traceFindings(checked, traces);
}

function choose({ only, wanted }: ModelSettings): readonly Configuration[] {
  if (only.length === 0) return CONFIGURATIONS.filter(wanted);
  return only.map((name) => {
    const found = CONFIGURATIONS.find((one) => one.name === name);
    if (found !== undefined) return found;
    const names = CONFIGURATIONS.map((one) => one.name).join(', ');
    throw new UsageError(
      `--only must name a configuration (${names}), but is ${JSON.stringify(name)}.`,
    );
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
