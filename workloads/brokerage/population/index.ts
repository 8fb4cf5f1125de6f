/**
 * The public interface of the population: the data before the first transaction, and the hours of
 * trading.
 */
export { TRADING_DAY_MS, tradingTime } from './calendar.ts';
export { createPopulation } from './population.ts';
