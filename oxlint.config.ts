/**
 * The enforced map of the code: the imports allowed, and the files where time and chance may enter.
 *
 * The table of layers below is the architecture. Read it first; `npm run lint` fails on an import
 * that it does not allow.
 */
import type { OxlintConfig, OxlintOverride } from 'oxlint';

/** The files of `engine/` itself that combine the folders; `root` below means them. */
const root = ['bulk-load', 'core', 'database', 'fsck', 'index', 'percolator'];

/** A folder of the engine may import itself and the folders listed. */
const layers: Record<string, readonly string[]> = {
  base: [],
  bigtable: ['base'],
  rpc: ['base'],
  oracle: ['base', 'bigtable', 'rpc'],
  'lock-service': ['base', 'bigtable', 'rpc'],
  leases: ['base', 'bigtable'],
  telemetry: ['base', 'bigtable', 'oracle'],
  transaction: ['base', 'bigtable', 'oracle', 'lock-service', 'leases', 'telemetry'],
  observer: ['base', 'bigtable', 'oracle', 'lock-service', 'telemetry', 'transaction'],
  'garbage-collection': ['base', 'bigtable', 'oracle', 'leases', 'telemetry', 'transaction'],
  audit: ['base', 'bigtable', 'oracle', 'transaction'],
  changes: ['base', 'bigtable', 'oracle', 'leases', 'transaction'],
  tables: ['base', 'bigtable', 'oracle', 'transaction'],
  typed: ['base', 'transaction', 'observer', 'tables'],
  recipes: ['base', 'transaction', 'observer', 'typed'],
  backup: ['base', 'bigtable', 'oracle', 'transaction', 'changes', 'tables', 'root'],
  host: [
    'base',
    'bigtable',
    'rpc',
    'oracle',
    'lock-service',
    'leases',
    'telemetry',
    'transaction',
    'observer',
    'garbage-collection',
    'audit',
    'changes',
    'tables',
    'typed',
    'backup',
    'root',
  ],
  testing: [
    'base',
    'bigtable',
    'oracle',
    'lock-service',
    'leases',
    'telemetry',
    'transaction',
    'observer',
    'garbage-collection',
    'audit',
    'changes',
    'tables',
    'typed',
    'backup',
    'root',
  ],
};

/**
 * A folder of `workloads/` may import itself and the folders listed. An experiment imports another
 * one only where this table says so; other shared code is in the harness.
 */
const rooms: Record<string, readonly string[]> = {
  harness: [],
  'crawl-rate': ['harness'],
  microbench: ['harness'],
  brokerage: ['harness'],
  failover: ['harness', 'brokerage', 'crawl-rate'],
  'web-index': ['harness', 'crawl-rate'],
  bench: ['harness', 'crawl-rate'],
  peers: ['harness', 'crawl-rate'],
  verification: ['harness'],
  'virtual-cluster': ['harness', 'crawl-rate', 'microbench', 'brokerage', 'verification'],
  tools: ['harness', 'crawl-rate', 'verification'],
};

/**
 * The verification imports the inside of the engine, to simulate it and to put mistakes into it.
 * The virtual cluster simulates it, too.
 */
const insiders = new Set(['verification', 'virtual-cluster']);

/** What the engine must not import: the other folders, and any front door, its own included. */
const outside = ['#*', '#*/**', '**/workloads/**', '**/mapreduce-baseline/**', '**/results/**'];

/**
 * Time and chance enter the engine through `base/clock.ts` and `base/random.ts`. ARCHITECTURE.md
 * names the exceptions: the parser of certificates, and the programs in `engine/host`.
 */
const undetermined = ['node:timers', 'node:timers/*', 'node:perf_hooks', 'node:crypto'];

/** What a browser can run: no module of Node. engine/core.test.ts asks the same of a bundle. */
const core = new Set([
  'base',
  'oracle',
  'leases',
  'telemetry',
  'transaction',
  'observer',
  'garbage-collection',
  'audit',
  'changes',
  'tables',
  'typed',
  'recipes',
]);

function forbid(files: string[], group: string[], message: string): OxlintOverride {
  return {
    files,
    rules: { 'no-restricted-imports': ['error', { patterns: [{ group, message }] }] },
  };
}

