/**
 * `--profile`: the named sizes of a run.
 *
 *     smoke      5 seconds to 2 minutes           does it still work?
 *     quick      25 seconds to 11 minutes         a first look; the default
 *     standard   5 minutes to an hour             numbers to rely on
 *     full       as long as it takes
 *
 * The time of each script is in its `--help`, and in docs/options.md.
 *
 * A size gives values to options that were not given, and may hold settings that have no
 * option on the command line.
 */
import type { Profile } from '#results';
import type { Options, Values } from '../command-line/command-line.ts';
import { choice, type Option } from '../command-line/options.ts';
import { durationText } from './plan.ts';

export type ProfileName = Exclude<Profile, 'custom'>;

const PROFILES = ['smoke', 'quick', 'standard', 'full'] as const;

/** The size of each profile. */
export type Sizes<S> = Readonly<Record<ProfileName, S>>;

/** Options with the values of a size, and the name of that size, or `custom`. */
export type Sized<O, S> = Omit<Values<O>, keyof S> & S & { readonly profile: Profile };

/**
 * Returns the given values, completed with those of the profile's size. The profile is `custom` if
 * a given value differs from the size's.
 */
export function sized<O extends Options, S extends object>(
  given: Values<O>,
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
export function withDefaults<O extends Options>(options: O, sizes: Sizes<object>): O {
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
