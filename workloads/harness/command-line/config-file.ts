/**
 * Options from a file: `--config file.json`, which every script takes.
 *
 *     { "batching": "on", "batch-delay": 2, "rates": [1, 10] }
 *
 * The names are those of the command line, without their dashes; what is given on the command line as well counts
 * more. The values become texts, and are then parsed like any others, so that a file cannot say what a command
 * line could not. `npm run tune` writes such files; a script to which one of its settings means nothing may say so,
 * and take the file all the same (`ignoredInFiles`).
 */
import { readFileSync } from 'node:fs';
import { UsageError } from '#results';

/**
 * The texts in `file`, by the names of their options.
 * @throws UsageError if it is no such file, or names an option that is not among `names`
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
  throw new UsageError(`${sentence} holds no object.`);
}

/** As it would be typed; undefined if it could not be. */
function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.map(textOf);
    return texts.includes(undefined) ? undefined : texts.join(',');
  }
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
  return isPlain ? String(value) : undefined;
}