const layerRules = Object.entries(layers).map(([layer, allowed]) => {
  const others = Object.keys(layers).filter((other) => other !== layer && !allowed.includes(other));
  const above = root.flatMap((file) => [`../${file}.ts`, `../../${file}.ts`]);
  return forbid(
    [`engine/${layer}/**`],
    [
      ...others.map((other) => `**/${other}/**`),
      ...(allowed.includes('root') ? [] : above),
      ...outside,
      ...(core.has(layer) ? ['node:*', 'node:*/**'] : layer === 'host' ? [] : undetermined),
    ],
    `engine/${layer} may import only itself and: ${allowed.join(', ') || 'nothing'}`,
  );
});

const roomRules = Object.entries(rooms).map(([room, allowed]) => {
  const others = Object.keys(rooms).filter((other) => other !== room && !allowed.includes(other));
  return forbid(
    [`workloads/${room}/**`],
    [
      ...others.map((other) => `**/${other}/**`),
      ...(insiders.has(room) ? [] : ['**/engine/**']),
      '**/mapreduce-baseline/**',
      '**/results/**',
    ],
    `workloads/${room} may import only itself, the front doors '#engine', '#mapreduce', '#results' and: ${allowed.join(', ') || 'nothing'}`,
  );
});

const config: OxlintConfig = {
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'node'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['results/reference', 'results/runs'],
  rules: {
    'no-await-in-loop': 'off', // In a commit protocol the sequence is the meaning.
    'import/no-named-as-default-member': 'off', // fast-check is read as `fc.` everywhere.
    'unicorn/consistent-function-scoping': 'off', // A helper is where its reader needs it.
    'unicorn/require-post-message-target-origin': 'off', // Threads have no origin.
    'typescript/no-unsafe-type-assertion': 'off', // Decoders and generic containers need it.
    curly: ['error', 'multi-line'],
    'max-lines': ['error', { max: 600 }],
    'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
    'max-params': ['error', { max: 4 }],
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-floating-promises': [
      'error',
      {
        allowForKnownSafeCalls: [
          { from: 'package', package: 'node:test', name: ['test', 'describe', 'suite', 'it'] },
        ],
      },
    ],
    'typescript/switch-exhaustiveness-check': 'error',
  },
  overrides: [
    ...layerRules,
    forbid(
      ['engine/*.ts'],
      [...outside, ...undetermined],
      'the engine imports nothing above itself',
    ),
    forbid(
      ['mapreduce-baseline/**'],
      ['**/engine/**', '**/workloads/**', '**/results/**', '#*', '#*/**', '!#engine/base'],
      'the baseline shares only #engine/base',
    ),
    ...roomRules,
    forbid(
      ['results/**'],
      ['**/engine/**', '**/workloads/**', '**/mapreduce-baseline/**', '#*', '#*/**'],
      'charts are made from files only',
    ),
    {
      files: ['engine/**'],
      rules: {
        'no-restricted-globals': [
          'error',
          'Date',
          'performance',
          'process',
          'crypto',
          'setTimeout',
          'setInterval',
          'setImmediate',
        ],
        'no-restricted-properties': [
          'error',
          { object: 'Math', property: 'random', message: 'ask the Random you were given' },
        ],
      },
    },
    {
      files: ['engine/base/clock.ts', 'engine/base/random.ts'],
      rules: { 'no-restricted-globals': 'off', 'no-restricted-imports': 'off' },
    },
    { files: ['engine/rpc/certificate.ts'], rules: { 'no-restricted-imports': 'off' } },
    { files: ['engine/host/**'], rules: { 'no-restricted-globals': 'off' } },
    {
      files: ['**/*.test.ts'],
      rules: {
        'no-restricted-imports': 'off',
        'no-restricted-globals': 'off',
        'max-lines-per-function': 'off',
      },
    },
    {
      files: ['**/*.fixture.ts'], // Programs of tests: they open a database as its users do.
      rules: { 'no-restricted-imports': 'off' },
    },
    { files: ['*.config.ts'], rules: { 'import/no-default-export': 'off' } },
  ],
};

export default config;
