/** The public interface of the exhaustive search. Start reading at exhaust.ts. */
export {
  exhaust,
  type ExhaustOptions,
  type SearchFailure,
  type SearchReport,
  retell,
} from './exhaust.ts';
export {
  type Budget,
  type Scenario,
  SCENARIOS,
  type ScriptedProcess,
  type Suspicion,
} from './scenarios.ts';
