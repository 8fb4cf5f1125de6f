/**
 * `./run.sh bench:failover`: figure 10 of the paper. A third of the tablet servers is killed under
 * load; HBase's region servers are the tablet servers.
 */
import { whyNoHBase } from '#engine';
import {
  choice,
  flag,
  integer,
  number,
  onlyWith,
  runExperiment,
  secondsOption,
  seedOption,
  warmUpOption,
} from '#harness';
import { UsageError } from '#results';
import { countsOf, SCALES } from '../brokerage/model/scale.ts';
import { describeStore } from '../harness/stores.ts';
import { LOAD_SHARE, measureFailover, type FailoverPlan } from './experiment.ts';
import { findingsOf } from './findings.ts';
import { describeVictims, VICTIMS } from './victims.ts';
import { WORKLOADS } from './workload.ts';

const SIZES = {
  smoke: {
    scale: SCALES.smoke,
    regionServers: 3,
    repository: 1_000,
    capacitySeconds: 4,
    warmUp: 2,
    before: 8,
    down: 25,
    after: 10,
  },
  quick: {
    scale: SCALES.quick,
    regionServers: 6,
    repository: 10_000,
    capacitySeconds: 15,
    warmUp: 15,
    before: 30,
    down: 60,
    after: 45,
  },
  standard: {
    scale: SCALES.quick,
    regionServers: 6,
    repository: 50_000,
    capacitySeconds: 30,
    warmUp: 60,
    before: 120,
    down: 240,
    after: 240,
  },
  full: {
    scale: SCALES.standard,
    regionServers: 6,
    repository: 100_000,
    capacitySeconds: 60,
    warmUp: 120,
    before: 300,
    down: 600,
    after: 900,
  },
};
/** Until HBase answers, on two idle cores: for each server, and for the rest. */
const START_SECONDS = { each: 3, rest: 12 } as const;
/** Draining and checking. */
const END_SECONDS = 10;
const DOCUMENTS_LOADED_PER_SECOND = 2_000;
/** With all the rows that belong to them. */
const TRADES_LOADED_PER_SECOND = 500;
const DOCUMENT_BYTES = 1_024;

const OF_REGION_SERVERS: readonly string[] = [
  'A server counts as dead when its session of 6 s with ZooKeeper has ended (the default of HBase is 90 s), so most of the detection time is a setting.',
  'HBase moves regions to a server that has come back only when its balancer runs, every five minutes.',
];

/** The time of a run. */
function secondsOf(options: Omit<FailoverPlan, 'documentBytes'>): number {
  const { regionServers, workers, repository, scale, workload, rate, capacitySeconds } = options;
  const { warmUp, before, down, after } = options;
  const loaded =
    workload === 'brokerage'
      ? countsOf(scale).tradeIds / TRADES_LOADED_PER_SECOND
      : repository / DOCUMENTS_LOADED_PER_SECOND;
  return (
    START_SECONDS.rest +
    START_SECONDS.each * regionServers +
    workers +
    loaded +
    (rate === undefined ? 1.5 * capacitySeconds : 0) +
    warmUp +
    before +
    down +
    after +
    END_SECONDS
  );
}

await runExperiment(
  {
    script: 'bench:failover',
    subject: {
      kicker: 'Percolator paper, figure 10',
      title: 'A part of the system fails under load',
    },
    description:
      'Runs a brokerage at a steady rate on an HBase that it starts here, kills a third of its region servers ' +
      '(figure 10 of the paper) or another part, starts them again, and shows second by second what that costs. At ' +
      'the end it checks that nothing was lost. Needs Java 11 or newer and, the first time, Maven.',
    isOnOneHost:
      'kills servers of an HBase that it starts on this machine; with --cut its hosts are namespaces',
    sizes: SIZES,
    options: {
      workload: choice({
        description:
          'what runs: the brokerage of figure 9, as in the paper, or the clustering of crawled documents of figure 7',
        choices: WORKLOADS,
        default: 'brokerage',
      }),
      kill: choice({
        description:
          'what is killed: a third of the region servers or of the workers, or one process of another kind',
        choices: VICTIMS,
        default: 'region-servers',
      }),
      pause: flag({
        description:
          'suspend instead of killing, as if the machine had hung, and resume after the time of --down',
      }),
      cut: onlyWith(
        { kill: ['region-servers'] },
        flag({
          description:
            'cut the hosts of a third of the region servers off from all others instead, with the workers on them, and connect ' +
            'them again after the time of --down; hosts are then network namespaces (Linux, with the right to make them)',
        }),
      ),
      regionServers: integer({
        description: 'region servers, each a process with up to 768 MB of heap',
        min: 3,
        max: 24,
      }),
      workers: integer({
        description:
          'worker processes, which run the observers: they cluster documents, or add up the trades of brokers',
        default: 3,
        min: 1,
        max: 64,
      }),
      rate: number({
        description:
          "customers' transactions, or documents, that arrive; too many, and the backlog grows even before the failure",
        defaultText: `${100 * LOAD_SHARE} % of the capacity, which is measured first`,
        unit: 'transactions or documents per second',
        min: 1,
        max: 10_000,
      }),
      repository: onlyWith(
        { workload: ['crawl-rate'] },
        integer({
          description: 'documents in the repository before the run',
          min: 1,
          max: 500_000,
        }),
      ),
      capacitySeconds: onlyWith(
        { rate: ['undefined'] },
        secondsOption('the capacity, after a warm-up of half that time'),
      ),
      warmUp: warmUpOption('the run'),
      before: secondsOption('the load before the kill', 2),
      down: secondsOption('the load until what was killed is started again', 10),
      after: secondsOption('the load after that', 5),
      concurrency: integer({
        description:
          'observer runs in flight, and transactions or documents while the capacity is measured',
        default: 64,
        min: 1,
        max: 10_000,
      }),
      seed: seedOption('the load, and which servers or workers are killed'),
    },
    examples: [
      {
        command: './run.sh bench:failover --profile smoke',
        does: 'three servers, of which one is killed',
      },
      {
        command: './run.sh bench:failover --rate 100 --down 120',
        does: 'a given rate, and a longer absence',
      },
      {
        command: './run.sh bench:failover --kill workers --pause',
        does: 'a third of the workers stands still, and then goes on with what it had begun',
      },
      {
        command: './run.sh bench:failover --cut --workers 6',
        does: 'two of six hosts, each with a region server and a worker, are cut off and come back',
      },
    ],
    needsHosts: ({ cut }) => (cut ? '--cut' : undefined),
    plan: (options) => ({
      about: `${describeVictims(options)} ${options.cut ? 'cut off' : options.pause ? 'stopped' : 'down'} for ${options.down} s`,
      seconds: secondsOf(options),
      store: describeStore('hbase'),
      limitations: [
        'All processes share the cores and the disk of one machine: one that fails frees processor time, and one that starts takes it from the others.',
        'One process makes the load and runs its transactions; its lateness counts as latency.',
        ...(options.kill === 'region-servers' ? OF_REGION_SERVERS : []),
      ],
    }),
    refuse: async ({ cut, pause }) => {
      if (cut && pause) {
        throw new UsageError(
          '--cut and --pause exclude each other: a host is cut off, or its servers are stopped.',
        );
      }
      const why = await whyNoHBase(process.env);
      if (why !== undefined) throw new UsageError(`bench:failover cannot run here: ${why}.`);
    },
  },
  async (options, measuring) =>
    findingsOf(await measureFailover({ ...options, documentBytes: DOCUMENT_BYTES }, measuring)),
);
