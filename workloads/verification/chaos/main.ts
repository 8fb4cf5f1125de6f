/**
 * `./run.sh chaos`: kills real processes on one store by `kill -9` at random, and judges what they
 * saw.
 *
 * Stores and histories are temporary files of the run. They are kept, as `evidence`, if a round
 * found something or ended with an error, or with --keep.
 */
import { existsSync, renameSync } from 'node:fs';
import path from 'node:path';
import { entropySeed } from '#engine';
import {
  counted,
  flag,
  integer,
  type Measuring,
  noFsyncOption,
  number,
  onlyWith,
  regionServersOption,
  runExperiment,
  text,
} from '#harness';
import { firstErrorOf, UsageError } from '#results';
import { ENGINE_OPTIONS } from '../../harness/engine-settings.ts';
import { HOSTS_MAX } from '../../harness/hosts/network.ts';
import { type Workload, WORKLOADS } from '../invariants/index.ts';
import { findingsOf } from './findings.ts';
import {
  describeStores,
  expectedSeconds,
  optionsOf,
  type ChaosPlan,
  plansOf,
  PROCESSES,
  SIZES,
} from './plan.ts';
import { type Round, runRound } from './round.ts';

const NAMES = WORKLOADS.map(({ name }) => name);

/** The defaults of an option of a round, one for each profile. */
function byProfile(of: 'pairs' | 'runs' | 'secondsMax'): string {
  return `by profile: ${Object.values(SIZES)
    .map(({ round }) => round[of])
    .join(' | ')}`;
}

