/** Compares two sides, metric by metric, sums up, and prints it as text or as JSON. */
import { type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { counted, UsageError } from '#harness';
import {
  mayBeMeasuring,
  readRecordFile,
  RECORD_FILE,
  REFERENCE_FOLDER,
  type RunRecord,
  RUNS_FOLDER,
} from '#results';
import { tableLines } from '../../harness/experiment/result-lines.ts';
import { type Difference, differenceOf, type Verdict } from './difference.ts';
import { merged, type Metric, metricsOf } from './metrics.ts';

interface Comparison {
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

function countOf(differences: readonly Difference[], verdict: Verdict): number {
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

/* The end of a comparison: what is printed, and the exit code. */

export interface Printing {
  readonly json: boolean;
  /** What to do if no metric has an interval, in words: `give more runs`. */
  readonly more: string;
}

/**
 * Prints the comparison. Sets exit code 1 if a metric is worse.
 * @throws UsageError if no metric has a verdict
 */
export function conclude(comparison: Comparison, { json, more }: Printing): void {
  const { differences } = comparison;
  const lines = json ? [comparisonJson(comparison)] : comparisonLines(comparison);
  process.stdout.write(`${lines.join('\n')}\n`);
  if (countOf(differences, 'worse') > 0) process.exitCode = 1;
  if (countOf(differences, 'no verdict') === differences.length) {
    throw new UsageError(whyNoVerdict(comparison, more));
  }
}

function whyNoVerdict({ differences, threshold }: Comparison, more: string): string {
  const what = 'No metric has a verdict, because ';
  return differences.every(({ interval }) => interval === null)
    ? `${what}none has an interval: ${more}.`
    : `${what}no interval is within ${threshold} % or, beyond chance, outside of it: give more runs of each side, or longer ones.`;
}

/* A comparison as text and as JSON. */

function comparisonLines(comparison: Comparison): readonly string[] {
  const { a, b, inSpiteOf, differences, unmatched, threshold } = comparison;
  const table = {
    title: `${a.runs[0].record.experiment}, B against A (↑ higher is better, ↓ lower is better)`,
    columns: ['metric', 'unit', 'A', 'B', 'difference', '95 % interval', 'verdict', 'from'],
    rows: differences.map((one) => [
      one.name,
      `${one.unit} ${one.better === 'higher' ? '↑' : '↓'}`.trim(),
      valueText(one.a),
      valueText(one.b),
      one.percent === null ? null : percentText(one.percent),
      one.interval === null
        ? null
        : `${percentText(one.interval.low)} to ${percentText(one.interval.high)}`,
      one.verdict,
      one.because,
    ]),
  };
  return [
    ...[a, b].flatMap(sideLines),
    ...(inSpiteOf.length === 0 ? [] : [`They differ in ${inSpiteOf.join('; ')}.`]),
    '',
    ...tableLines(table),
    ...(unmatched.length === 0
      ? []
      : [`Not compared, because not every run has them: ${counted(unmatched.length, 'metrics')}.`]),
    ...conclusion(differences, threshold),
  ];
}

/** What the exit code says; nothing if no metric has a verdict, which is an error. */
function conclusion(differences: readonly Difference[], threshold: number): readonly string[] {
  if (countOf(differences, 'no verdict') === differences.length) return [];
  const counts = (['better', 'same', 'worse', 'no verdict'] as const)
    .map((verdict) => `${countOf(differences, verdict)} ${verdict}`)
    .join(', ');
  const worse = countOf(differences, 'worse');
  const what =
    worse === 0 ? 'No metric is' : worse === 1 ? 'One metric is' : `${worse} metrics are`;
  return [`${what} worse by more than ${threshold} %: ${counts}.`];
}

function comparisonJson({ a, b, ...rest }: Comparison): string {
  const sideOf = ({ runs }: Side): unknown => runs.map(runOf);
  // JSON has no infinity: a latency without bound becomes a word.
  const words = (_: string, value: unknown): unknown => (value === Infinity ? 'unbounded' : value);
  return JSON.stringify({ a: sideOf(a), b: sideOf(b), ...rest }, words, 2);
}

function runOf({ name, record }: ComparedRun): unknown {
  const { runId, experiment, profile, startedAt, environment } = record;
  return { name, runId, experiment, profile, startedAt, commit: environment.commit };
}

function sideLines({ label, runs }: Side): readonly string[] {
  return runs.map(({ name, record }) => {
    const { commit } = record.environment;
    const changes = commit?.dirty === true ? ' with changes' : '';
    const hash = commit === null ? 'unknown' : `${commit.hash.slice(0, 7)}${changes}`;
    return `${label}  ${name}: commit ${hash}, ${record.startedAt.slice(0, 16).replace('T', ' ')}`;
  });
}

function valueText(value: number | null): number | string | null {
  return value === Infinity ? 'no bound' : value;
}

function percentText(percent: number): string {
  const digits = Math.abs(percent) < 10 ? 1 : 0;
  const text = percent.toFixed(digits);
  return `${Number(text) > 0 ? '+' : ''}${Number(text) === 0 ? '0' : text} %`;
}

/*
 * The two sides of a comparison: the runs that an argument names, and whether they may be compared.
 *
 * A side is one run, or several: a text with commas, or a list. Each is named by its folder, by its
 * record file, or by the name of a folder in results/runs or results/reference. Only finished runs
 * whose check has passed have numbers.
 */

export interface ComparedRun {
  /** As the user named it. */
  readonly name: string;
  readonly record: RunRecord;
}

/** All runs of a side measure the same; the first one represents them. */
export interface Side {
  readonly label: 'A' | 'B';
  readonly runs: readonly [ComparedRun, ...ComparedRun[]];
}

/** Something in which two runs differ: `text` continues "they differ in". */
export interface Disparity {
  readonly text: string;
  /** Whether the runs can be compared in spite of it, if the user asks for that. */
  readonly isOptional: boolean;
}

/** What names the runs of a side: a text as a user gives it, or a list of names. */
export type Names = string | readonly string[];

function readSide(label: 'A' | 'B', given: Names): Side {
  const names = typeof given === 'string' ? namesIn(given) : given;
  const [first, ...others] = names.map((name) => readRun(label, name));
  if (first === undefined) throw new Error('a text has at least one part');
  for (const other of others) {
    const [commit, ofOther] = [first, other].map(
      ({ record }) => record.environment.commit?.hash ?? 'unknown',
    );
    const [found] = [
      ...disparities(first.record, other.record),
      ...disparity('commit', commit, ofOther, false),
    ];
    if (found === undefined) continue;
    throw new UsageError(
      `The runs of ${label} must be repeats of each other, but ${first.name} and ${other.name} ` +
        `differ in ${found.text}.`,
    );
  }
  return { label, runs: [first, ...others] };
}

function namesIn(given: string): readonly string[] {
  return fileOf(given) === null ? given.split(',') : [given];
}

function readRun(label: string, name: string): ComparedRun {
  const file = fileOf(name);
  if (file === null) {
    throw new UsageError(
      `<${label}> must be the folder of a run, its ${RECORD_FILE}, or the name of a run in ` +
        `results/runs or results/reference, but ${JSON.stringify(name)} is none of these.`,
    );
  }
  const record = readRecordFile(file);
  const why = whyNoNumbers(record);
  if (why !== null) throw new UsageError(`The run ${name} cannot be compared, because ${why}.`);
  return { name, record };
}

/** The record file that a name stands for; null if there is none. */
function fileOf(name: string): string | null {
  if (name === '') return null;
  for (const base of [process.cwd(), REFERENCE_FOLDER, RUNS_FOLDER]) {
    const found = path.resolve(base, name);
    const stat = statOrNone(found);
    if (stat?.isFile() === true) return found;
    if (stat?.isDirectory() === true) return path.join(found, RECORD_FILE);
  }
  return null;
}

/** Undefined also for a list of names that is longer than a path may be. */
function statOrNone(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

function whyNoNumbers(record: RunRecord): string | null {
  const { state, findings } = record;
  if (state === 'running') {
    return mayBeMeasuring(record) ? 'it is still being measured' : 'it was killed before its end';
  }
  if (state !== 'finished') return `its state is ${state}, not finished`;
  if (!findings.check.passed) return `its check failed: ${findings.check.detail}`;
  return null;
}

/** The same run on both sides would only show that it equals itself. */
function refuseSameRun(a: Side, b: Side): void {
  const seen = new Map<string, string>();
  for (const { name, record } of [...a.runs, ...b.runs]) {
    const identity = `${record.runId} ${record.startedAt}`;
    const before = seen.get(identity);
    if (before !== undefined) {
      throw new UsageError(
        `The runs must be different ones, but ${before} and ${name} are both ${record.runId}.`,
      );
    }
    seen.set(identity, name);
  }
}

type Fact = RunRecord['parameters'][string] | undefined;

/** These say how often, and how much at the same time, but not what is measured. */
const NOT_COMPARED = new Set(['repeats', 'sweepRepeats', 'jobs']);
/** A machine of the same size never reports exactly the same memory. */
const MEMORY_TOLERANCE = 0.05;

/** Everything that makes the numbers of two runs answers to different questions, worst first. */
function disparities(a: RunRecord, b: RunRecord): readonly Disparity[] {
  const [placeA, placeB] = [a.environment, b.environment];
  const facts: readonly (readonly [what: string, a: Fact, b: Fact])[] = [
    ['profile', a.profile, b.profile],
    ...parameterNames(a, b).map(
      (name) => [`parameter ${name}`, a.parameters[name], b.parameters[name]] as const,
    ),
    ['seed', a.seed, b.seed],
    ['store', a.store.name, b.store.name],
    ['durability of the store', a.store.durability, b.store.durability],
    ['CPU model', placeA.cpuModel, placeB.cpuModel],
    ['cores', placeA.cores, placeB.cores],
    ['memory', ...memories(placeA.memoryBytes, placeB.memoryBytes)],
    ['file system', placeA.fileSystem, placeB.fileSystem],
    ['version of Node', placeA.nodeVersion, placeB.nodeVersion],
  ];
  return [
    ...disparity('experiment', a.experiment, b.experiment, false),
    ...facts.flatMap(([what, ofA, ofB]) => disparity(what, ofA, ofB, true)),
  ];
}

function disparity(what: string, a: Fact, b: Fact, isOptional: boolean): readonly Disparity[] {
  const [textA, textB] = [a, b].map(factText);
  return textA === textB ? [] : [{ text: `${what} (${textA}, ${textB})`, isOptional }];
}

function factText(value: Fact): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'object' ? value.join(' ') : String(value);
}

function parameterNames(a: RunRecord, b: RunRecord): readonly string[] {
  const names = new Set([...Object.keys(a.parameters), ...Object.keys(b.parameters)]);
  return [...names].filter((name) => name !== 'seed' && !NOT_COMPARED.has(name));
}

function memories(a: number, b: number): readonly [string, string] {
  const isSame = Math.abs(a - b) <= MEMORY_TOLERANCE * Math.max(a, b);
  const text = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  return isSame ? ['', ''] : [text(a), text(b)];
}
