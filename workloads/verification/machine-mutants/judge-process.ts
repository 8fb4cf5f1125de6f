/**
 * A process that judges mutants: loads the engine with the change in it, runs one step after the
 * other, reports how each has ended, and stops at the first that fails. Then it waits for the next
 * mutant, if it is as good as new: no work that the last mutant began may be left, because it would
 * be blamed on the next.
 *
 * The parent ends a step that computes for too long (bench.ts); this process ends a step that waits
 * for too long, or for an event that never comes.
 */
import { performance } from 'node:perf_hooks';
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as search from '../exhaustive/index.ts';
import type * as simulation from '../simulation/index.ts';
import type { Job, JudgeStep, StepMessage } from './bench.ts';
import { runTests, TestFailure } from './quick-tests.ts';
import { isWaiting, reachedBy, startMeasuring } from './watch.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const SIMULATION = 'workloads/verification/simulation/index.ts';
const EXHAUSTIVE = 'workloads/verification/exhaustive/index.ts';

const TICK_MS = 100;
/**
 * The limit of ticks of waiting in one step. No test waits for that long; a busy machine makes
 * ticks longer, but not more numerous.
 */
const WAITING_TICKS_MAX = 200;

// Conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

let step = 'loading';
/** Between the beginning of a job and its end. */
let isAtWork = false;
let waitingTicks = 0;

watchForEnds();
process.on('message', (job: Job) => {
  isAtWork = true;
  process.channel?.unref(); // With no work left the process would end; `beforeExit` reports that.
  void takeSteps(job).then(() => endJob(true));
});

async function takeSteps(job: Job): Promise<void> {
  if (job.measures) await startMeasuring();
  change(ROOT, job.change);
  for (const next of job.steps) {
    step = next.name;
    waitingTicks = 0;
    tell({ kind: 'began', step });
    const before = process.cpuUsage();
    try {
      const count = await take(next);
      const { user, system } = process.cpuUsage(before);
      const cpuMs = Math.round((user + system) / 1000);
      const reached = job.measures ? { reached: await reachedBy(ROOT) } : {};
      tell({ kind: 'passed', step, cpuMs, count, ...reached });
    } catch (error) {
      const isLoading = next.kind === 'tests' && !(error instanceof TestFailure);
      tellFailure(messageOf(error), { isLoading });
      return;
    }
  }
}

async function take(next: JudgeStep): Promise<number> {
  if (next.kind === 'seeds') return simulateSome(next);
  if (next.kind === 'search') return searchOne(next);
  return runTests(() => importAnew(ROOT, next.name));
}

async function simulateSome({ from, to }: Extract<JudgeStep, { kind: 'seeds' }>): Promise<number> {
  const { planOf, simulate } = (await importAnew(ROOT, SIMULATION)) as typeof simulation;
  for (let seed = from; seed <= to; seed++) {
    const [violation] = (await simulate(planOf(seed))).violations;
    if (violation !== undefined) {
      throw new TestFailure(`seed ${seed}: ${violation.claim}: ${violation.message}`);
    }
  }
  return to - from + 1;
}

async function searchOne(next: Extract<JudgeStep, { kind: 'search' }>): Promise<number> {
  const { exhaust, SCENARIOS } = (await importAnew(ROOT, EXHAUSTIVE)) as typeof search;
  const scenario = SCENARIOS.find(({ name }) => name === next.scenario);
  if (scenario === undefined) throw new TestFailure(`there is no scenario ${next.scenario}`);
  const { failure, executions } = await exhaust(scenario, next);
  const violation = failure?.violations[0];
  if (violation !== undefined) throw new TestFailure(`${violation.claim}: ${violation.message}`);
  return executions;
}

