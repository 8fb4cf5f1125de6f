/** Compares two sides, metric by metric, and sums up. */
import { UsageError } from '#harness';
import { type Difference, differenceOf, type Verdict } from './difference.ts';
import { merged, type Metric, metricsOf } from './metrics.ts';
import { disparities, type Disparity, type Names, readSide } from './sides.ts';
import { refuseSameRun, type Side } from './sides.ts';

export interface Comparison {
  readonly a: Side;
  readonly b: Side;
  readonly threshold: number;
  /** The differences in spite of which the sides were compared, each in a few words. */
  readonly inSpiteOf: readonly string[];
  readonly differences: readonly Difference[];
  /** Names of the metrics that not every run of both sides has. */
  readonly unmatched: readonly string[];
}

export interface ComparisonOptions {
  readonly threshold: number;
  readonly anyway: boolean;
}

/** @throws UsageError if the two cannot be compared, with the first reason */
export function compareRuns(
  givenA: Names,
  givenB: Names,
  { threshold, anyway }: ComparisonOptions,
): Comparison {
  const [a, b] = [readSide('A', givenA), readSide('B', givenB)];
  refuseSameRun(a, b);
  const found = disparities(a.runs[0].record, b.runs[0].record);
  refuse(found.find(({ isOptional }) => !(isOptional && anyway)));
  const records = [...b.runs, ...a.runs].map(({ record }) => record);
  const [ofA, ofB] = [a, b].map(({ runs }) => {
    const each = runs.map(({ record }) => metricsOf(record, records));
    return sharedMetrics(each);
  });
  if (ofA === undefined || ofB === undefined) throw new Error('there are two sides');
  const pairs = [...ofA.shared].flatMap(([name, metric]) => {
    const other = ofB.shared.get(name);
    return other === undefined ? [] : [[metric, other] as const];
  });
  const judgement = { threshold, metrics: pairs.length };
  const differences = pairs.map(([metric, other]) => differenceOf(metric, other, judgement));
  const declared = ofA.names.size + ofB.names.size;
  if (differences.length === 0) throw new UsageError(whyNothing(a, b, declared));
  const compared = new Set(differences.map(({ name }) => name));
  const unmatched = [...ofA.names.union(ofB.names)].filter((name) => !compared.has(name));
  return { a, b, threshold, inSpiteOf: found.map(({ text }) => text), differences, unmatched };
}

export function countOf(differences: readonly Difference[], verdict: Verdict): number {
  return differences.filter((one) => one.verdict === verdict).length;
}

/** One reason is enough: runs of two versions may differ in dozens of parameters. */
function refuse(first: Disparity | undefined): void {
  if (first === undefined) return;
  throw new UsageError(
    `A and B cannot be compared, because they differ in ${first.text}` +
      `${first.isOptional ? '; --anyway compares them in spite of all differences' : ''}.`,
  );
}

/** The metrics that all runs of a side have, merged, and the names of those that any run has. */
function sharedMetrics(runs: readonly (readonly Metric[])[]): {
  readonly shared: ReadonlyMap<string, Metric>;
  readonly names: ReadonlySet<string>;
} {
  const byName = Map.groupBy(runs.flat(), ({ name }) => name);
  const shared = [...byName].flatMap(([name, metrics]) => {
    const one = metrics.length === runs.length ? merged(metrics) : null;
    return one === null ? [] : [[name, one] as const];
  });
  return { shared: new Map(shared), names: new Set(byName.keys()) };
}

function whyNothing(a: Side, b: Side, metrics: number): string {
  const { experiment } = a.runs[0].record;
  return metrics === 0
    ? `The runs ${a.runs[0].name} and ${b.runs[0].name} of ${experiment} cannot be compared, ` +
        'because neither record says which of its columns are metrics.'
    : `The runs ${a.runs[0].name} and ${b.runs[0].name} cannot be compared, because they have no ` +
        'metric in common.';
}
