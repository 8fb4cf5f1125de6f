/** The front door of the checks. */
export { checkBrokerage, type CheckOptions, type CheckReport, shorten } from './check.ts';
export type { Condition, Finding } from './finding.ts';
