/** The public interface of the exhaustive search. Start reading at exhaust.ts. */
export { exhaust, type ExhaustOptions, type Failure, type Report, retell } from './exhaust.ts';
export type { Budget, Scenario, ScriptedProcess, Suspicion } from './scenario.ts';
export { SCENARIOS } from './scenarios.ts';
