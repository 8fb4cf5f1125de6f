/**
 * The parameters of a run, from the options of its script. Left out are where to write, what to
 * print, the exit code and the file of options, which do not change what is measured; and the
 * profile, which has its own field in the record.
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

/** A list among the parameters of a record is of numbers, so a list of texts becomes one text. */
function parameterOf(value: unknown): unknown {
  const isTexts = Array.isArray(value) && value.some((one) => typeof one === 'string');
  return isTexts ? value.join(', ') : value;
}
