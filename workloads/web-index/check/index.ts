/** The front door of the check. */
export { checkAtRest, checkLive } from './check.ts';
export type { ServingState } from './invariants.ts';
