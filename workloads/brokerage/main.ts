/** `npm run bench:brokerage`: the paper's figure 9 on this machine, and PostgreSQL on the same work. */
import { choice, flag, integer, number, numberList, outputFolder, runCommand } from '#harness';
import { defaultRunFolder, UsageError } from '#results';
import { summaryLines } from '../harness/statistics/summary.ts';
import { DATABASE_OPTIONS, type DatabaseValues } from '../harness/engine-settings.ts';
import { runExperiment } from './experiment.ts';
import { type BrokerUpdate, PRESETS, type PresetName, type Scale } from './model/index.ts';
import { DURATIONS, type Plan, PRICE_PERIOD_SECONDS, type WayName, WAYS } from './plan.ts';

const PRESET_DEFAULT = 'depends on --preset';

await runCommand(
  {
    name: 'npm run bench:brokerage --',
    description:
      'Measures what a brokerage like that of TPC-E costs, at loads from little to as much as goes (figure 9 of the ' +
      'paper), on Percolator and on PostgreSQL; then reads saved by batching and prefetching, and the conflicts of ' +
      'the broker update that the paper left out. Ends with tables and a report.',
    options: {
      system: choice({
        choices: ['both', 'percolator', 'postgres'],
        description:
          'what is measured; PostgreSQL as functions in the server and as frames from the client, on DATABASE_URL or a server of its own',
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
          'size of the brokerage and length of the points: smoke takes half an hour or so, small an hour and more, paperlike hours',
        default: 'smoke',
      }),
      broker: choice({
        choices: ['omit', 'inline', 'side-table'],
        description:
          'the update of the broker in Trade-Result: omitted as in the paper, in the transaction, or summed up by an observer',
        default: 'omit',
      }),
      customers: integer({
        description: 'a multiple of 100; the specification begins at 5,000',
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
          'prices go up and down in so long; much longer than a point, and most limit orders never come to trade',
        defaultText: PRESET_DEFAULT,
        min: 1,
        max: 3_600,
        unit: 'seconds',
      }),
      paced: flag({
        description:
          'only this and others named: the ladder; transactions begin when the clock says so',
      }),
      unpaced: flag({
        description:
          'only this and others named: the most that goes; each user begins again at once',
      }),
      reads: flag({
        description: 'only this and others named: reads that batching and prefetching save',
      }),
      brokers: flag({
        description: 'only this and others named: the update of the broker in its three modes',
      }),
      rates: numberList({
        description: 'the ladder in Trade-Results a second; the range should be tenfold',
        defaultText: 'from 5 to 65 % of what each system can do',
        unit: 'TR/s',
        max: 1e6,
      }),
      users: integer({
        description: 'users of unpaced runs; few leave the system idle, many only wait',
        default: 32,
        min: 1,
        max: 1_000,
      }),
      seconds: number({
        description: 'measured interval of each point; short ones measure few transactions',
        defaultText: PRESET_DEFAULT,
        min: 0.5,
        max: 86_400,
        unit: 'seconds',
      }),
      warmup: number({
        description: 'before each point; too short, and orders of the point before are measured',
        defaultText: PRESET_DEFAULT,
        min: 0,
        max: 86_400,
        unit: 'seconds',
      }),
      rounds: integer({
        description: 'the whole ladder so many times',
        defaultText: PRESET_DEFAULT,
        min: 1,
        max: 100,
      }),
      processes: integer({
        description: 'client processes of each system; ours then have an oracle and a lock service',
        defaultText: 'one client, which has the oracle in the store',
        min: 1,
        max: 64,
      }),
      rowCache: integer({
        description:
          'with the embedded store: memory for rows that were read; too little, and they are forgotten before they are read again',
        default: 64,
        min: 0,
        max: 16_384,
        unit: 'MB',
      }),
      ...DATABASE_OPTIONS,
      batching: choice({
        choices: ['off', 'on'],
        description:
          'merge the operations of concurrent transactions into fewer calls of the storage, as the paper does',
        default: 'on',
      }),
      seed: integer({
        description: 'the same seed makes the same brokerage, transactions and order of points',
        default: 1,
        min: 0,
        max: 2 ** 31 - 1,
      }),
      out: outputFolder({
        description: 'new folder for the record, the charts and the report; its disk is measured',
        default: () => defaultRunFolder('brokerage'),
        defaultText: 'results/runs/brokerage-<UTC time>',
        mustNotHold: 'run.json',
      }),
    },
    ignoredInFiles: ['scanners'], // The only observer sums up brokers.
    examples: [
      { command: 'npm run bench:brokerage', does: 'figure 9 and everything after it, small' },
      {
        command: 'npm run bench:brokerage -- --system percolator --store embedded --paced',
        does: 'the ladder of one system',
      },
      {
        command: 'npm run bench:brokerage -- --unpaced --broker inline --users 64',
        does: 'the most that goes, with the conflicts that the paper avoided',
      },
    ],
  },
  async (options, { signal, commandLine }) => {
    const plan = planOf(options);
    const { customers, initialTradeDays } = plan.scale;
    console.log(
      `brokerage, preset ${plan.preset}, seed ${plan.seed}: ${customers} customers, ${initialTradeDays} days of trades; ` +
        plan.ways.join(', '),
    );
    const { run, page, results } = await runExperiment(plan, { commandLine, signal });
    console.log(`\n${summaryLines(run.record, results.missing).join('\n')}\n\nReport: ${page}`);
    if (run.record.findings?.check.passed !== true) process.exitCode = 1;
  },
);

interface Given extends DatabaseValues {
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

/** What was given, and for the rest the preset. A run that differs from its preset is custom. */
function planOf(given: Given): Plan {
  const { preset, customers, days, pricePeriod, seconds, warmup, rounds } = given;
  const { batching, batchDelay, batchRows, batchInFlight, prefetch } = given;
  const durations = DURATIONS[preset];
  const changed = [customers, days, pricePeriod, seconds, warmup, rounds];
  return {
    preset: changed.some((value) => value !== undefined) ? 'custom' : preset,
    scale: scaleOf(given),
    seed: given.seed,
    ways: waysOf(given),
    brokerUpdate: given.broker,
    engine: { batching, batchDelay, batchRows, batchInFlight, prefetch },
    processes: given.processes,
    rowCache: given.rowCache,
    rates: given.rates === undefined ? undefined : [...new Set(given.rates)],
    users: given.users,
    parts: partsOf(given),
    seconds: seconds ?? durations.seconds,
    warmupSeconds: warmup ?? durations.warmupSeconds,
    rounds: rounds ?? durations.rounds,
    out: given.out,
  };
}

function scaleOf({ preset, customers, days, pricePeriod }: Given): Scale {
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

function waysOf({ system, store }: Given): readonly WayName[] {
  const isOurs = (way: WayName): boolean => way === 'embedded' || way === 'emulator';
  return WAYS.filter((way) =>
    isOurs(way)
      ? system !== 'postgres' && (store === 'both' || store === way)
      : system !== 'percolator',
  );
}

/** What was named; otherwise all that there is of these systems. */
function partsOf({ paced, unpaced, reads, brokers, system, store }: Given): Plan['parts'] {
  if (paced || unpaced || reads || brokers) return { paced, unpaced, reads, brokers };
  const hasEmbedded = system !== 'postgres' && store !== 'emulator';
  return { paced: true, unpaced: true, reads: hasEmbedded, brokers: hasEmbedded };
}
