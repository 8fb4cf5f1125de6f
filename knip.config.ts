/** What knip takes as the roots of the code: front doors, scripts and tests. Everything else must be reached. */
import type { KnipConfig } from 'knip';

const config: KnipConfig = {
  entry: ['engine/index.ts', '**/*.test.ts', 'oxlint.config.ts'],
  project: ['**/*.ts'],
};

export default config;
