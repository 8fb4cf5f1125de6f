/**
 * Loads the engine in a browser, as it is or with a mistake in it: modules as texts, linked anew
 * for each engine.
 *
 *     the page's data ─▶ texts by path ─▶ a mutant replaces some ─▶ require(path) runs each once
 */
import type { ExplorerEngine } from '../search.ts';

/** What build.ts puts into the page. */
export interface PageData {
  /** The path of the module to load first. */
  readonly entry: string;
  /** CommonJS by path, or by the name of a package. */
  readonly modules: Readonly<Record<string, string>>;
  /** What `require` of a name that is no path means. */
  readonly names: Readonly<Record<string, string>>;
  /** By the name of the mutant, then by path. */
  readonly mutants: Readonly<Record<string, Readonly<Record<string, TextPatch>>>>;
}

/** In place of `length` characters from `at` on, `text`. */
export interface TextPatch {
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

interface Module {
  exports: unknown;
}

/** @param mutant absent: the engine as it is */
export function loadEngine(data: PageData, mutant?: string): ExplorerEngine {
  const patches = mutant === undefined ? {} : data.mutants[mutant];
  if (patches === undefined) throw new RangeError(`this page has no mutant ${mutant}`);
  const loaded = new Map<string, Module>();
  const require = (path: string): unknown => {
    const known = loaded.get(path);
    if (known !== undefined) return known.exports;
    const text = data.modules[path];
    if (text === undefined) throw new RangeError(`this page has no module ${path}`);
    const module: Module = { exports: {} };
    loaded.set(path, module);
    const patch = patches[path];
    // The text is the project's own, from the same file as this code.
    // oxlint-disable-next-line typescript/no-implied-eval
    const run = new Function('require', 'module', 'exports', patch ? patched(text, patch) : text);
    run((name: string) => require(resolved(data, path, name)), module, module.exports);
    return module.exports;
  };
  return require(data.entry) as ExplorerEngine;
}

function patched(text: string, { at, length, text: replacement }: TextPatch): string {
  return text.slice(0, at) + replacement + text.slice(at + length);
}

function resolved({ names }: PageData, from: string, name: string): string {
  if (!name.startsWith('.')) return names[name] ?? name;
  return new URL(name, `file:///${from}`).pathname.slice(1);
}

/** The data of this page: gzip, as base64. */
export async function readData<Data>(base64: string): Promise<Data> {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return (await new Response(stream).json()) as Data;
}
