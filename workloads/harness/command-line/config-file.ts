/**
 * Options from a file: `--config file.json`, which every script takes.
 *
 *     { "batching": "on", "batch-delay": 2, "rates": [1, 10] }
 *
 * The names are those of the command line, without the two dashes in front; the command line takes
 * precedence. The values become texts and are parsed like any others, so a value that is wrong on
 * the command line is wrong in a file. `./run.sh tune` writes such files; a script without use for
 * one of its settings may list it in `ignoredInFiles`, and accepts the file.
 */
import { readFileSync, statSync } from 'node:fs';
import { UsageError } from '#results';
import { type Option, shortJson } from './options.ts';
import { checkReadableFile } from './surroundings.ts';

const BYTES_MAX = 1e6;
/** Options of every script that only a command line can give: a file is read too late for them. */
const NEVER_IN_FILES: ReadonlySet<string> = new Set(['config', 'help', 'verbose', 'version']);

/**
 * The texts of the options in `file`, by name.
 * @param known the options of this script by name; undefined for one without effect here
 * @throws UsageError if it is not such a file, or names an option that is not known
 */
export function readConfigFile(
  file: string,
  known: ReadonlyMap<string, Option<unknown> | undefined>,
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(parseFile(file))) {
    if (!known.has(name)) {
      const but = NEVER_IN_FILES.has(name)
        ? `--${name} cannot be given in a file`
        : `there is no --${name}`;
      throw new UsageError(
        `--config ${JSON.stringify(file)} must give options of this script, but ${but}.`,
      );
    }
    const option = known.get(name);
    const text = option === undefined ? '' : textOf(value, option);
    if (text === undefined) {
      const expected = option?.placeholder === null ? 'true or false' : option?.expected;
      throw new UsageError(
        `In --config ${JSON.stringify(file)}, ${name} must be ${expected}, but is ${shortJson(value)}.`,
      );
    }
    if (value !== false) texts.set(name, text);
  }
  return texts;
}

function parseFile(file: string): object {
  const sentence = `--config must be a JSON file with options, but ${JSON.stringify(file)}`;
  checkReadableFile('--config', file);
  if (statSync(file).size > BYTES_MAX) throw new UsageError(`${sentence} is larger than 1 MB.`);
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, ''); // A byte-order mark, as Windows writes.
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${sentence} is not JSON.`, { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new UsageError(`${sentence} does not hold an object.`);
  }
  const twice = namedTwice(text);
  if (twice !== undefined) throw new UsageError(`${sentence} names ${twice} twice.`);
  return parsed;
}

/** JSON.parse would take the last of two values. Names in nested objects do not count. */
function namedTwice(text: string): string | undefined {
  const names: string[] = [];
  let depth = 0;
  for (const [token, name = ''] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:?|[{}]/g)) {
    if (token === '{') depth++;
    else if (token === '}') depth--;
    else if (token.endsWith(':') && depth === 1) names.push(JSON.parse(name) as string);
  }
  return names.find((name, i) => names.indexOf(name) < i);
}

/** The text that a user would type for the value; undefined if the option takes no such value. */
function textOf(value: unknown, option: Option<unknown>): string | undefined {
  const { placeholder, repeats } = option;
  if (placeholder === null) return typeof value === 'boolean' ? String(value) : undefined;
  if (Array.isArray(value) && !takesList(option)) return undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isPlain = values.every((one) => ['string', 'number'].includes(typeof one));
  const texts = values.map(String);
  if (!isPlain || texts.some((text) => text.includes('\0'))) return undefined;
  return texts.join(repeats === true ? '\0' : ',');
}

/** An option takes a list if it repeats, or if its placeholder is that of values with commas. */
function takesList({ placeholder, repeats }: Option<unknown>): boolean {
  return repeats === true || placeholder?.endsWith(',...') === true;
}
