/**
 * The plan of a run: what it will do, at which size, with which parameters, how long that takes,
 * and how much disk.
 *
 * `--profile` has the named sizes:
 *
 *     smoke      5 seconds to 2 minutes           does it still work?
 *     quick      25 seconds to 11 minutes         a first look; the default
 *     standard   5 minutes to an hour             numbers to rely on
 *     full       as long as it takes
 *
 * The time of each script is in its `--help`, and in docs/options.md. A size gives values to
 * options that were not given, and may hold settings that have no option on the command line.
 */
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import {
  counted,
  type Parameters,
  type Profile,
  type StoreDescription,
  UsageError,
} from '#results';
import type { ScriptOptions, OptionValues } from '../command-line/command-line.ts';
import { choice, type Option } from '../command-line/options.ts';

export interface RunPlan {
  /** What will be measured, in words that continue "Plan:": "4 points of 5 s each". */
  readonly about: string;
  /** The expected duration of the whole run. */
  readonly seconds: number;
  /** The most that the run has on the disk at a time, where that matters. */
  readonly diskBytes?: number;
  /** Default: `--seed`, or 0 for a run without a random choice. */
  readonly seed?: number;
  /** Default: `--repeats`, or 1. */
  readonly repeats?: number;
  /** Default: all options except the profile and those of the output. */
  readonly parameters?: Parameters;
  readonly store: StoreDescription;
  readonly limitations: readonly string[];
}

/** "Plan: 4 points of 5 s each; about 30 seconds, up to 2.4 GB below results/runs/x." */
export function planLine({ about, seconds, diskBytes }: RunPlan, folder: string): string {
  const disk = diskBytes === undefined ? '' : `, up to ${bytesText(diskBytes)} below ${folder}`;
  return `Plan: ${about}; about ${durationText(seconds)}${disk}.`;
}

/** A rough duration: "20 seconds", "5 minutes", "2 hours". */
export function durationText(seconds: number): string {
  if (seconds < 90) return counted(Math.max(5, 5 * Math.round(seconds / 5)), 'seconds');
  if (seconds < 90 * 60) return counted(Math.round(seconds / 60), 'minutes');
  return counted(Math.round(seconds / 3_600), 'hours');
}

export type ProfileName = Exclude<Profile, 'custom'>;

export const PROFILES = ['smoke', 'quick', 'standard', 'full'] as const;

/** The size of each profile. */
export type Sizes<S> = Readonly<Record<ProfileName, S>>;

/** Options with the values of a size, and the name of that size, or `custom`. */
export type Sized<O, S> = Omit<OptionValues<O>, keyof S> & S & { readonly profile: Profile };

/**
 * Returns the given values, completed with those of the profile's size. The profile is `custom` if
 * a given value differs from the size's.
 */
export function sized<O extends ScriptOptions, S extends object>(
  given: OptionValues<O>,
  sizes: Sizes<S>,
  profile: ProfileName,
): Sized<O, S> {
  const values = Object.entries(given).filter(([, value]) => value !== undefined);
  const size = new Map(Object.entries(sizes[profile]));
  const isCustom = values.some(
    ([key, value]) => size.has(key) && JSON.stringify(size.get(key)) !== JSON.stringify(value),
  );
  const all = { ...sizes[profile], ...Object.fromEntries(values) };
  // The cast is sound: each key of the size has a value, the size's if its option was not given.
  return { ...all, profile: isCustom ? 'custom' : profile } as Sized<O, S>;
}

/** `--profile` itself. */
export function profileOption(secondsOf: (profile: ProfileName) => number): Option<ProfileName> {
  const times = PROFILES.map((profile) => `${profile} ${durationText(secondsOf(profile))}`);
  return choice({
    description: `size of the run: ${times.join(', ')}`,
    choices: PROFILES,
    default: 'quick',
  });
}

/** Returns the options; the help of each one that depends on the profile states all defaults. */
export function withDefaults<O extends ScriptOptions>(options: O, sizes: Sizes<object>): O {
  const entries = Object.entries(options).map(([key, option]) => {
    const defaults = PROFILES.map((profile) => new Map(Object.entries(sizes[profile])).get(key));
    return defaults.every((value) => value === undefined)
      ? [key, option]
      : [key, { ...option, defaultText: defaultsText(defaults) }];
  });
  return Object.fromEntries(entries) as O;
}

function defaultsText(defaults: readonly unknown[]): string {
  const texts = defaults.map(String);
  const isOne = texts.every((text) => text === texts[0]);
  return isOne ? `${texts[0]}` : `by profile: ${texts.join(' | ')}`;
}

/**
 * Where to write, what to print, the exit code and the file of options do not change what is
 * measured; the profile has its own field in the record.
 */
const NOT_PARAMETERS = new Set([
  'out',
  'config',
  'verbose',
  'json',
  'failOnTarget',
  'profile',
  'watch',
]);

/** The parameters of a run, from the options of its script. */
export function parametersOf(options: object): Parameters {
  const given = Object.entries(options).filter(
    ([name, value]) =>
      !NOT_PARAMETERS.has(name) &&
      (Array.isArray(value) || ['string', 'number', 'boolean'].includes(typeof value)),
  );
  return Object.fromEntries(given.map(([name, value]) => [name, parameterOf(value)])) as Parameters;
}

/** A list among the parameters of a record is of numbers, so a list of texts becomes one text. */
function parameterOf(value: unknown): unknown {
  const isTexts = Array.isArray(value) && value.some((one) => typeof one === 'string');
  return isTexts ? value.join(', ') : value;
}

/** Throws a UsageError if the disk of `folder`, which may not exist yet, lacks the free space. */
export async function refuseFullDisk(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(nearestExisting(path.resolve(folder)));
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  throw new UsageError(
    `--out must be on a disk with ${bytesText(neededBytes)} free for a run of this size, ` +
      `but the disk of ${JSON.stringify(folder)} has ${bytesText(freeBytes)}.`,
  );
}

/** "2.4 GB", "35 MB", or "812 kB" */
export function bytesText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes >= 1e6 ? `${Math.ceil(bytes / 1e6)} MB` : `${Math.ceil(bytes / 1e3)} kB`;
}

function nearestExisting(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : nearestExisting(parent);
}
