/**
 * Options of a script as the parameters of its run: all except those that say where to write, and
 * how much to print, and those that the record has anyway.
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

/** A record holds lists of numbers only. */
function parameterOf(value: unknown): unknown {
  const isTexts = Array.isArray(value) && value.every((one) => typeof one === 'string');
  return isTexts ? value.join(', ') : value;
}
