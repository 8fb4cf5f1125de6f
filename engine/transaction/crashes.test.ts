/** A crash at every step of a commit, on the store in memory: every shape, every recovery. */
import { openTestDatabase } from '../testing/index.ts';
import { crashSuite } from '../testing/crash-suite.ts';

crashSuite(openTestDatabase);
