/** The public interface of the brokerage on Percolator. */
export { brokerObserver } from './broker-update.ts';
export { COLLECTING } from './collecting.ts';
export { checkIndexes } from './index-check.ts';
export type { Layout } from './layout.ts';
export { loadPopulation, type LoadOptions } from './load.ts';
export { openBrokerage, type BrokerageOptions } from './open.ts';
