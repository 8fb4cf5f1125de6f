/** The public interface of the mutants. */
export type { Catch } from './hunt.ts';
export { huntAll, type HuntResult as Hunted } from './hunts.ts';
export type { Mutant } from './mutant.ts';
export { MUTANTS, WITHOUT_MUTANT } from './mutants.ts';
export { knownSeedsOf, QUICKEST } from './quickest.ts';
