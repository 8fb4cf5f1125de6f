/**
 * For tests: loaded by each process of a round before its program, and before the engine. A reader
 * of changes takes what a live transaction has locked for unchanged, as in the mutant
 * `live-locks-are-not-counted`.
 */
import { plant } from './planting.fixture.ts';

plant({
  '/engine/changes/look.ts': [
    ['this.#upTo = Math.max(this.#after.timestamp, Math.min(this.#upTo, startTimestamp));', ''],
  ],
});
