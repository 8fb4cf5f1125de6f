/**
 * Loads the engine again for each mutant, in one process.
 *
 *     import('.../allocator.test.ts?mutant=7')
 *       └─▶ every import below it within the engine or the verification has the same suffix
 *             └─▶ Node takes them for new modules, and the hooks below provide their text
 *
 * The text of each unchanged file is kept, without its types, so that a mutant costs little more
 * than its tests. Test files load quick-tests.ts in place of `node:test`.
 */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Job } from './step.ts';

/** The engine, and the judges that import it. */
const ANEW = ['../../../engine/', '../'].map((folder) => new URL(folder, import.meta.url).href);
const QUICK_TESTS = new URL('quick-tests.ts', import.meta.url).href;
const SUFFIX = '?mutant=';

let number = 0;
let changed: { readonly url: string; readonly text: string } | undefined;
/** The texts of unchanged files, by URL. */
const texts = new Map<string, string>();

/** From now on, `importAnew` imports the engine with this change. */
export function change(root: string, next: Job['change']): void {
  if (number === 0) installHooks();
  number++;
  changed = next && { url: pathToFileURL(path.join(root, next.file)).href, text: next.text };
}

/** @param file of the engine or the verification, from `root` */
export async function importAnew(root: string, file: string): Promise<unknown> {
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
