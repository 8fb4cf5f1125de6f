/**
 * Checks the options that a caller gives. The error is one sentence: the name of the option, what
 * it must be, and what it is. The types say part of this, but they do not stop a program
 * in JavaScript, or one that reads its options from a file.
 */
import { PercolatorError } from './errors.ts';
import { builtin } from './host.ts';

/** What a value must be, in words and as a test. */
export interface OptionRule {
  readonly expected: string;
  readonly accepts: (value: unknown) => boolean;
}

/** A rule for each option of `T`; `checkOptions` refuses all other options. */
export type OptionRules<T> = { readonly [K in keyof T]-?: OptionRule };

/** Options as a caller gives them: each may be left out. */
export type Given<T> = { readonly [K in keyof T]?: T[K] | undefined };

interface OptionWithDefault<T> extends OptionRule {
  readonly standard: T;
}

/** For options that all have a default: of each, the rule, and the value where none is given. */
export type OptionDefaults<T> = { readonly [K in keyof T]-?: OptionWithDefault<T[K]> };

export function option<T>(rule: OptionRule, standard: T): OptionWithDefault<T> {
  return { ...rule, standard };
}

/** The options of `defaults`, as given or by default; they have been checked before. */
export function filledIn<T extends object>(defaults: OptionDefaults<T>, given: Given<T>): T {
  const names = Object.keys(defaults) as (keyof T)[];
  const values = names.map((name) => [name, given[name] ?? defaults[name].standard] as const);
  return Object.fromEntries(values) as T;
}

const isText = (value: unknown): value is string => typeof value === 'string';

const isPort = (digits = ''): boolean => Number(digits) > 0 && Number(digits) < 65_536;

export const TEXT: OptionRule = { expected: 'a text', accepts: isText };
export const NAME: OptionRule = {
  expected: 'a text that is not empty',
  accepts: (value) => isText(value) && value !== '',
};
export const ADDRESS: OptionRule = {
  expected: 'a text like host:port',
  accepts: (value) => isText(value) && isPort(/^(?:[^:\s]+|\[.+\]):(\d+)$/.exec(value)?.[1]),
};
export const TEXTS: OptionRule = {
  expected: 'a list of texts',
  accepts: (value) => Array.isArray(value) && value.every(isText),
};
export const LIST: OptionRule = { expected: 'a list', accepts: Array.isArray };
export const FLAG: OptionRule = {
  expected: 'true or false',
  accepts: (value) => typeof value === 'boolean',
};
export const POSITIVE: OptionRule = {
  expected: 'a finite number above 0',
  accepts: (value) => Number.isFinite(value) && (value as number) > 0,
};
export const COUNT: OptionRule = {
  expected: 'a whole number above 0',
  accepts: (value) => Number.isSafeInteger(value) && (value as number) > 0,
};
export const WHOLE: OptionRule = {
  expected: 'a whole number of at least 0',
  accepts: (value) => value === 0 || COUNT.accepts(value),
};
export const FUNCTION: OptionRule = {
  expected: 'a function',
  accepts: (value) => typeof value === 'function',
};

export const SIGNAL: OptionRule = objectWith('an AbortSignal', { addEventListener: FUNCTION });
export const CLOCK: OptionRule = objectWith('a clock', { monotonicMs: FUNCTION });

export function oneOf(...values: readonly string[]): OptionRule {
  return { expected: values.join(' or '), accepts: (value) => values.includes(value as string) };
}

/** An object with these properties, and perhaps others. */
export function objectWith(
  expected: string,
  properties: Readonly<Record<string, OptionRule>>,
): OptionRule {
  const wanted = Object.entries(properties);
  const accepts = (value: unknown): boolean =>
    isObject(value) && wanted.every(([name, kind]) => kind.accepts(Reflect.get(value, name)));
  return { expected, accepts };
}

/** @throws INVALID_ARGUMENT, which calls the value `name`, unless it keeps the rule */
export function check(name: string, value: unknown, { expected, accepts }: OptionRule): void {
  if (!accepts(value)) throw invalid(`${name} must be ${expected}, not ${shown(value)}`);
}

/**
 * @param of the owner of the options, as the message names it: `openPercolator`, `the collector`
 * @throws INVALID_ARGUMENT unless all options given are known and right, and the required ones are
 *   given
 */
export function checkOptions<T extends object>(
  of: string,
  options: T,
  rules: OptionRules<T>,
  required: readonly (keyof T & string)[] = [],
): void {
  if (!isObject(options)) {
    throw invalid(`the options of ${of} must be an object, not ${shown(options)}`);
  }
  for (const name of required) check(name, options[name], rules[name]);
  for (const name of Object.keys(options) as (keyof T & string)[]) {
    if (!Object.hasOwn(rules, name)) {
      throw invalid(`${of} has no option ${name}; it has ${Object.keys(rules).join(', ')}`);
    }
    const value = options[name];
    if (value !== undefined) check(name, value, rules[name]);
  }
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as text on one line: an error without its stack, and a long text cut. */
function shown(value: unknown): string {
  // Some values still print on several lines.
  const text = inspected(value).replaceAll(/\s*\n\s*/g, ' ');
  return text.length > 200 ? `${text.slice(0, 200)} ...` : text;
}

/** As Node prints it; elsewhere as JSON, or by its type. */
function inspected(value: unknown): string {
  const options = { depth: 1, compact: true, breakLength: Infinity, maxStringLength: 60 };
  try {
    if (value instanceof Error) return String(value);
    const util = builtin('node:util');
    return util === undefined
      ? (JSON.stringify(value) ?? String(value))
      : util.inspect(value, options);
  } catch {
    return `a ${typeof value} that cannot be printed`; // A proxy of bytes, for example.
  }
}

function invalid(message: string): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', message);
}
