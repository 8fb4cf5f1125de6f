/** Compares what is with what should be, in sentences. */
import { isDeepStrictEqual } from 'node:util';

/** A list with thousands of equal findings helps no reader. */
const LISTED_MAX = 5;

/** One sentence for each of the first few keys whose values differ; a last one counts the rest. */
export function differences<T>(
  what: string,
  actual: ReadonlyMap<string, T>,
  expected: ReadonlyMap<string, T>,
): readonly string[] {
  const keys = new Set([...actual.keys(), ...expected.keys()]);
  const different = [...keys].filter(
    (key) => !isDeepStrictEqual(actual.get(key), expected.get(key)),
  );
  const sentences = different.slice(0, LISTED_MAX).map((key) => {
    const name = JSON.stringify(key.replace('\0', ' ← '));
    return `${what} of ${name} is ${inWords(actual.get(key))}, and should be ${inWords(expected.get(key))}`;
  });
  const more = different.length - sentences.length;
  return more > 0 ? [...sentences, `${what}: ${more} more`] : sentences;
}

function inWords(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}
