/**
 * `./run.sh test`: runs the tests, and meanwhile checks the code.
 *
 *     types, lint, format, unused code (npm run check) ── fails ──▶ the tests end at once
 *     all tests                                        ──────────▶ how they ended
 *
 * The checks use one core, so on two cores the tests have the other. `--quick` leaves out the
 * checks and the slow tests (slow.ts).
 *
 * Node compiles each file once for all test files and the processes that they start: the cache
 * (NODE_COMPILE_CACHE) halves the processor time of a start. Simulations make much garbage that is
 * young: more room for it saves a twentieth of their time. A Java that lives for seconds compiles
 * with the quicker of its two compilers, and does not verify the bytecode of known jars.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { flag, runCommand } from '#harness';
import { runNpm } from '../run-npm.ts';
import { patternOf, slowTests } from './slow.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
/**
 * A test that has not ended after twenty minutes never will: the longest one takes less than a
 * tenth of it, and a machine under load may be slower by as much. Four files of tests run at a
 * time, two more than two cores could run, because many wait for a clock.
 */
const RUNNER = [
  '--import',
  path.join(ROOT, 'checks/every-test-asserts.ts'),
  '--test',
  '--test-concurrency=4',
  '--test-timeout=1200000',
];
/** The processes of quick-tests.ts. */
const QUICK = [
  new URL('./first-quick-tests.ts', import.meta.url),
  new URL('./second-quick-tests.ts', import.meta.url),
].map((file) => patternOf(fileURLToPath(file)));

const QUICK_JAVA =
  '-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote';

const specification = {
  script: 'test',
  description:
    'Runs all tests, and checks types, lint, format and unused code. What needs Java, PostgreSQL, ' +
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
  if (!quick) await runNpm(['--version'], 'check the code', {}); // Fails early if npm is missing.
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  // Node sorts the files by their paths: QUICK come first, because their paths are absolute.
  const tests = quick ? QUICK : [...QUICK, ...slowTests()];
  const testing = run(process.execPath, [...RUNNER, ...tests], either, 'inherit');
  const check = quick ? undefined : await run('npm', ['run', 'check'], either, 'pipe');
  const said = check?.all ?? '';
  if (check === undefined || check.exitCode === 0) process.stdout.write(said);
  else failed.abort();
  const tested = await testing;
  signal.throwIfAborted();
  process.exitCode = tested.exitCode ?? 1;
  if (!failed.signal.aborted) return;
  // Last, because a test runner that is stopped names all the files that it did not come to.
  process.stdout.write(said);
  process.exitCode = 1;
});

function run(
  program: string,
  given: readonly string[],
  cancelSignal: AbortSignal,
  output: 'inherit' | 'pipe',
): Promise<{ readonly exitCode?: number | undefined; readonly all?: string | undefined }> {
  const own = (name: string): string => process.env[name] ?? '';
  return execa(program, given, {
    cwd: ROOT,
    env: {
      NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/node'),
      NODE_OPTIONS: `${own('NODE_OPTIONS')} --max-semi-space-size=64`,
      JAVA_TOOL_OPTIONS: `${own('JAVA_TOOL_OPTIONS')} ${QUICK_JAVA}`,
    },
    preferLocal: true,
    stdin: 'ignore',
    stdout: output,
    stderr: output,
    all: true,
    reject: false,
    stripFinalNewline: false,
    cancelSignal,
  });
}
