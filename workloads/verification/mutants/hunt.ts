/**
 * Hunts mutants: simulated runs on the engine with a mistake in it, seed after seed, until a judge
 * convicts it. A seed counts only if the unchanged engine passes it.
 *
 *     huntAll ─▶ threads (hunt-thread.ts) ─▶ hunt, one mutant after the other ─▶ breed
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { Worker } from 'node:worker_threads';
import { createRandom } from '../../../engine/base/index.ts';
import { type Mutant, mutate } from './mutant.ts';
import * as worlds from './worlds.ts';
import { type SimulationPlan, planOf, type Result } from './worlds.ts';

export interface Catch {
  /** The claim that convicted it: `snapshot isolation: stale read`. */
  readonly claim: string;
  readonly message: string;
  readonly seed: number;
  /** Runs until then, including this one. */
  readonly runs: number;
}

/** Undefined if none of the seeds catches it. */
export async function hunt(mutant: Mutant, seeds: Iterable<number>): Promise<Catch | undefined> {
  const mutated = await breed(mutant);
  let runs = 0;
  for (const seed of seeds) {
    runs++;
    const [violation] = await violationsOf(mutated, mutant, seed);
    if (violation === undefined) continue;
    if (await isInnocent(mutant, seed)) return { ...violation, seed, runs };
  }
  return undefined;
}

/** Whether the unchanged engine passes a seed, by all that decides its run. */
const innocent = new Map<string, boolean>();
const SIMULATED = new Set<Mutant['world']>([undefined, 'hbase', 'disk', 'owners']);

/** Many mutants have a seed and its knobs in common. On sockets, no run is like another one. */
async function isInnocent(mutant: Mutant, seed: number): Promise<boolean> {
  const { world, knobs, cluster, disk, owners, load, follows } = mutant;
  const key = JSON.stringify([seed, world, knobs, cluster, disk, owners, follows]);
  const isRepeated = SIMULATED.has(world) && load === undefined;
  const known = isRepeated ? innocent.get(key) : undefined;
  const answer = known ?? (await violationsOf(worlds, mutant, seed)).length === 0;
  if (isRepeated) innocent.set(key, answer);
  return answer;
}

async function violationsOf(
  {
    simulate,
    simulateDisk,
    simulateOwners,
    simulateStore,
    runHBase,
    runServices,
    runSharedStore,
  }: Worlds,
  mutant: Mutant,
  seed: number,
): Promise<Result['violations']> {
  const run = {
    engine: () => simulate(planFor(mutant, seed)),
    hbase: () => simulateStore(seed, mutant.cluster),
    disk: () => simulateDisk(seed, mutant.disk),
    'shared store': () => runSharedStore(seed, mutant.sockets),
    'hbase on sockets': () => runHBase(seed, mutant.sockets),
    services: () => runServices(seed),
    owners: () => simulateOwners(seed, mutant.owners),
  }[mutant.world ?? 'engine'];
  return (await run()).violations;
}

/** A mutant with a load of its own meets only the faults that it favours. */
const NO_FAULTS = { messages: {}, groups: {}, events: {} };

function planFor({ knobs: overrides = {}, load, follows }: Mutant, seed: number): SimulationPlan {
  const plan = planOf(seed, { follows });
  // Not drawn, as when most seeds were found; a mutant may ask for it.
  const drawn = { ...plan.knobs, checkBytesMax: undefined };
  const knobs = load === undefined ? drawn : { ...drawn, ...NO_FAULTS };
  const messages = { ...knobs.messages, ...overrides.messages };
  const groups = { ...knobs.groups, ...overrides.groups };
  const events = { ...knobs.events, ...overrides.events };
  const processes = load?.(createRandom(seed).fork('load')) ?? plan.processes;
  return { ...plan, processes, knobs: { ...knobs, ...overrides, messages, groups, events } };
}

/** The task of a thread. */
export interface Hunt {
  readonly name: string;
  readonly seeds: readonly number[];
}

export interface Hunted {
  readonly mutant: Mutant;
  /** Undefined if no seed caught the mutant. */
  readonly caught: Catch | undefined;
}

export interface HuntOptions {
  /** The seeds for each mutant, in the order in which they are tried. */
  seedsOf(mutant: Mutant): readonly number[];
  /** The number of threads. */
  readonly jobs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called when a hunt ends, with the number of those that have ended. */
  readonly onHunted?: ((done: number, result: Hunted) => void) | undefined;
}

/** Node calls its removing of types experimental, in each thread. */
const QUIET = ['--disable-warning=ExperimentalWarning'];

/**
 * In the order of `mutants`, without those that were left when `signal` aborted. If a hunt cannot
 * be made, rejects with its error, and no other hunt begins.
 */
export async function huntAll(
  mutants: readonly Mutant[],
  options: HuntOptions,
): Promise<readonly Hunted[]> {
  const waiting = [...mutants];
  const hunted = new Map<string, Hunted>();
  async function work(): Promise<void> {
    const thread = new Worker(new URL('hunt-thread.ts', import.meta.url), { execArgv: QUIET });
    try {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const request = { name: mutant.name, seeds: options.seedsOf(mutant) };
        const answer = await ask(thread, request, options.signal);
        if (answer === 'interrupted') break;
        const result = { mutant, ...answer };
        hunted.set(mutant.name, result);
        options.onHunted?.(hunted.size, result);
      }
    } catch (error) {
      waiting.length = 0;
      throw error;
    } finally {
      await thread.terminate();
    }
  }
  await Promise.all(Array.from({ length: Math.min(options.jobs, mutants.length) }, work));
  return mutants.flatMap(({ name }) => hunted.get(name) ?? []);
}

