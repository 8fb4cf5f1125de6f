/**
 * A process that judges one mutant: loads the engine with the change in it, takes one step after the
 * other, tells how each has ended, and ends with the first that fails.
 *
 * Test files find quick-tests.ts in the place of `node:test`. That a step takes too long is seen by the parent, as far
 * as it computes (run-steps.ts); that it waits for what never comes is seen here.
 */
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { reachedBy, startMeasuring } from './reach.ts';
import { runTests, TestFailure } from './quick-tests.ts';
import type { Job, Step, Told } from './step.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const QUICK_TESTS = new URL('quick-tests.ts', import.meta.url).href;

const TICK_MS = 100;
/** Less processor than this in a tick is waiting. */
const BUSY_MS = 10;
/** Ticks of waiting in one step. No test waits for that long; a busy machine makes ticks longer, not more. */
const WAITING_TICKS_MAX = 100;

Error.stackTraceLimit = 0;

let step = 'loading';
let waitingTicks = 0;

process.once('message', (job: Job) => {
  process.channel?.unref(); // A process with nothing left to do ends, and says so below.
  void takeSteps(job).catch((error: unknown) => fail(String(error), true));
});

async function takeSteps({ change, steps, measures }: Job): Promise<void> {
  installHooks(change);
  watchForEnds();
  if (measures) await startMeasuring();
  for (const next of steps) {
    step = next.name;
    waitingTicks = 0;
    tell({ told: 'began', step });
    const before = process.cpuUsage();
    const count = await take(next);
    const { user, system } = process.cpuUsage(before);
    const cpuMs = Math.round((user + system) / 1000);
    const reached = measures ? { reached: await reachedBy(ROOT) } : {};
    tell({ told: 'passed', step, cpuMs, count, ...reached });
  }
  leave();
}

function installHooks(change: Job['change']): void {
  const changed = change && pathToFileURL(path.join(ROOT, change.file)).href;
  registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier === 'node:test'
        ? { url: QUICK_TESTS, format: 'module-typescript', shortCircuit: true }
        : nextResolve(specifier, context),
    load: (url, context, nextLoad) =>
      url === changed
        ? { source: change?.text ?? '', format: 'module-typescript', shortCircuit: true }
        : nextLoad(url, context),
  });
}

/** Ends of a step that no test reports. */
function watchForEnds(): void {
  process.on('uncaughtException', (error: unknown) =>
    fail(`outside of tests: ${messageOf(error)}`),
  );
  process.on('unhandledRejection', (error) => fail(`unhandled: ${messageOf(error)}`));
  process.on('beforeExit', () => fail('waits for what never comes'));
  let before = process.cpuUsage();
  setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    if ((user + system) / 1000 < BUSY_MS) waitingTicks++;
    if (waitingTicks > WAITING_TICKS_MAX) fail('waits for too long');
  }, TICK_MS).unref();
}

/** Resolves with how much was done; if it fails, not at all, because the process ends. */
function take(next: Step): Promise<number> {
  return begin(next).catch((error: unknown) => {
    fail(messageOf(error), next.kind === 'tests' && !(error instanceof TestFailure));
    return new Promise<number>(() => undefined);
  });
}

async function begin(next: Step): Promise<number> {
  if (next.kind === 'seeds') return simulateSome(next);
  if (next.kind === 'search') return search(next);
  return runTests(() => import(pathToFileURL(path.join(ROOT, next.name)).href));
}

async function simulateSome({ from, to }: Extract<Step, { kind: 'seeds' }>): Promise<number> {
  const { planOf, simulate } = await import('#engine/testing');
  for (let seed = from; seed <= to; seed++) {
    const [violation] = (await simulate(planOf(seed))).violations;
    if (violation !== undefined) {
      throw new TestFailure(`seed ${seed}: ${violation.claim}: ${violation.message}`);
    }
  }
  return to - from + 1;
}

async function search(next: Extract<Step, { kind: 'search' }>): Promise<number> {
  const { exhaust, SCENARIOS } = await import('#engine/testing');
  const scenario = SCENARIOS.find(({ name }) => name === next.scenario);
  if (scenario === undefined) throw new TestFailure(`there is no scenario ${next.scenario}`);
  const { failure, executions } = await exhaust(scenario, next);
  const violation = failure?.violations[0];
  if (violation !== undefined) throw new TestFailure(`${violation.claim}: ${violation.message}`);
  return executions;
}

function fail(why: string, isLoading = false): void {
  tell({ told: 'failed', step, why: why.slice(0, 300), isLoading });
  leave();
}

function tell(told: Told): void {
  process.send?.(told);
}

/** After what was told has been sent. */
function leave(): void {
  process.send?.({ told: 'end' }, () => process.exit());
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
