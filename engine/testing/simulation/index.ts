/** The front door of the simulator. */
export { planOf, type Plan } from './plan.ts';
export { simulate, type Result, type RunCounts } from './simulate.ts';