/** Ends of a step that no test reports. */
function watchForEnds(): void {
  process.on('uncaughtException', (error: unknown) =>
    failAndEnd(`outside of tests: ${messageOf(error)}`),
  );
  process.on('unhandledRejection', (error) => failAndEnd(`unhandled: ${messageOf(error)}`));
  process.on('beforeExit', () =>
    failAndEnd('waits for an event that never comes', { isAtRest: true }),
  );
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    if (isWaiting(before, now)) waitingTicks++;
    before = now;
    if (waitingTicks > WAITING_TICKS_MAX) failAndEnd('waits for too long', { isLate: true });
  }, TICK_MS).unref();
}

/** `isAtRest`: the job can do nothing any more. `isLate`: it did nothing for too long. */
function failAndEnd(why: string, { isAtRest = false, isLate = false } = {}): void {
  if (!isAtWork) return;
  tellFailure(why, { isLate });
  endJob(isAtRest);
}

/** After the end of a job, only its unfinished work keeps the process alive. */
function endJob(isAtRest: boolean): void {
  if (!isAtWork) return; // The job was ended for another reason, but its promise settled later.
  isAtWork = false;
  const isAsNew = isAtRest && process.getActiveResourcesInfo().length === 0;
  process.channel?.ref();
  process.send?.({ kind: 'ended', isAsNew } satisfies StepMessage, () => {
    if (!isAsNew) process.exit();
  });
}

function tellFailure(why: string, { isLoading = false, isLate = false } = {}): void {
  tell({ kind: 'failed', step, why: why.slice(0, 300), isLoading, isLate });
}

function tell(message: StepMessage): void {
  process.send?.(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/*
 * Loads the engine again for each mutant, in one process.
 *
 *     import('.../allocator.test.ts?mutant=7')
 *       └─▶ every import below it within the engine or the verification has the same suffix
 *             └─▶ Node takes them for new modules, and the hooks below provide their text
 *
 * The text of each unchanged file is kept, without its types, so that a mutant costs little more
 * than its tests. Test files load quick-tests.ts in place of `node:test`.
 */

/** The engine, and the judges that import it. */
const ANEW = ['../../../engine/', '../'].map((folder) => new URL(folder, import.meta.url).href);
const QUICK_TESTS = new URL('quick-tests.ts', import.meta.url).href;
const SUFFIX = '?mutant=';

let number = 0;
let changed: { readonly url: string; readonly text: string } | undefined;
/** The texts of unchanged files, by URL. */
const texts = new Map<string, string>();

/** From now on, `importAnew` imports the engine with this change. */
function change(root: string, next: Job['change']): void {
  if (number === 0) installHooks();
  number++;
  changed = next && { url: pathToFileURL(path.join(root, next.file)).href, text: next.text };
}

/** @param file of the engine or the verification, from `root` */
async function importAnew(root: string, file: string): Promise<unknown> {
  const { href } = pathToFileURL(path.join(root, file));
  return await import(`${href}${SUFFIX}${number}`);
}

function installHooks(): void {
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      if (specifier === 'node:test') return { url: QUICK_TESTS, shortCircuit: true };
      const resolved = nextResolve(specifier, context);
      const suffix = suffixOf(context.parentURL);
      if (suffix === '' || !isLoadedAnew(resolved.url)) return resolved;
      return { ...resolved, url: resolved.url + suffix };
    },
    load: (url, context, nextLoad) => {
      const suffix = suffixOf(url);
      if (suffix === '') return nextLoad(url, context);
      const plain = url.slice(0, -suffix.length);
      const source = plain === changed?.url ? stripTypeScriptTypes(changed.text) : textOf(plain);
      return { source, format: 'module', shortCircuit: true };
    },
  });
}

function isLoadedAnew(url: string): boolean {
  return ANEW.some((folder) => url.startsWith(folder)) && url.endsWith('.ts');
}

function suffixOf(url: string | undefined): string {
  const at = url?.indexOf(SUFFIX) ?? -1;
  return at < 0 ? '' : (url?.slice(at) ?? '');
}

function textOf(url: string): string {
  const text = texts.get(url) ?? stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
  texts.set(url, text);
  return text;
}