await runExperiment(
  {
    script: 'chaos',
    subject: { kind: 'proof', kicker: 'Verification', title: 'Real processes, killed at random' },
    description:
      'Runs processes with transactions and observers on one store, kills them at random with kill -9, or stops ' +
      'them for so long that other processes presume them dead, copies, moves and replaces the folder of the ' +
      'embedded store under its owner, and judges what they saw: snapshot isolation, ' +
      'the invariants of the workloads, that every change was observed, and that readers of changes were told of each once, ' +
      'in order. With --profile standard or full, rounds differ ' +
      'in --store, --services, --batching, --prefetch, --scanners and --gc, except in those that options change.',
    sizes: SIZES,
    options: {
      workloads: text({
        description: `which workloads run, separated by commas, of ${NAMES.join(', ')}`,
        defaultText: 'all',
        placeholder: 'name,...',
      }),
      processes: integer({
        description: 'processes that are killed; one more only watches, and is not killed',
        default: PROCESSES,
        min: 1,
        max: 32,
      }),
      pairs: integer({
        description:
          'a round ends when this many pairs of transactions have written one cell at the same time, and --runs is reached; few pairs test little',
        defaultText: `${byProfile('pairs')}, a tenth except on the embedded store; not asked for if only --runs or --seconds is given`,
        min: 1,
        max: 100_000_000,
      }),
      runs: integer({
        description:
          'a round ends when this many runs of observers have committed, and --pairs is reached',
        defaultText: `${byProfile('runs')}; otherwise as for --pairs`,
        min: 1,
        max: 100_000_000,
      }),
      seconds: number({
        description: 'a round ends after this time, however little it has tested',
        defaultText: `${byProfile('secondsMax')}; a round that the default ends too early fails, except with smoke`,
        unit: 'seconds',
        min: 1,
        max: 86_400,
      }),
      seed: {
        ...integer({
          description:
            'decides which process is hit and when, and what clients choose at random; the machine decides the rest',
          defaultText: 'a new one each time',
          default: 0,
          min: 0,
          max: 2 ** 31,
        }),
        fallback: entropySeed,
      },
      store: text({
        description:
          'embedded (owned by one of the processes), emulator, bigtable://project/instance[?appProfile=name], hbase, or hbase[s]://host:port,...',
        defaultText: 'embedded; with --profile standard or full, embedded or emulator by round',
        placeholder: 'store',
      }),
      regionServers: onlyWith({ store: ['hbase'] }, regionServersOption()),
      services: flag({
        description:
          'two timestamp oracles, one of them on standby, and the lock service run as processes and are killed as well',
      }),
      noFsync: noFsyncOption,
      powerCuts: flag({
        description:
          'the last fault of a round is a power cut: the processes are killed, and of what the embedded store has ' +
          'written and not synced, each sector is there, or lost, or garbage',
      }),
      hosts: integer({
        description:
          'the processes, and those of an HBase, are on so many hosts: network namespaces with addresses of their own (Linux, ' +
          'with the right to make them); --services is implied, and the embedded store does not sync',
        defaultText: 'all on this host',
        default: 0,
        min: 0,
        max: HOSTS_MAX,
      }),
      cuts: flag({
        description:
          'hosts are cut off: from all others, one from another, in one direction, again and again, and an HBase region server ' +
          'from ZooKeeper alone; or all processes of a host are killed or stopped. Needs --hosts',
      }),
      gc: flag({ description: 'all processes also collect garbage' }),
      keep: flag({ description: 'keep stores and histories even if nothing was found' }),
      ...ENGINE_OPTIONS,
    },
    examples: [
      {
        command: './run.sh chaos --services --store emulator',
        does: 'also kills oracles and the lock service, on the official emulator',
      },
      {
        command: './run.sh chaos --power-cuts --services',
        does: 'ends with a power cut, after which every acknowledged commit must be there',
      },
      {
        command: './run.sh chaos --hosts 7 --cuts --store hbase --region-servers 2',
        does: 'cuts the network between HBase, oracles, lock service and clients',
      },
      {
        command: './run.sh chaos --workloads bank,pipeline --seconds 60 --out found --keep',
        does: 'runs two workloads for a minute and keeps everything in found/evidence',
      },
    ],
    needsHosts: ({ hosts }) => (hosts > 0 ? '--hosts' : undefined),
    plan: (options) => {
      const plans = plansOf(options, workloadsNamed(options.workloads), '');
      return {
        about: `${counted(plans.length, 'rounds')}, seed ${options.seed}`,
        seconds: plans.map(expectedSeconds).reduce((sum, seconds) => sum + seconds, 0),
        store: describeStores(plans),
        limitations: [
          'The seed decides the faults, and the machine the rest: a run does not repeat exactly.',
        ],
      };
    },
  },
  async (options, measuring) => {
    const workloads = workloadsNamed(options.workloads);
    const plans = plansOf(options, workloads, measuring.work);
    let isEvidence = options.keep;
    try {
      const { rounds, skipped } = await runRounds(plans, measuring);
      isEvidence ||= rounds.some(({ verdict }) => verdict.violations.length > 0);
      return findingsOf(rounds, { workloads, rounds: plans.length, skipped });
    } catch (error) {
      isEvidence ||= !(firstErrorOf(error) instanceof UsageError);
      throw error;
    } finally {
      if (isEvidence) keepEvidence(measuring);
    }
  },
);

/** Resolves with the rounds that ended before an interrupt, up to the first with a violation. */
async function runRounds(
  plans: readonly ChaosPlan[],
  { progress, signal }: Measuring,
): Promise<{ readonly rounds: readonly Round[]; readonly skipped: readonly string[] }> {
  const rounds: Round[] = [];
  const skipped: string[] = [];
  for (const plan of plans) {
    const which = `round ${plan.number} of ${plans.length}`;
    if (plans.length > 1) progress.note(`${which}: ${optionsOf(plan)}`);
    try {
      rounds.push(await runRound(plan, { progress, signal }));
    } catch (error) {
      if (signal.aborted) break;
      // Without the emulator, the other rounds still test something.
      const first = firstErrorOf(error);
      if (!(first instanceof UsageError) || plans.length === 1) throw error;
      skipped.push(`round ${plan.number}: ${first.message}`);
    }
    if (rounds.at(-1)?.verdict.violations.length) break;
  }
  return { rounds, skipped };
}

/** Moves stores and histories out of the folder of temporary files, which is removed. */
function keepEvidence({ work, run, progress }: Measuring): void {
  const evidence = path.join(run.folder, 'evidence');
  if (!existsSync(work)) return;
  renameSync(work, evidence);
  progress.note(`Stores and histories: ${evidence}`);
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
