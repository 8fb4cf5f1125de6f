/**
 * The explorer on one engine: everything that depends on its code. It is loaded once for the engine
 * as it is, and once for each mutant that is looked at (mutants/hunt.ts in Node, page/loader.ts in
 * a browser), so nothing outside imports the modules that it exports, except for their types.
 */
export { SCENARIOS } from './scenarios/index.ts';
export { oneByOne, readChoices, writeChoices } from './world/choice.ts';
export { FIGURE } from './world/figure.ts';
export { tell } from './world/picture.ts';
export { endAndJudge, replay, verdictOf } from './world/verdict.ts';
export { ExplorerWorld } from './world/world.ts';
