/**
 * `./run.sh test`: checks the code, then runs the tests.
 *
 *   1. Types, lint, format, unused code: `npm run check`.
 *   2. All tests. `--quick` leaves out step 1 and the slow tests (slow.ts).
 *
 * Node compiles each file once for all test files and the processes that they start: the cache
 * (NODE_COMPILE_CACHE) halves the processor time of a start. Simulations make much garbage that is
 * young: more room for it saves a twentieth of their time. A Java that lives for seconds compiles
 * with the quicker of its two compilers.
 */
import { globSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import { flag, runCommand } from '#harness';
import { SLOW } from './slow.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
/**
 * A test that has not ended after two minutes never will. On two cores, three files of tests run at
 * a time: many wait for a clock.
 */
const RUNNER = [
  '--import',
  path.join(ROOT, 'every-test-asserts.ts'),
  '--test',
  '--test-concurrency=3',
  '--test-timeout=120000',
];

const specification = {
  script: 'test',
  description:
    'Checks types, lint, format and unused code, then runs all tests. What needs Java, PostgreSQL, ' +
    'a browser or the emulator is skipped where it is missing, and says so in one line.',
  options: {
    quick: flag({
      description:
        'run only the tests that need no processes, mutants or browser, and no checks: within a minute',
    }),
  },
  examples: [
    { command: './run.sh test', does: 'everything, as continuous integration does' },
    { command: './run.sh test --quick', does: 'while you edit' },
  ],
} as const;

await runCommand(specification, async ({ quick }, { signal }) => {
  const steps = quick
    ? [[process.execPath, ...RUNNER, ...otherTests()]]
    : [
        ['npm', 'run', '--silent', 'check'],
        [process.execPath, ...RUNNER, ...slowTests(), ...otherTests()],
      ];
  for (const [program = '', ...given] of steps) {
    const { exitCode } = await execa(program, given, {
      cwd: ROOT,
      env: {
        NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/node'),
        NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --max-semi-space-size=64`,
        JAVA_TOOL_OPTIONS: `${process.env['JAVA_TOOL_OPTIONS'] ?? ''} -XX:TieredStopAtLevel=1`,
      },
      preferLocal: true,
      stdio: 'inherit',
      reject: false,
      cancelSignal: signal,
    });
    signal.throwIfAborted();
    process.exitCode = exitCode ?? 1;
    if (exitCode !== 0) return;
  }
});

/** The slow tests come first: if a long one began last, it would leave the other core idle. */
function slowTests(): readonly string[] {
  return globSync([...SLOW], { cwd: ROOT, exclude: ['node_modules'] }).toSorted();
}

function otherTests(): readonly string[] {
  return globSync('**/*.test.ts', { cwd: ROOT, exclude: ['node_modules', ...SLOW] }).toSorted();
}
