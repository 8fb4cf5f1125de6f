/** `./run.sh chaos`: real processes on one store are killed by `kill -9` at random, and judged. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { entropySeed } from '#engine';
import {
  choice,
  flag,
  integer,
  number,
  outputFolder,
  runCommand,
  startProgress,
  text,
} from '#harness';
import { UsageError } from '#results';
import { type Workload, WORKLOADS } from '../invariants/index.ts';
import { checkStoreName } from '../../harness/stores/index.ts';
import { ENGINE_OPTIONS, type EngineValues } from '../../harness/engine-settings.ts';
import { type PartialSetting, matrixOf, optionsOf, type Setting, settingOf } from './matrix.ts';
import {
  type RoundMinimums,
  type Plan,
  type ProfileName,
  PROFILES,
  REMOTE_PART,
  SIZES,
} from './plan.ts';
import { type Round, runRound } from './round.ts';
import { isShort, summaryLines } from './summary.ts';

const NAMES = WORKLOADS.map(({ name }) => name);

await runCommand(
  {
    script: 'chaos',
    description:
      'Runs processes with transactions and observers on one store, kills them at random with kill -9, or stops ' +
      'them for so long that other processes take them for dead, and judges what they saw: snapshot isolation, ' +
      'the invariants of the workloads, and that every change was observed.',
    options: {
      profile: choice({
        choices: PROFILES,
        description:
          'smoke takes 10 seconds, standard a few minutes, full half an hour: one round for each of seven settings',
        default: 'standard',
      }),
      workloads: text({
        description: `which workloads run, separated by commas, of ${NAMES.join(', ')}`,
        defaultText: 'all',
        placeholder: 'name,...',
      }),
      processes: integer({
        description: 'processes that are killed; one more only watches, and is not killed',
        default: 3,
        min: 1,
        max: 32,
      }),
      pairs: integer({
        description:
          'pairs of transactions that wrote one cell at the same time, before a round ends; few pairs test little',
        defaultText: 'depends on --profile; no limit if --seconds is given',
        min: 1,
        max: 100_000_000,
      }),
      runs: integer({
        description: 'committed runs of observers before a round ends',
        defaultText: 'as for --pairs',
        min: 1,
        max: 100_000_000,
      }),
      seconds: number({
        description: 'a round ends after this time, however little it has tested',
        defaultText: 'depends on --profile; reaching the default is then a failure',
        unit: 'seconds',
        min: 1,
        max: 86_400,
      }),
      seed: integer({
        description:
          'decides which process is hit and when, and what clients draw; the machine decides the rest',
        defaultText: 'a new one each time; it is printed first',
        min: 0,
        max: 2 ** 31,
      }),
      store: text({
        description:
          'embedded (owned by one of the processes), emulator, or bigtable://project/instance[?appProfile=name]',
        defaultText: 'embedded; both with --profile full',
        placeholder: 'store',
      }),
      services: flag({
        description:
          'two timestamp oracles, one of them on standby, and the lock service run as processes and are killed as well',
      }),
      noFsync: flag({
        description:
          'the embedded store does not wait for the disk; kill -9 loses nothing without it',
      }),
      gc: flag({ description: 'all processes also collect garbage' }),
      ...ENGINE_OPTIONS,
      folder: outputFolder({
        description: 'new folder for the store, the histories and the verdict',
        defaultText: 'a temporary one, kept only if something was found',
        isNew: true,
      }),
    },
    examples: [
      {
        command: './run.sh chaos',
        does: 'runs until 50,000 pairs of overlapping writers were seen',
      },
      {
        command: './run.sh chaos --services --store emulator',
        does: 'also kills oracles and the lock service, on the official emulator',
      },
      {
        command: './run.sh chaos --workloads bank,pipeline --seconds 60 --folder found',
        does: 'runs two workloads for a minute and keeps everything',
      },
    ],
  },
  async (options, { signal }) => {
    const settings = settingsOf(options);
    const workloads = workloadsNamed(options.workloads);
    const seed = options.seed ?? entropySeed();
    console.log(`chaos, profile ${options.profile}, seed ${seed}: ${invariants(workloads)}`);
    const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'chaos-')));
    let isWorthKeeping = options.folder !== undefined;
    try {
      const plans = plansOf(options, { settings, workloads, seed, folder });
      const rounds = await runRounds(plans, signal);
      const found = rounds.some(({ verdict }) => verdict.violations.length > 0);
      isWorthKeeping ||= found;
      console.log(`\n${summaryLines(rounds).join('\n')}`);
      const isStrict = SIZES[options.profile].isStrict && options.seconds === undefined;
      if (found || (isStrict && rounds.some(isShort))) process.exitCode = 1;
      if (isWorthKeeping) console.log(`\nStore, histories and verdict: ${folder}`);
    } catch (error) {
      isWorthKeeping ||= !signal.aborted; // An unexpected error: keep the evidence.
      if (!signal.aborted) console.error(`Store and histories: ${folder}`);
      throw error;
    } finally {
      if (!isWorthKeeping) await rm(folder, { recursive: true, force: true });
    }
  },
);

type Options = EngineValues & {
  readonly profile: ProfileName;
  readonly pairs: number | undefined;
  readonly runs: number | undefined;
  readonly seconds: number | undefined;
  readonly processes: number;
  readonly store: string | undefined;
  readonly services: boolean;
  readonly gc: boolean;
  readonly noFsync: boolean;
};

/** One setting for each round. */
function settingsOf(options: Options): readonly Setting[] {
  const engine = Object.keys(ENGINE_OPTIONS)
    .map((key) => key as keyof EngineValues)
    .filter((key) => options[key] !== ENGINE_OPTIONS[key].fallback())
    .map((key) => [key, options[key]]);
  const given: PartialSetting = {
    ...(options.store !== undefined && { store: checkStoreName(options.store) }),
    ...(options.services && { services: true }),
    ...(options.gc && { gc: true }),
    engine: Object.fromEntries(engine) as Partial<EngineValues>,
  };
  return options.profile === 'full' ? matrixOf(given) : [settingOf(given)];
}

