/**
 * The kinds of options a script may have: whole number, number, lists of them, choice, flag,
 * text, list of texts, output folder, input file, input folder.
 *
 * This file parses an option once into a typed value; scripts never see its text. Each kind
 * describes the right values in `expected`. That text appears both in `--help` and in the sentence
 * printed for a wrong value, so the two cannot disagree.
 *
 * An option without a default is `undefined` when it was not given, as its type says.
 */
import path from 'node:path';
import { UsageError } from '#results';
import {
  checkFolderNew,
  checkFolderWritable,
  checkReadableFile,
  checkReadableFolder,
} from './surroundings.ts';

/** One option, as data. Made by the functions below; read by `command-line.ts`. */
export interface Option<T> {
  /** The effect of the option and, where it matters, the cost of a bad value. */
  readonly description: string;
  /** Shown in `--help` in place of the value; null for a flag, which takes none. */
  readonly placeholder: string | null;
  /** The text that stands for a value that was left out; without it, there must be one. */
  readonly valueLeftOut?: string;
  /** The right values, in words that follow "must be": "a whole number from 1 to 10". */
  readonly expected: string;
  /** The default in the words of `--help`; null if there is none to show. */
  readonly defaultText: string | null;
  /** The value of a text; null if the text is not as `expected`. */
  readonly parse: (text: string) => { readonly value: T } | null;
  /** The value when the option was not given. */
  readonly fallback: () => T;
  /** What the times in `--help` assume where the default depends on the machine. */
  readonly typical?: T;
  /** Checks a path once all texts have been parsed; does nothing for kinds that are no paths. */
  readonly check: (name: string, path: string) => void;
  /** May be given several times; `parse` then receives the texts with a `\0` between them. */
  readonly repeats?: boolean;
  /**
   * The values of other options, by key, with which this one has an effect; `undefined` if the
   * other must not be given. With any other value, a command line that gives this option is
   * refused.
   */
  readonly onlyWith?: OnlyWith;
}

type OnlyWith = Readonly<Record<string, readonly string[]>>;

/** The option, which has an effect only with these values of others; with {}, always. */
export function onlyWith<T>(conditions: OnlyWith, option: Option<T>): Option<T> {
  return { ...option, onlyWith: conditions };
}

/** The options common to every kind; a `default` removes `undefined` from the option's type. */
interface Common<D> {
  readonly description: string;
  readonly default?: D;
  /** The default in words, where the value alone is unclear: "depends on --profile". */
  readonly defaultText?: string;
}

/**
 * The limits, which are included: without them, a slip of the finger is a run of a thousand years.
 * `--help` prints the unit: "seconds", "% of the repository per hour".
 */
interface Measured {
  readonly unit?: string;
  readonly min: number;
  readonly max: number;
}

/** A whole number. */
export function integer<const D extends number | undefined = undefined>(
  options: Common<D> & Measured,
): Option<number | D> {
  return {
    ...common(options, `a whole number${rangeText(options)}`),
    placeholder: 'number',
    parse: (given) => {
      const value = parseNumber(given);
      return Number.isSafeInteger(value) && isWithin(value, options) ? { value } : null;
    },
  };
}

/** Any number. */
export function number<const D extends number | undefined = undefined>(
  options: Common<D> & Measured,
): Option<number | D> {
  return {
    ...common(options, `a number${rangeText(options)}`),
    placeholder: 'number',
    parse: (given) => {
      const value = parseNumber(given);
      return isWithin(value, options) ? { value } : null;
    },
  };
}

/** Numbers separated by commas, such as `--rates 1,10,100`; at least one, none twice. */
export function numberList<const D extends readonly number[] | undefined = undefined>(
  options: Common<D> & Measured,
): Option<readonly number[] | D> {
  return listOf('numbers', () => true, options);
}

/** Whole numbers separated by commas, such as `--clients 1,2`; at least one, none twice. */
export function integerList<const D extends readonly number[] | undefined = undefined>(
  options: Common<D> & Measured,
): Option<readonly number[] | D> {
  return listOf('whole numbers', Number.isSafeInteger, options);
}

function listOf<D extends readonly number[] | undefined>(
  kind: string,
  isOfKind: (value: number) => boolean,
  options: Common<D> & Measured,
): Option<readonly number[] | D> {
  const expected = `different ${kind}${rangeText(options)}, separated by commas, such as 1,10`;
  return {
    ...common(options, expected),
    placeholder: 'number,...',
    parse: (given) => {
      const values = given.split(',').map((part) => parseNumber(part.trim()));
      const areRight = values.every((value) => isOfKind(value) && isWithin(value, options));
      return areRight && new Set(values).size === values.length ? { value: values } : null;
    },
  };
}

/** More would push the descriptions of all options to the right. */
const SHOWN_CHOICES_MAX = 2;

