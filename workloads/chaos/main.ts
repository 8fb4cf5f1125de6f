/** `npm run chaos`: real processes on one store, killed by `kill -9` at random, and what the judges say. */
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
  UsageError,
} from '#results';
import { type Workload, WORKLOADS } from '../invariants/index.ts';
import { checkStoreName } from '../stores/index.ts';
import { ENGINE_OPTIONS, type EngineValues } from '../tuning/engine-settings.ts';
import { type Plan, PROFILES, SIZES } from './plan.ts';
import { type Round, runRound } from './round.ts';
import { summaryLines } from './summary.ts';

const NAMES = WORKLOADS.map(({ name }) => name);

await runCommand(
  {
    name: 'npm run chaos --',
    description:
      'Lets processes run transactions and observers on one store, kills them with kill -9 at random, or stops ' +
      'them for so long that others take them for dead, and judges what they saw: snapshot isolation, ' +
      'the invariants of the workloads, and that every change was observed.',
    options: {
      profile: choice({
        choices: PROFILES,
        description: 'smoke takes 10 seconds, standard 2 minutes (200 kills), full half an hour',
        default: 'standard',
      }),
      workloads: text({
        description: `which workloads run, separated by commas, of ${NAMES.join(', ')}`,
        defaultText: 'all',
        placeholder: 'name,...',
      }),
      processes: integer({
        description: 'processes that are killed; one more watches, and is not',
        default: 3,
        min: 1,
        max: 32,
      }),
      kills: integer({
        description: 'kills after which a round ends',
        defaultText: 'depends on --profile; without end if --seconds are given',
        min: 1,
        max: 100_000,
      }),
      seconds: number({
        description: 'a round ends after so long, however many were killed',
        unit: 'seconds',
        min: 1,
        max: 86_400,
      }),
      seed: integer({
        description:
          'decides who is hit and when, and what clients draw; what they meet, the machine decides',
        defaultText: 'another one each time; it is printed first',
        min: 0,
        max: 2 ** 31,
      }),
      store: text({
        description:
          'embedded (lmdb, shared by the processes), emulator, or bigtable://project/instance[?appProfile=name]',
        default: 'embedded',
        placeholder: 'store',
      }),
      services: flag({
        description:
          'timestamp oracles (two, one stands by) and lock service as processes, which are killed as well',
      }),
      fsync: flag({
        description: 'wait for the disk at each commit; kill -9 does not need it, and it is slower',
      }),
      gc: flag({
        description:
          'collect garbage meanwhile; what is collected cannot be judged, so invariants, lists and audits must do',
      }),
      ...ENGINE_OPTIONS,
      folder: outputFolder({
        description: 'new folder for store, histories and verdict',
        defaultText: 'a temporary one, kept only if something was found',
        mustNotHold: 'round-1',
      }),
    },
    examples: [
      { command: 'npm run chaos', does: '200 kills' },
      {
        command: 'npm run chaos -- --services --store emulator',
        does: 'oracles and lock service are killed, too, on the official emulator',
      },
      {
        command: 'npm run chaos -- --workloads bank,pipeline --seconds 60 --folder found',
        does: 'two workloads for a minute, with everything kept',
      },
    ],
  },
  async ({ store: storeName, ...options }, { signal }) => {
    const store = checkStoreName(storeName);
    const workloads = workloadsNamed(options.workloads);
    const seed = options.seed ?? entropySeed();
    console.log(`chaos, profile ${options.profile}, seed ${seed}: ${invariants(workloads)}`);
    const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'chaos-')));
    const isTemporary = options.folder === undefined;
    let isWorthKeeping = !isTemporary;
    try {
      const rounds = await runRounds({ ...options, store, workloads, seed, folder }, signal);
      const found = rounds.some(({ verdict }) => verdict.violations.length > 0);
      isWorthKeeping ||= found;
      console.log(`\n${summaryLines(rounds).join('\n')}`);
      if (found) process.exitCode = 1;
      if (isWorthKeeping) console.log(`\nStore, histories and verdict: ${folder}`);
    } catch (error) {
      isWorthKeeping ||= !signal.aborted; // Something failed that nobody has thought of.
      if (!signal.aborted) console.error(`Store and histories: ${folder}`);
      throw error;
    } finally {
      if (!isWorthKeeping) await rm(folder, { recursive: true, force: true });
    }
  },
);

type Given = Pick<
  Plan,
  'workloads' | 'processes' | 'seed' | 'store' | 'services' | 'fsync' | 'gc' | 'folder'
> & {
  readonly profile: (typeof PROFILES)[number];
  readonly kills: number | undefined;
  readonly seconds: number | undefined;
} & EngineValues;

async function runRounds(given: Given, signal: AbortSignal): Promise<readonly Round[]> {
  const { profile, seconds, ...rest } = given;
  const { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners } = given;
  const engine = { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners };
  const size = SIZES[profile];
  const kills = given.kills ?? (seconds === undefined ? size.kills : Infinity);
  const progress = startProgress();
  const rounds: Round[] = [];
  for (let n = 1; n <= size.rounds; n++) {
    const seed = given.seed + n - 1; // The seed that is printed repeats the first round.
    const folder = path.join(given.folder, `round-${n}`);
    const plan = { ...rest, engine, seed, folder, kills, seconds: seconds ?? Infinity };
    const round = await runRound(plan, { progress, signal });
    rounds.push(round);
    if (round.verdict.violations.length > 0) break;
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
