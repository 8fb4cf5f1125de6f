/**
 * `./run.sh bench:peers`: figure 7's crawl on other systems, next to this engine on its stores. All
 * cluster the same documents, with the same reads and writes for each, and the result of each is
 * checked document by document.
 */
import {
  counted,
  integer,
  number,
  type Option,
  repeatsOption,
  runExperiment,
  secondsOption,
  seedOption,
  type Sizes,
  textList,
  warmUpOption,
} from '#harness';
import { UsageError } from '#results';
import { findingsOf } from './findings.ts';
import { CALLERS, measureInTurns, OPERATIONS, type PeersPlan } from './measure.ts';
import { findSystems, type SystemName, SYSTEMS } from './systems.ts';

type Size = Omit<PeersPlan, 'concurrency' | 'rate' | 'seed'>;

const SIZES: Sizes<Size> = {
  smoke: {
    repository: 500,
    documents: 200,
    warmUp: 1,
    crawlSeconds: 2,
    rateSeconds: 1,
    cells: 200,
    seconds: 0.2,
    repeats: 1,
  },
  quick: {
    repository: 20_000,
    documents: 10_000,
    warmUp: 6,
    crawlSeconds: 6,
    rateSeconds: 4,
    cells: 5_000,
    seconds: 1,
    repeats: 1,
  },
  standard: {
    repository: 50_000,
    documents: 50_000,
    warmUp: 20,
    crawlSeconds: 10,
    rateSeconds: 8,
    cells: 20_000,
    seconds: 2,
    repeats: 3,
  },
  full: {
    repository: 250_000,
    documents: 200_000,
    warmUp: 60,
    crawlSeconds: 30,
    rateSeconds: 60,
    cells: 20_000,
    seconds: 10,
    repeats: 5,
  },
};
/** A guess for the plan: to start a system, to load it, and to check it. */
const START_SECONDS = 8;

await runExperiment(
  {
    script: 'bench:peers',
    subject: { kicker: 'Other systems', title: 'The crawl on this engine, and on its peers' },
    description:
      'Measures the clustering of crawled documents on this engine and on other systems, on the same documents and with ' +
      'the same check: the rate, the processor time of a document, the latency at a low rate, and transactions of one cell. ' +
      'The programs of the other systems are built where Go, Rust, or Java and Maven are; a system that is not here is skipped.',
    isOnOneHost: 'compares systems whose programs and storages share the cores of one machine',
    hasTargets: false,
    sizes: SIZES,
    options: {
      systems: systemsOption(),
      repository: integer({
        description: 'documents before the crawl',
        min: 100,
        max: 1_000_000,
      }),
      documents: integer({
        description: 'new documents, at most: of the warm-up, and again of the measured loop',
        min: 100,
        max: 1_000_000,
      }),
      warmUp: warmUpOption('each system at most, in the same loop'),
      crawlSeconds: secondsOption('the loop of new documents at most', 1),
      concurrency: integer({
        description: 'documents in flight in the loop',
        default: 64,
        min: 1,
        max: 1_024,
      }),
      rate: number({
        description:
          'arrivals when the latency is measured; more than a system can do, and it is that of a queue',
        default: 50,
        min: 1,
        max: 1_000,
        unit: 'documents per second',
      }),
      rateSeconds: integer({
        description: 'measured time of the arrivals; a short one measures little',
        min: 1,
        max: 86_400,
        unit: 'seconds',
      }),
      cells: integer({ description: 'cells that are read and written', min: 100, max: 1_000_000 }),
      seconds: secondsOption('each case of single cells'),
      repeats: repeatsOption('each system, in turns'),
      seed: seedOption('the documents'),
    },
    examples: [
      {
        command: './run.sh bench:peers --systems percolator-memory --systems client-go-memory',
        does: 'two systems that keep everything in memory',
      },
    ],
    plan: (options) => ({
      about: `${counted(options.systems.length, 'systems')} as far as they are here, ${counted(options.repeats, 'turns')}, up to ${options.documents} new documents each`,
      seconds: options.systems.length * options.repeats * secondsOfTurn(options),
      store: {
        name: 'this engine\u2019s, and those of its peers',
        durability: 'The table of what survives says it for each system.',
      },
      limitations: [
        'One machine, and for each system one client process: what a system costs, not how it grows.',
        'TiKV\u2019s client runs on the store of its own tests, without a network: neither the cost of TiKV nor its replicas are in its numbers.',
        'Only Percolator and Fluo have observers. In the other programs a durable mark stands for the notification, and a worker of the same process hears of it at once.',
        'A server that several systems share runs from its first use to the end of the run, and is idle while the others are measured.',
      ],
    }),
  },
  async ({ systems: names, ...plan }, measuring) => {
    const { progress, signal } = measuring;
    progress.phase('finding the systems', names.length, 'systems');
    const systems = await findSystems(names, {
      tell: (line) => progress.note(line),
      signal,
    });
    for (const sentence of systems.missing) process.stderr.write(`${sentence}.\n`);
    if (systems.found.length === 0) {
      throw new UsageError(`--systems: ${systems.missing.join('; ')}.`);
    }
    const found = (measurements: Parameters<typeof findingsOf>[2]) =>
      findingsOf(plan, systems, measurements);
    return found(await measureInTurns(plan, systems.found, measuring, found));
  },
);

function secondsOfTurn({ warmUp, crawlSeconds, rateSeconds, seconds }: Size): number {
  const cells = 1.5 * seconds * CALLERS.length * OPERATIONS.length;
  return START_SECONDS + warmUp + crawlSeconds + rateSeconds + cells;
}

function systemsOption(): Option<readonly SystemName[]> {
  const list = textList({
    description: 'a system to measure; may be given several times',
    defaultText: 'all that are here',
    placeholder: 'system',
  });
  const parse = (given: string): { value: readonly SystemName[] } | null => {
    const names = given.split('\0');
    const known = SYSTEMS.filter((name) => names.includes(name));
    return known.length === new Set(names).size ? { value: known } : null;
  };
  return {
    ...list,
    typical: SYSTEMS,
    expected: `one of ${SYSTEMS.join(', ')}`,
    parse,
    fallback: () => SYSTEMS,
  };
}