/** One of a few words. */
export function choice<const C extends string, const D extends C | undefined = undefined>(
  options: Common<D> & { readonly choices: readonly C[] },
): Option<C | D> {
  return {
    ...common(options, `one of ${options.choices.join(', ')}`),
    placeholder: options.choices.length > SHOWN_CHOICES_MAX ? 'word' : options.choices.join('|'),
    parse: (given) => {
      const chosen = options.choices.find((candidate) => candidate === given);
      return chosen === undefined ? null : { value: chosen };
    },
  };
}

/** True if given, false if not. */
export function flag(options: { readonly description: string }): Option<boolean> {
  return {
    ...common({ description: options.description, default: false }, 'given without a value'),
    placeholder: null,
    defaultText: null,
    parse: () => ({ value: true }),
  };
}

/** Any text that is not empty. */
export function text<const D extends string | undefined = undefined>(
  options: Common<D> & { readonly placeholder?: string },
): Option<string | D> {
  return {
    ...common(options, 'a text that is not empty'),
    placeholder: options.placeholder ?? 'text',
    parse: (given) => (given === '' ? null : { value: given }),
  };
}

/** Texts that are not empty: the option may be given several times, or not at all. */
export function textList(
  options: Omit<Common<never>, 'default'> & { readonly placeholder: string },
): Option<readonly string[]> {
  return {
    ...common({ ...options, default: [] }, 'a text that is not empty'),
    defaultText: options.defaultText ?? null,
    placeholder: options.placeholder,
    repeats: true,
    parse: (given) => {
      const texts = given.split('\0');
      return texts.includes('') ? null : { value: texts };
    },
  };
}

/**
 * A folder to write into. A check proves it writable before anything runs, and removes every folder
 * that it created for that: the run creates the folder when it begins. With `isNew` it must be new
 * or empty: results are immutable, and the files of another program are not ours.
 */
export function outputFolder<const D extends string | undefined = undefined>(
  options: Omit<Common<D>, 'default'> & {
    readonly default?: D | (() => D);
    readonly isNew?: boolean;
  },
): Option<string | D> {
  const { default: fallback, isNew = false, ...rest } = options;
  const value = typeof fallback === 'function' ? fallback : (): D => fallback as D;
  return {
    ...common(rest, `a ${isNew ? 'new or an empty ' : ''}folder that can be written`),
    defaultText: rest.defaultText ?? value() ?? null,
    placeholder: 'folder',
    fallback: value,
    // path.join normalizes it later, so the check must look at the same folder: none/../x is x.
    parse: (given) => (given === '' ? null : { value: path.normalize(given) }),
    check: (name, folder) => {
      checkFolderWritable(name, folder);
      if (isNew) checkFolderNew(name, folder);
    },
  };
}

/** A file that exists and can be read. Its reader checks the content. */
export function inputFile<const D extends string | undefined = undefined>(
  options: Common<D>,
): Option<string | D> {
  return {
    ...common(options, 'a file that exists and can be read'),
    placeholder: 'file',
    parse: (given) => (given === '' ? null : { value: given }),
    check: checkReadableFile,
  };
}

/** A folder that exists and can be read. */
export function inputFolder<const D extends string | null | undefined = undefined>(
  options: Common<D>,
): Option<string | D> {
  return {
    ...common(options, 'a folder that exists and can be read'),
    placeholder: 'folder',
    parse: (given) => (given === '' ? null : { value: given }),
    check: checkReadableFolder,
  };
}

/**
 * The value of `given`. `name` is as the user typed it.
 * @throws UsageError a sentence that says why the text is wrong
 */
export function parseOption<T>(name: string, option: Option<T>, given: string): T {
  const parsed = option.parse(given);
  if (parsed !== null) return parsed.value;
  const texts = given.split('\0');
  const shown = shortJson(texts.length > 1 ? texts : given);
  throw new UsageError(`${name} must be ${option.expected}, but is ${shown}.`);
}

/** The value as JSON, cut after 100 characters, for a sentence. */
export function shortJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length > 100 ? `${json.slice(0, 100)}...` : json;
}

type CommonParts<D> = Pick<
  Option<D>,
  'description' | 'expected' | 'defaultText' | 'fallback' | 'check'
>;

function common<D>(options: Common<D>, expected: string): CommonParts<D> {
  return {
    description: options.description,
    expected,
    defaultText: options.defaultText ?? defaultAsText(options.default),
    // Without a default, D is `undefined`, and this returns `undefined`.
    fallback: () => options.default as D,
    check: () => {},
  };
}

function defaultAsText(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function rangeText({ min, max, unit }: Measured): string {
  return ` from ${min} to ${max}${unit === undefined ? '' : `, in ${unit}`}`;
}

/** `Number` alone takes '' for 0 and '0x10' for 16; a user means neither. */
function parseNumber(given: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(given) ? Number(given) : Number.NaN;
}

function isWithin(value: number, { min, max }: Measured): boolean {
  return value >= min && value <= max;
}
