/**
 * Options from a file: `--config file.json`, which every script takes.
 *
 *     { "batching": "on", "batch-delay": 2, "rates": [1, 10] }
 *
 * The names are those of the command line, without their dashes; the command line takes precedence.
 * The values become texts and are parsed like any others, so a file cannot say more than a command
 * line. `npm run tune` writes such files; a script without use for one of its settings may list it
 * in `ignoredInFiles`, and accepts the file.
 */
import { readFileSync } from 'node:fs';
import { UsageError } from '#results';

/**
 * The texts of the options in `file`, by name.
 * @throws UsageError if it is not such a file, or names an option that is not among `names`
 */
export function readConfigFile(
  file: string,
  names: readonly string[],
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(parseFile(file))) {
    if (!names.includes(name)) {
      throw new UsageError(
        `--config ${JSON.stringify(file)} must give options of this script, but there is no --${name}.`,
      );
    }
    const text = textOf(value);
    if (text === undefined) {
      throw new UsageError(
        `--config ${JSON.stringify(file)} must give numbers, texts, lists of them, true or false, ` +
          `but ${name} is ${JSON.stringify(value)}.`,
      );
    }
    if (value !== false) texts.set(name, text);
  }
  return texts;
}

function parseFile(file: string): object {
  const sentence = `--config must be a JSON file with options, but ${JSON.stringify(file)}`;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${sentence} cannot be read.`, { cause });
  }
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch (cause) {
    throw new UsageError(`${sentence} is not JSON.`, { cause });
  }
  throw new UsageError(`${sentence} does not hold an object.`);
}

/** The text a user would type for it; undefined if there is none. */
function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.map(textOf);
    return texts.includes(undefined) ? undefined : texts.join(',');
  }
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
  return isPlain ? String(value) : undefined;
}
