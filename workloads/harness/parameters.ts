/**
 * Options of a script as the parameters of its run: all except those that do not change what is
 * measured (where to write, what to print, the exit code, the file of options), and the profile,
 * which the record has.
 */
import type { Parameters } from '#results';

const NOT_PARAMETERS = new Set(['out', 'config', 'verbose', 'json', 'failOnTarget', 'profile']);

export function parametersOf(options: object): Parameters {
  const given = Object.entries(options).filter(
    ([name, value]) =>
      !NOT_PARAMETERS.has(name) &&
      (Array.isArray(value) || ['string', 'number', 'boolean'].includes(typeof value)),
  );
  return Object.fromEntries(given.map(([name, value]) => [name, parameterOf(value)])) as Parameters;
}

/** The only lists in a record are of numbers, so a list of texts becomes one text. */
function parameterOf(value: unknown): unknown {
  const isTexts = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isTexts ? value.join(', ') : value;
}
