/**
 * `./run.sh bench:brokerage`: figure 9 of the paper on this machine, and PostgreSQL on the same
 * work.
 */
import { choice, flag, integer, number, numberList, outputFolder, runCommand } from '#harness';
import { defaultRunFolder, UsageError } from '#results';
import { resultLines } from '../harness/experiment/result-lines.ts';
import { DATABASE_OPTIONS, type DatabaseValues } from '../harness/engine-settings.ts';
import { runExperiment } from './experiment.ts';
import { type BrokerUpdate, PRESETS, type PresetName, type Scale } from './model/index.ts';
import { DURATIONS, type Plan, PRICE_PERIOD_SECONDS, type SystemName, SYSTEMS } from './plan.ts';

const PRESET_DEFAULT = 'depends on --preset';

await runCommand(
  {
    script: 'bench:brokerage',
    description:
      'Measures what a brokerage like that of TPC-E costs, from low load to saturation (figure 9 of the ' +
      'paper), on Percolator and on PostgreSQL; then the reads that batching and prefetching save, and the conflicts of ' +
      'the broker update that the paper left out. Ends with tables and a report.',
    options: {
      system: choice({
        choices: ['both', 'percolator', 'postgres'],
        description:
          'systems to measure; PostgreSQL runs as functions in the server and as frames from the client, on DATABASE_URL or on a private server',
        default: 'both',
      }),
      store: choice({
        choices: ['both', 'embedded', 'emulator'],
        description: 'storage of Percolator; embedded is lmdb with durable commits',
        default: 'both',
      }),
      preset: choice({
        choices: ['smoke', 'small', 'paperlike'],
        description:
          'size of the brokerage and length of the points: smoke takes about half an hour, small an hour or more, paperlike hours',
        default: 'smoke',
      }),
      broker: choice({
        choices: ['omit', 'inline', 'side-table'],
        description:
          'the update of the broker in Trade-Result: omitted as in the paper, in the transaction, or aggregated by an observer',
        default: 'omit',
      }),
      customers: integer({
        description: 'a multiple of 100; the specification requires at least 5,000',
        defaultText: PRESET_DEFAULT,
        min: 100,
        max: 1_000_000,
      }),
      days: number({
        description: 'days of trades that are loaded; the specification has 300',
        defaultText: PRESET_DEFAULT,
        min: 0.25,
        max: 300,
      }),
      pricePeriod: number({
        description:
          'time in which prices go up and down once; if it is much longer than a point, most limit orders never trade',
        defaultText: PRESET_DEFAULT,
        min: 1,
        max: 3_600,
        unit: 'seconds',
      }),
      paced: flag({
        description:
          'only this and other named parts: the ladder; an open loop, in which a clock starts transactions',
      }),
      unpaced: flag({
        description:
          'only this and other named parts: the maximum; a closed loop, in which each user begins again at once',
      }),
      reads: flag({
        description:
          'only this and other named parts: the reads that batching and prefetching save',
      }),
      brokers: flag({
        description: 'only this and other named parts: the update of the broker in its three modes',
      }),
      rates: numberList({
        description: 'the ladder in Trade-Results per second; the range should be tenfold',
        defaultText: 'from 5 to 65 % of the maximum of each system',
        unit: 'TR/s',
        min: 0.01,
        max: 1e6,
      }),
      users: integer({
        description: 'users of unpaced runs; too few leave the system idle, too many only wait',
        default: 32,
        min: 1,
        max: 1_000,
      }),
      seconds: number({
        description: 'measured interval of each point; a short one measures few transactions',
        defaultText: PRESET_DEFAULT,
        min: 0.5,
        max: 86_400,
        unit: 'seconds',
      }),
      warmup: number({
        description:
          'warm-up before each point; if it is too short, orders of the previous point are measured',
        defaultText: PRESET_DEFAULT,
        min: 0,
        max: 86_400,
        unit: 'seconds',
      }),
      rounds: integer({
        description: 'how often the whole ladder is measured',
        defaultText: PRESET_DEFAULT,
        min: 1,
        max: 100,
      }),
      processes: integer({
        description:
          'client processes of each system; Percolator then also has an oracle and a lock service',
        defaultText: 'one client, with the oracle in the store',
        min: 1,
        max: 64,
      }),
      rowCache: integer({
        description:
          'with the embedded store: memory for rows that were read; if it is too small, they are evicted before they are read again',
        default: 64,
        min: 0,
        max: 16_384,
        unit: 'MB',
      }),
      ...DATABASE_OPTIONS,
      batching: choice({
        choices: ['off', 'on'],
        description:
          'merge the operations of concurrent transactions into fewer calls of the store, as in the paper',
        default: 'on',
      }),
      seed: integer({
        description: 'the same seed makes the same brokerage, transactions and order of points',
        default: 1,
        min: 0,
        max: 2 ** 31 - 1,
      }),
      out: outputFolder({
        description:
          'new folder for the record, the charts and the report; the run measures its disk',
        default: () => defaultRunFolder('brokerage'),
        defaultText: 'results/runs/brokerage-<UTC time>',
        isNew: true,
      }),
    },
    ignoredInFiles: ['scanners'], // The only observer aggregates the side table of brokers.
    examples: [
      {
        command: './run.sh bench:brokerage',
        does: 'figure 9 and everything after it, with the default preset',
      },
      {
        command: './run.sh bench:brokerage --system percolator --store embedded --paced',
        does: 'the ladder of one system',
      },
      {
        command: './run.sh bench:brokerage --unpaced --broker inline --users 64',
        does: 'the maximum, with the conflicts that the paper avoided',
      },
    ],
  },
  async (options, { signal, commandLine }) => {
    const plan = planOf(options);
    const { customers, initialTradeDays } = plan.scale;
    console.log(
      `brokerage, preset ${plan.preset}, seed ${plan.seed}: ${customers} customers, ${initialTradeDays} days of trades; ` +
        plan.systems.join(', '),
    );
    const { run, page, results } = await runExperiment(plan, { commandLine, signal });
    console.log(
      `\n${[...resultLines(run.record), ...results.missing].join('\n')}\n\nReport: ${page}`,
    );
    if (run.record.findings?.check.passed !== true) process.exitCode = 1;
  },
);

