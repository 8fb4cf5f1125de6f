/** The public interface of the population: the data before the first transaction. */
export { createPopulation } from './population.ts';
