/**
 * The options that several scripts have, each defined once, so that one word means one thing
 * everywhere. A script that has one of them gives only what differs.
 */
import { availableParallelism } from 'node:os';
import { parseStoreName } from '#engine';
import { defaultRunFolder } from '#results';
import {
  flag,
  integer,
  number,
  outputFolder,
  text,
  textList,
  type Option,
} from '../command-line/options.ts';

/** Options of every script that measures or proves. */
export function resultOptions(hasTargets: boolean): {
  readonly watch: Option<number | undefined>;
  readonly json: Option<boolean>;
  readonly failOnTarget?: Option<boolean>;
} {
  const json = flag({
    description: 'print the run record as one JSON document, and nothing else on standard output',
  });
  if (!hasTargets) return { watch: watchOption, json };
  const failOnTarget = flag({ description: 'exit with code 1 if a target is not met' });
  return { watch: watchOption, json, failOnTarget };
}

export const watchOption: Option<number | undefined> = {
  ...integer({
    description:
      'serve the page of the run on this machine while it goes on, with what happens second by second; ' +
      'the address is printed, and the record keeps the seconds',
    defaultText: 'none; without a port, a free one',
    min: 0,
    max: 65_535,
  }),
  placeholder: 'port',
  valueLeftOut: '0',
};

/** `--out` of a run: its record, its page, and its databases while it works. */
export function runFolder(experiment: string): Option<string> {
  return outputFolder({
    description:
      'new folder for the record, the tables, the charts and the page; temporary files go there, too',
    default: () => defaultRunFolder(experiment),
    defaultText: `results/runs/${experiment}-<UTC time>`,
    isNew: true,
  });
}

/** @param decided what the seed decides: "the documents, arrivals and order of points" */
export function seedOption(decided: string): Option<number> {
  return integer({
    description: `decides ${decided}; the same seed repeats them`,
    default: 1,
    min: 0,
    max: 2 ** 31 - 1,
  });
}

/** The first of many seeds, each of which decides a run. */
export function firstSeedOption(): Option<number> {
  return integer({
    description: 'seed of the first run; each further run has the next one',
    default: 1,
    min: 1,
    max: 2 ** 31 - 1,
  });
}

/** @param worked "runs simulated" */
export function jobsOption(worked: string): Option<number> {
  const description = `${worked} at the same time; the times of --profile assume two`;
  return { ...onePerCore(description, 256), typical: 2 };
}

/** Worker processes of a batch. */
export function workersOption(description: string): Option<number> {
  return onePerCore(description, 64);
}

/** The default is in the range even on a machine with more cores than `max`. */
export function onePerCore(description: string, max: number): Option<number> {
  return integer({
    description,
    default: Math.min(max, availableParallelism()),
    defaultText: 'one per core',
    min: 1,
    max,
  });
}

/** @param repeated what is measured again: "each point" */
export function repeatsOption(repeated: string, min = 1): Option<number | undefined> {
  return integer({
    description: `measurements of ${repeated}; with one, the run is labelled exploratory`,
    min,
    max: 10_000,
  });
}

/** @param measured "each point" */
export function secondsOption(measured: string, min = 0.1): Option<number | undefined> {
  return number({
    description: `measured time of ${measured}; a short one measures little`,
    unit: 'seconds',
    min,
    max: 86_400,
  });
}

/** @param measured "each point" */
export function warmUpOption(measured: string): Option<number | undefined> {
  return number({
    description: `time before the measurement of ${measured}, which does not count`,
    unit: 'seconds',
    min: 0,
    max: 86_400,
  });
}

export const noFsyncOption: Option<boolean> = flag({
  description:
    'the embedded store does not wait for the disk: faster, but a power failure may lose commits or damage the store',
});

const STORE = {
  description:
    'the storage; embedded is a folder with durable commits, emulator the official one of Bigtable, hbase an HBase started here',
  expected:
    'embedded, emulator, bigtable://project/instance[?appProfile=name], hbase, or hbase[s]://host:port,...[?namespace=name&sessionTimeoutMs=90000&proofMs=1000&principal=hbase/_HOST] (a port: 1 to 65535)',
};

/** The region servers of an HBase that is started here. */
export function regionServersOption(): Option<number> {
  return integer({
    description:
      'region servers of the HBase that --store hbase starts; 0 is one process for everything, without HDFS',
    default: 3,
    min: 0,
    max: 24,
  });
}

/** The storage of the engine. */
export function storeOption(): Option<string> {
  const { description, expected } = STORE;
  return {
    ...text({ description, default: 'embedded', placeholder: 'store' }),
    expected,
    parse: (given) => (isStoreName(given) ? { value: given } : null),
  };
}

/** Several storages, one after the other. @param defaults if none is given */
export function storesOption(defaults: readonly string[]): Option<readonly string[]> {
  const { description, expected } = STORE;
  const stores = textList({
    description: `${description}; may be given several times`,
    defaultText: defaults.join(' and '),
    placeholder: 'store',
  });
  const parse = (given: string): { value: readonly string[] } | null => {
    const names = [...new Set(given.split('\0'))];
    return names.every(isStoreName) ? { value: names } : null;
  };
  return { ...stores, expected, parse, fallback: () => defaults };
}

function isStoreName(name: string): boolean {
  try {
    parseStoreName(name);
    return true;
  } catch {
    return false;
  }
}

/** Of a script whose processes may be on other machines (hosts/coordinator.ts). */
export function hostsOptions(): {
  readonly hosts: Option<number>;
  readonly listen: Option<string | undefined>;
} {
  return {
    hosts: integer({
      description:
        'other machines on which the processes of the engine run, by turns: the run waits until an agent on each has joined ' +
        '(./run.sh agent; the command is printed), and --store must be one that all of them reach',
      default: 0,
      defaultText: 'all processes on this machine',
      min: 0,
      max: 64,
    }),
    listen: text({
      description: 'where the agents of --hosts join',
      defaultText: 'all addresses of this machine, at a free port',
      placeholder: 'host:port',
    }),
  };
}

/** A distance that the embedded storage does not have. */
export function roundTripOption(milliseconds: number): Option<number> {
  return number({
    description: 'time that a timer adds to each call of the storage; 0 adds nothing',
    default: milliseconds,
    min: 0,
    max: 1_000,
    unit: 'ms',
  });
}
