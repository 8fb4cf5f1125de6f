/**
 * The two sides of a comparison: the runs that an argument names, and whether they may be compared.
 *
 * A side is one run, or several: a text with commas, or a list. Each is named by its folder, by its
 * record file, or by the name of a folder in results/runs or results/reference. Only finished runs
 * whose check has passed have numbers.
 */
import { type Stats, statSync } from 'node:fs';
import path from 'node:path';
import {
  mayBeMeasuring,
  readRecordFile,
  RECORD_FILE,
  REFERENCE_FOLDER,
  RUNS_FOLDER,
  type RunRecord,
} from '#results';
import { UsageError } from '#harness';

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

export function readSide(label: 'A' | 'B', given: Names): Side {
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
  if (findings?.check.passed === false) return `its check failed: ${findings.check.detail}`;
  return null;
}

/** The same run on both sides would only show that it equals itself. */
export function refuseSameRun(a: Side, b: Side): void {
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
export function disparities(a: RunRecord, b: RunRecord): readonly Disparity[] {
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
  const [textA, textB] = [a, b].map(valueText);
  return textA === textB ? [] : [{ text: `${what} (${textA}, ${textB})`, isOptional }];
}

function valueText(value: Fact): string {
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
