/**
 * Turns the results of the stores into the tables and charts of the record, and into the targets.
 * If the check of one store fails, there are none of them.
 */
import { sum } from 'simple-statistics';
import {
  type Findings,
  type FindingsParts,
  type Target,
  TARGETS as ALL,
  noNumbers,
} from '#results';
import type { Estimate } from '../harness/statistics.ts';
import { type ConditionalBatchPoint, conditionalBatchTable } from './conditional-batch.ts';
import { type ProfiledStore, profileTable } from './cpu-profile.ts';
import { rateOf, ratioOf } from './figure-8.ts';
import { NAMES, PAPER, relative } from './figure-8-cases.ts';
import {
  decompositionTable,
  figure8Chart,
  figure8Table,
  messagesTable,
  microseconds,
  processorTable,
} from './figure-8-tables.ts';
import { type InProcessCost, inProcessTable } from './in-process.ts';
import { type Latencies, latencyTable } from './latency.ts';
import { type Sweeps, sweepFindings } from './sweeps.ts';

/** The results of one store. */
export interface StoreResult extends ProfiledStore, Latencies {
  /** Empty without `--conditional-batch`, or if the store sends each conditional mutation alone. */
  readonly conditionalBatch: readonly ConditionalBatchPoint[];
  /** Undefined with `--figure-only`. */
  readonly sweeps: Sweeps | undefined;
  /** One caller at a time; none with `--figure-only`, or if the storage is another process. */
  readonly inProcess: readonly InProcessCost[];
  /** The errors that the check found, one sentence each. */
  readonly wrong: readonly string[];
}

export function findingsOf(results: readonly StoreResult[]): FindingsParts {
  const wrong = results.flatMap(({ name, wrong: all }) => all.map((one) => `${name}: ${one}`));
  if (results.length === 0 || wrong.length > 0) {
    const detail =
      wrong.length > 0 ? wrong.join('; ') : 'nothing has been measured and checked yet';
    return noNumbers(detail);
  }
  const check = {
    passed: true,
    detail:
      'on every store the newest version of each row that was written is the one written last, raw and in a ' +
      'snapshot, no lock is left, and no increment was lost',
  };
  const targets = [...targetsOf(results), ...agreementsOf(results)];
  return { headline: headlineOf(results), check, ...numbers(results), targets };
}

/** What was not measured has no table. */
function numbers(results: readonly StoreResult[]): Pick<Findings, 'tables' | 'charts'> {
  const swept = results.flatMap(({ name, sweeps }) =>
    sweeps === undefined ? [] : [{ name, sweeps }],
  );
  const { tables, charts } = sweepFindings(swept);
  const optional = [
    profileTable(results),
    ...tables,
    latencyTable(results),
    conditionalBatchTable(results),
    inProcessTable(results.flatMap(({ inProcess }) => inProcess)),
  ];
  return {
    tables: [
      figure8Table(results),
      decompositionTable(results),
      processorTable(results),
      messagesTable(results),
      ...optional.filter(({ rows }) => rows.length > 0),
    ],
    charts: [figure8Chart(results), ...charts],
  };
}

function headlineOf(results: readonly StoreResult[]): string {
  const sentences = results.map(({ name, figure8: { slices } }) => {
    const read = ratioOf(slices, NAMES.read, NAMES.rawRead);
    const write = ratioOf(slices, NAMES.write, NAMES.rawWrite);
    return `On the ${name} store, Percolator does ${withInterval(read)} of the raw store's reads and ${withInterval(write)} of its writes.`;
  });
  const [reads, writes] = [
    relative(PAPER.percolator.read, PAPER.raw.read),
    relative(PAPER.percolator.write, PAPER.raw.write),
  ];
  return `${sentences.join(' ')} The paper: ${reads.toFixed(2)} and ${writes.toFixed(2)}.`;
}

function withInterval({ value, low, high }: Estimate): string {
  const interval =
    low === null || high === null ? '' : ` (${low.toFixed(2)} to ${high.toFixed(2)})`;
  return value.toFixed(2) + interval;
}

const READS = {
  what: 'reads',
  ours: NAMES.read,
  raw: NAMES.rawRead,
  messages: [NAMES.readMessage],
} as const;
const WRITES = {
  what: 'writes',
  ours: NAMES.write,
  raw: NAMES.rawWrite,
  messages: [NAMES.prewriteMessage, NAMES.commitMessage],
} as const;

const { micro: MINIMA } = ALL;
/** The targets of the project. They are printed, never asserted. */
const TARGETS = [
  { store: 'emulator', min: MINIMA.emulator.reads, ...READS },
  { store: 'emulator', min: MINIMA.emulator.writes, ...WRITES },
  { store: 'embedded', min: MINIMA.embedded.reads, ...READS },
  { store: 'embedded', min: MINIMA.embedded.writes, ...WRITES },
] as const;

/**
 * Figure 8 and the sweep have one point in common, which is measured twice. If the two numbers
 * differ, one of them is of something else.
 */
function agreementsOf(results: readonly StoreResult[]): readonly Target[] {
  return results.flatMap(({ name, figure8, sweeps }) => {
    const { slices, inProcesses, concurrency } = figure8;
    if (sweeps === undefined || inProcesses) return []; // The sweep has one process.
    const kinds = [
      { ...READS, points: sweeps.readers },
      { ...WRITES, points: sweeps.writers },
    ];
    return kinds.flatMap(({ what, ours, raw, points }): readonly Target[] => {
      const again = points.find(({ at }) => at === concurrency)?.ratio;
      if (again === undefined) return [];
      const ratio = ratioOf(slices, ours, raw);
      const target = {
        name: `${name}, ${what}, measured again`,
        target: `the intervals of figure 8 and of the sweep at ${concurrency} callers overlap`,
        measured: `${withInterval(ratio)} and ${withInterval(again)}`,
      };
      const met = overlap(ratio, again);
      const reason = 'fewer than three rounds have no interval';
      return [met === null ? { ...target, met, reason } : { ...target, met }];
    });
  });
}

/** Null without intervals. */
function overlap(one: Estimate, other: Estimate): boolean | null {
  if (one.low === null || one.high === null || other.low === null || other.high === null) {
    return null;
  }
  return one.low <= other.high && other.low <= one.high;
}

function targetsOf(results: readonly StoreResult[]): readonly Target[] {
  return TARGETS.flatMap(({ store, what, ours, raw, messages, min }) => {
    const result = results.find(({ name }) => name === store);
    if (result === undefined) return [];
    const { slices } = result.figure8;
    const ratio = ratioOf(slices, ours, raw);
    // The bound if engine and oracle cost nothing.
    const alone = sum(messages.map((name) => microseconds(rateOf(slices, name).value)));
    const bound = microseconds(rateOf(slices, raw).value) / alone;
    return [
      {
        name: `${store}, ${what}`,
        target: `at least ${min.toFixed(2)} of the raw store`,
        measured: `${withInterval(ratio)}; its messages alone, sent without the engine, reach ${bound.toFixed(2)}`,
        met: ratio.value >= min,
      },
    ];
  });
}