function plansOf(
  options: Options,
  run: Pick<Plan, 'workloads' | 'seed' | 'folder'> & { readonly settings: readonly Setting[] },
): readonly Plan[] {
  const { processes, noFsync } = options;
  const size = SIZES[options.profile];
  return run.settings.map((setting, i) => ({
    ...setting,
    workloads: run.workloads,
    processes,
    fsync: !noFsync,
    seed: run.seed + i, // The seed that is printed first repeats the first round.
    folder: path.join(run.folder, `round-${i + 1}`),
    floors: floorsOf(options, setting),
    seconds: options.seconds ?? size.secondsMax,
  }));
}

/** If only one floor is given, the other has none. */
function floorsOf({ profile, pairs, runs, seconds }: Options, { store }: Setting): RoundMinimums {
  if (pairs !== undefined || runs !== undefined) return { pairs: pairs ?? 0, runs: runs ?? 0 };
  if (seconds !== undefined) return { pairs: Infinity, runs: Infinity };
  const part = store === 'embedded' ? 1 : REMOTE_PART;
  return { pairs: part * SIZES[profile].pairs, runs: part * SIZES[profile].runs };
}

async function runRounds(plans: readonly Plan[], signal: AbortSignal): Promise<readonly Round[]> {
  const progress = startProgress();
  const rounds: Round[] = [];
  for (const [i, plan] of plans.entries()) {
    if (plans.length > 1) progress.note(`round ${i + 1} of ${plans.length}: ${optionsOf(plan)}`);
    try {
      rounds.push(await runRound(plan, { progress, signal }));
    } catch (error) {
      // Without the emulator, the other rounds still test something.
      if (!(error instanceof UsageError) || plans.length === 1) throw error;
      progress.note(`round ${i + 1} is skipped: ${error.message}`);
    }
    if (rounds.at(-1)?.verdict.violations.length) break;
  }
  progress.end();
  return rounds;
}

function workloadsNamed(names: string | undefined): readonly Workload[] {
  if (names === undefined) return WORKLOADS;
  const wanted = new Set(names.split(',').map((name) => name.trim()));
  const unknown = [...wanted].find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `--workloads must name workloads of ${NAMES.join(', ')}, but names ${JSON.stringify(unknown)}.`,
    );
  }
  return WORKLOADS.filter(({ name }) => wanted.has(name));
}

function invariants(workloads: readonly Workload[]): string {
  return workloads.map(({ name, invariant }) => `\n  ${name}: ${invariant}`).join('');
}
