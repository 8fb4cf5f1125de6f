/**
 * Loads the engine with a mutant's mistake in it, next to the unchanged engine.
 *
 *     import('.../mutants/worlds.ts?mutant=no-rollback-marker')
 *       └─▶ every import below it that leads to the mistake has the same suffix
 *             └─▶ Node takes them for other modules, and loads them again, through `mutate`
 *
 * Files that do not lead to the mistake are shared with the unchanged engine, which saves half of
 * the time: what is loaded again is also compiled again.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { assert } from '../../../engine/base/index.ts';
import { type Mutant, mutate } from './mutant.ts';
import type * as worlds from './worlds.ts';

const ENGINE = new URL('../../../engine/', import.meta.url).href;
const VERIFICATION = new URL('../', import.meta.url).href;
const SUFFIX = 'mutant';

export type Worlds = typeof worlds;

const known = new Map<string, Mutant>();
/** For each mutant: whether a file leads to its mistake, as far as that is known. */
const affected = new Map<string, Map<string, boolean>>();
/** What each file imports, apart from types. */
const imports = new Map<string, readonly string[]>();

/** The worlds of an engine with the mistake. The rest of the process is unaffected. */
export async function breed(mutant: Mutant): Promise<Worlds> {
  if (known.size === 0) registerHooks({ resolve, load });
  known.set(mutant.name, mutant);
  const files = mutant.changes.map(({ file }) => [new URL(file, ENGINE).href, true] as const);
  affected.set(mutant.name, new Map(files));
  const url = new URL('./worlds.ts', import.meta.url);
  url.searchParams.set(SUFFIX, mutant.name);
  return (await import(url.href)) as Worlds;
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
  const loaded = nextLoad(url, context);
  const name = mutantOf(url);
  const mutant = name === undefined ? undefined : known.get(name);
  if (mutant === undefined || loaded.source === undefined) return loaded;
  if (!url.startsWith(ENGINE)) return loaded;
  const file = url.slice(ENGINE.length, url.indexOf('?'));
  assert(loaded.source !== null, 'a file of the engine has a text');
  const text =
    typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
  return { ...loaded, source: mutate(mutant, file, text) };
};

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
  const text = readFileSync(new URL(url), 'utf8');
  return [...text.matchAll(/^(?:import|export) (?!type )[^;]*? from '([^']+)';/gm)]
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
