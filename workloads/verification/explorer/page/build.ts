/**
 * Makes the explorer's page: one HTML file with the engine in it, and with what each mutant of the
 * gallery changes.
 *
 *     engine.ts ─▶ all modules that it needs, each as CommonJS (esbuild)
 *               ─▶ for each mutant: the same module with its mistake, as a difference
 *               ─▶ gzip, base64, next to the bundled page (app.ts)
 *
 * The same sources give the same bytes.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions, transform } from 'esbuild';
import { mutate } from '../../mutants/mutant.ts';
import { MUTANTS } from '../../mutants/mutants.ts';
import { GALLERY } from '../gallery/index.ts';
import type { RecordedSimulation } from '../recording.ts';
import type { PageData, TextPatch } from './loader.ts';

const HERE = import.meta.dirname;
const ROOT = path.resolve(HERE, '../../../..');
const ENTRY = 'workloads/verification/explorer/engine.ts';
/** The front door of the engine, in a browser. */
const NAMES = { '#engine': 'engine/core.ts' };
const ENGINE = 'engine/';

const COMMON: BuildOptions = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'browser',
  target: 'es2022',
  write: false,
  metafile: true,
  logLevel: 'silent',
};

/** The text of the page. */
export async function buildPage(): Promise<string> {
  return pageOf('app.ts', await pageData());
}

/** The text of a page that shows a recorded run. */
export function buildRecordedPage(recording: RecordedSimulation): Promise<string> {
  const { pictures, events } = recording.story;
  const packed: object[] = [];
  for (const [i, picture] of pictures.entries()) {
    const isAsBefore = picture.rows === pictures[i - 1]?.rows;
    packed.push(isAsBefore ? { ...picture, rows: undefined } : picture);
  }
  return pageOf('recorded-app.ts', { ...recording, story: { pictures: packed, events } });
}

async function pageOf(program: string, data: object): Promise<string> {
  const app = await bundled({
    entryPoints: [path.join(HERE, program)],
    format: 'iife',
    minify: true,
    legalComments: 'none',
  });
  const compressed = gzipSync(JSON.stringify(data), { level: 9 }).toString('base64');
  return readFileSync(path.join(HERE, 'page.html'), 'utf8')
    .replace('/* style */', () => readFileSync(path.join(HERE, 'page.css'), 'utf8'))
    .replace('<!-- data -->', () => compressed)
    .replace('/* app */', () => app.replaceAll('</script', String.raw`<\/script`));
}

async function pageData(): Promise<PageData> {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: [ENTRY],
    format: 'esm',
    alias: { '#engine': path.join(ROOT, NAMES['#engine']) },
  });
  const inputs = Object.keys(metafile?.inputs ?? {}).toSorted();
  const modules: Record<string, string> = {};
  for (const file of inputs.filter((one) => !one.startsWith('node_modules/'))) {
    modules[file] = await compiled(readFileSync(path.join(ROOT, file), 'utf8'));
  }
  for (const name of packagesIn(Object.values(modules))) {
    modules[name] = await bundled({ entryPoints: [name], format: 'cjs', minify: true });
  }
  const names = [...new Set(GALLERY.flatMap(({ mutant }) => mutant ?? []))];
  const mutants = await Promise.all(names.map((name) => patchesOf(name, modules)));
  return { entry: ENTRY, modules, names: NAMES, mutants: Object.fromEntries(mutants) };
}

/** Names stay, so that a reader of the page's source finds the engine's. */
async function compiled(text: string): Promise<string> {
  const { code } = await transform(text, {
    loader: 'ts',
    format: 'cjs',
    target: 'es2022',
    minifyWhitespace: true,
    legalComments: 'none',
  });
  return code;
}

async function bundled(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({ ...COMMON, ...options });
  return outputFiles?.[0]?.text ?? '';
}

function packagesIn(texts: readonly string[]): readonly string[] {
  const required = texts.flatMap((text) => [...text.matchAll(/require\("([^".#][^"]*)"\)/g)]);
  return [...new Set(required.map(([, name = '']) => name))].toSorted();
}

async function patchesOf(
  name: string,
  modules: Readonly<Record<string, string>>,
): Promise<readonly [string, Readonly<Record<string, TextPatch>>]> {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (mutant === undefined) throw new RangeError(`there is no mutant ${name}`);
  const patches: Record<string, TextPatch> = {};
  for (const file of new Set(mutant.changes.map((change) => change.file))) {
    const before = modules[ENGINE + file];
    if (before === undefined) continue; // Such as the client of an oracle that is a service.
    const source = readFileSync(path.join(ROOT, ENGINE, file), 'utf8');
    const after = await compiled(mutate(mutant, file, source));
    patches[ENGINE + file] = patchBetween(before, after);
  }
  if (Object.keys(patches).length > 0) return [name, patches];
  throw new RangeError(`${name} changes nothing in the page`);
}

function patchBetween(before: string, after: string): TextPatch {
  const most = Math.min(before.length, after.length);
  let at = 0;
  while (at < most && before[at] === after[at]) at++;
  let end = 0;
  while (end < most - at && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { at, length: before.length - at - end, text: after.slice(at, after.length - end) };
}