async function ask(
  thread: Worker,
  request: Hunt,
  signal: AbortSignal | undefined,
): Promise<Pick<Hunted, 'caught'> | 'interrupted'> {
  // Rejects with the thread's error.
  const answered = once(thread, 'message', { ...(signal && { signal }) });
  thread.postMessage(request);
  try {
    const [caught] = (await answered) as [Catch | undefined];
    return { caught };
  } catch (error) {
    if (signal?.aborted === true) return 'interrupted';
    throw error;
  }
}

/*
 * Loads the engine with a mutant's mistake in it, next to the unchanged engine.
 *
 *     import('.../mutants/worlds.ts?mutant=no-rollback-marker')
 *       └─▶ every import below it that leads to the mistake has the same suffix
 *             └─▶ Node takes them for other modules, and loads them again, through `mutate`
 *
 * Files that do not lead to the mistake are shared with the unchanged engine, which saves half of
 * the time: what is loaded again is also compiled again. Of those that are loaded again, only the
 * changed ones lose their types again: the others are kept as JavaScript.
 */

const ENGINE = new URL('../../../engine/', import.meta.url).href;
const VERIFICATION = new URL('../', import.meta.url).href;
const SUFFIX = 'mutant';

type Worlds = typeof worlds;

const known = new Map<string, Mutant>();
/** For each mutant: whether a file leads to its mistake, as far as that is known. */
const affected = new Map<string, Map<string, boolean>>();
/** What each file imports, apart from types. */
const imports = new Map<string, readonly string[]>();
/** The JavaScript of files that were loaded again without a change. */
const stripped = new Map<string, string>();

/** The worlds of an engine with the mistake. The rest of the process is unaffected. */
function breed(mutant: Mutant): Promise<Worlds> {
  return importWith<Worlds>(mutant, new URL('./worlds.ts', import.meta.url));
}

/** A module of the verification, on an engine with the mistake. */
export async function importWith<Module>(mutant: Mutant, module: URL): Promise<Module> {
  if (known.size === 0) registerHooks({ resolve, load });
  known.set(mutant.name, mutant);
  const files = mutant.changes.map(({ file }) => [new URL(file, ENGINE).href, true] as const);
  affected.set(mutant.name, new Map(files));
  const url = new URL(module);
  url.searchParams.set(SUFFIX, mutant.name);
  return (await import(url.href)) as Module;
}

type Hooks = Parameters<typeof registerHooks>[0];

const resolve: NonNullable<Hooks['resolve']> = (specifier, context, nextResolve) => {
  const resolved = nextResolve(specifier, context);
  const name = mutantOf(context.parentURL);
  if (name === undefined || !isAffected(resolved.url, affected.get(name))) return resolved;
  const url = new URL(resolved.url);
  url.searchParams.set(SUFFIX, name);
  return { ...resolved, url: url.href };
};

const load: NonNullable<Hooks['load']> = (url, context, nextLoad) => {
  const name = mutantOf(url);
  const mutant = name === undefined ? undefined : known.get(name);
  if (mutant === undefined) return nextLoad(url, context);
  return { format: 'module', source: sourceOf(url, mutant), shortCircuit: true };
};

function sourceOf(url: string, mutant: Mutant): string {
  const file = url.slice(0, url.indexOf('?'));
  const inEngine = file.slice(ENGINE.length);
  if (mutant.changes.some((one) => file.startsWith(ENGINE) && one.file === inEngine)) {
    return stripTypeScriptTypes(mutate(mutant, inEngine, textOf(file)));
  }
  const source = stripped.get(file) ?? stripTypeScriptTypes(textOf(file));
  stripped.set(file, source);
  return source;
}

function textOf(url: string): string {
  return readFileSync(new URL(url), 'utf8');
}

function isAffected(url: string, answers = new Map<string, boolean>()): boolean {
  if (!isLoadedAnew(url)) return false;
  const answer = answers.get(url) ?? importsOf(url).some((one) => isAffected(one, answers));
  answers.set(url, answer);
  return answer;
}

function importsOf(url: string): readonly string[] {
  const found = imports.get(url) ?? readImports(url);
  imports.set(url, found);
  return found;
}

function readImports(url: string): readonly string[] {
  return [...textOf(url).matchAll(/^(?:import|export) (?!type )[^;]*? from '([^']+)';/gm)]
    .map(([, specifier = '']) => specifier)
    .filter((specifier) => specifier.startsWith('.') || specifier.startsWith('#'))
    .map((one) => (one.startsWith('#') ? import.meta.resolve(one) : new URL(one, url).href));
}

function isLoadedAnew(url: string): boolean {
  return url.startsWith(ENGINE) || url.startsWith(VERIFICATION);
}

function mutantOf(url: string | undefined): string | undefined {
  if (url === undefined || !isLoadedAnew(url)) return undefined;
  return new URL(url).searchParams.get(SUFFIX) ?? undefined;
}
