/** The front door of the population: what is there before the first transaction. */
export { createPopulation } from './population.ts';
