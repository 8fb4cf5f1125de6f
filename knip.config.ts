/**
 * What knip takes as the roots of the code; everything else must be reached from them, or is
 * unused.
 *
 * It finds most of them itself: the scripts, `imports` and `exports` of package.json, and programs
 * that are started with `new URL('...', import.meta.url)`. What is left are the tests.
 */
import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  entry: ['**/*.test.ts'],
  project: ['**/*.ts'],
  // A function's types are exported beside it, so that whoever calls it can name them.
  ignoreExportsUsedInFile: { interface: true, type: true },
  // Tests that break a disk compile what breaks it, where there is a compiler.
  ignoreBinaries: ['cc'],
  ignoreIssues: { '**/index.ts': ['types'] },
};

export default config;