interface Options extends DatabaseValues {
  readonly system: 'both' | 'percolator' | 'postgres';
  readonly store: 'both' | 'embedded' | 'emulator';
  readonly preset: PresetName;
  readonly broker: BrokerUpdate;
  readonly customers: number | undefined;
  readonly days: number | undefined;
  readonly pricePeriod: number | undefined;
  readonly paced: boolean;
  readonly unpaced: boolean;
  readonly reads: boolean;
  readonly brokers: boolean;
  readonly rates: readonly number[] | undefined;
  readonly users: number;
  readonly seconds: number | undefined;
  readonly warmup: number | undefined;
  readonly rounds: number | undefined;
  readonly processes: number | undefined;
  readonly rowCache: number;
  readonly seed: number;
  readonly out: string;
}

/** Combines the given options with the preset. A run that differs from its preset is custom. */
function planOf(options: Options): Plan {
  const { preset, customers, days, pricePeriod, seconds, warmup, rounds } = options;
  const { batching, batchDelay, batchRows, batchInFlight, prefetch } = options;
  const durations = DURATIONS[preset];
  const changed = [customers, days, pricePeriod, seconds, warmup, rounds];
  return {
    preset: changed.some((value) => value !== undefined) ? 'custom' : preset,
    scale: scaleOf(options),
    seed: options.seed,
    systems: systemsOf(options),
    brokerUpdate: options.broker,
    engine: { batching, batchDelay, batchRows, batchInFlight, prefetch },
    processes: options.processes,
    rowCache: options.rowCache,
    rates: options.rates,
    users: options.users,
    parts: partsOf(options),
    seconds: seconds ?? durations.seconds,
    warmupSeconds: warmup ?? durations.warmupSeconds,
    rounds: rounds ?? durations.rounds,
    out: options.out,
  };
}

function scaleOf({ preset, customers, days, pricePeriod }: Options): Scale {
  const scale = PRESETS[preset];
  if (customers !== undefined && customers % 100 !== 0) {
    throw new UsageError(`--customers must be a multiple of 100, but is "${customers}".`);
  }
  const initialTradeDays = days ?? scale.initialTradeDays;
  const backOffMax = (initialTradeDays * 8 * 3_600_000) / 8;
  return {
    ...scale,
    customers: customers ?? scale.customers,
    initialTradeDays,
    pricePeriodMs: 1_000 * (pricePeriod ?? PRICE_PERIOD_SECONDS[preset]),
    backOffMs: days === undefined ? scale.backOffMs : Math.min(scale.backOffMs, backOffMax),
  };
}

function systemsOf({ system, store }: Options): readonly SystemName[] {
  const isOurs = (name: SystemName): boolean => name === 'embedded' || name === 'emulator';
  return SYSTEMS.filter((name) =>
    isOurs(name)
      ? system !== 'postgres' && (store === 'both' || store === name)
      : system !== 'percolator',
  );
}

/** Returns the parts that were named; otherwise all that apply to these systems. */
function partsOf({ paced, unpaced, reads, brokers, system, store }: Options): Plan['parts'] {
  if (paced || unpaced || reads || brokers) return { paced, unpaced, reads, brokers };
  const hasEmbedded = system !== 'postgres' && store !== 'emulator';
  return { paced: true, unpaced: true, reads: hasEmbedded, brokers: hasEmbedded };
}
