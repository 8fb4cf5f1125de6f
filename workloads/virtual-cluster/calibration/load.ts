/**
 * Reads a calibration: one of ours by its name, or any file.
 *
 * A file is `{ name, about, numbers }`, where `numbers` is the tree of `Calibration` with an
 * `Entry` for each number. A mistake is one sentence that names file and place: a missing number,
 * one that no calibration has, another unit, a value out of range, a number without a source.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { RUNS_FOLDER, UsageError } from '#results';
import {
  type Calibration,
  type CalibrationEntry,
  type Like,
  type NumberLimits,
  LIMITS,
} from './calibration.ts';

/** A calibration with its sources. */
export interface LoadedCalibration {
  readonly name: string;
  readonly about: string;
  readonly file: string;
  readonly entries: Like<Calibration, CalibrationEntry>;
  /** The numbers alone. */
  readonly calibration: Calibration;
}

const FOLDER = import.meta.dirname;
const BYTES_MAX = 1e6;

/** The names of our calibrations. */
export function calibrationNames(): readonly string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => path.basename(file, '.json'))
    .toSorted();
}

/**
 * @param given a name of ours; or a path, which holds a slash or ends in `.json`
 * @throws UsageError if there is no such calibration, or its file is wrong
 */
export function loadCalibration(given: string): LoadedCalibration {
  const isPath = /[/\\]|\.json$/.test(given);
  if (!isPath && !calibrationNames().includes(given)) {
    throw new UsageError(
      `--calibration must be ${calibrationNames().join(', ')} or the path of a JSON file, but is ${JSON.stringify(given)}.`,
    );
  }
  const file = isPath ? given : fileOf(given);
  try {
    return parseCalibration(parsedJson(file), file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The calibration ${JSON.stringify(file)} cannot be used: ${reason}.`, {
      cause: error,
    });
  }
}

/** A this-machine.json that `./run.sh calibrate` has made takes precedence over the one here. */
function fileOf(name: string): string {
  const made = path.join(RUNS_FOLDER, `${name}.json`);
  const isOwn = name === 'this-machine' && existsSync(made);
  return isOwn ? made : path.join(FOLDER, `${name}.json`);
}

function parsedJson(file: string): unknown {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error('it does not exist');
  if (!stat.isFile()) throw new Error('it is not a regular file');
  if (stat.size > BYTES_MAX) throw new Error('it is larger than 1 MB');
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error('it is not JSON', { cause });
  }
}

/** @throws an error that names the first wrong place */
export function parseCalibration(value: unknown, file: string): LoadedCalibration {
  const { name, about, numbers, ...rest } = objectAt(value, 'it');
  refuseUnknown(rest, '');
  if (typeof name !== 'string' || name === '') throw new Error('name must be a text');
  if (typeof about !== 'string' || about === '') throw new Error('about must be a text');
  const entries = branch(numbers, LIMITS, 'numbers');
  const loaded = entries as unknown as Like<Calibration, CalibrationEntry>;
  const calibration = valuesOf(entries) as unknown as Calibration;
  for (const [place, { medianUs, p99Us }] of [
    ['log.wait', calibration.log.wait],
    ['network.roundTrip', calibration.network.roundTrip],
  ] as const) {
    if (p99Us < medianUs) throw new Error(`numbers.${place} has a p99Us below its medianUs`);
  }
  return { name, about, file, entries: loaded, calibration };
}

/** A calibration for code that walks it: objects of objects, down to the leaves. */
export interface Tree<Leaf> {
  readonly [key: string]: Tree<Leaf> | Leaf;
}

/** Checks everything below a place against the limits there. */
function branch(value: unknown, limits: Tree<NumberLimits>, place: string): Tree<CalibrationEntry> {
  const { ...given } = objectAt(value, place);
  const parts = Object.entries(limits).map(([key, below]) => {
    const where = `${place}.${key}`;
    const part = given[key];
    delete given[key];
    return [key, isLimits(below) ? entryAt(part, below, where) : branch(part, below, where)];
  });
  refuseUnknown(given, `${place}.`);
  return Object.fromEntries(parts) as Tree<CalibrationEntry>;
}

function entryAt(
  value: unknown,
  { unit, min, max, isWhole }: NumberLimits,
  place: string,
): CalibrationEntry {
  const { value: number, unit: given, source, assumed, ...rest } = objectAt(value, place);
  refuseUnknown(rest, `${place}.`);
  const isNumber = typeof number === 'number' && number >= min && number <= max;
  if (!isNumber || (isWhole === true && !Number.isInteger(number))) {
    const kind = isWhole === true ? 'a whole number' : 'a number';
    throw new Error(
      `${place}.value must be ${kind} from ${min} to ${max}, but is ${JSON.stringify(number)}`,
    );
  }
  if (given !== unit) {
    throw new Error(`${place}.unit must be ${unit}, but is ${JSON.stringify(given)}`);
  }
  if (typeof source !== 'string' || source.trim() === '') {
    throw new Error(`${place}.source must say where the number comes from`);
  }
  if (assumed !== undefined && assumed !== true) {
    throw new Error(`${place}.assumed must be true or left out`);
  }
  return { value: number, unit, source, ...(assumed === true ? { assumed } : {}) };
}

function objectAt(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Error(`${place} ${value === undefined ? 'is missing' : 'must be an object'}`);
}

function refuseUnknown(rest: object, place: string): void {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new Error(`${place}${unknown} is no part of a calibration`);
}

function isLimits(node: Tree<NumberLimits> | NumberLimits): node is NumberLimits {
  return typeof node['unit'] === 'string';
}

/** The tree with the value of each entry in its place. */
export function valuesOf(entries: Tree<CalibrationEntry>): Tree<number> {
  const parts = Object.entries(entries).map(([key, node]) => [
    key,
    isEntry(node) ? node.value : valuesOf(node),
  ]);
  return Object.fromEntries(parts) as Tree<number>;
}

export function isEntry(node: Tree<CalibrationEntry> | CalibrationEntry): node is CalibrationEntry {
  return typeof node['value'] === 'number';
}
