/** The front door of the checks. */
export { checkBrokerage, type CheckOptions, type CheckReport, shorten } from './check.ts';
export { type Condition, CONDITIONS, type Finding } from './finding.ts';
