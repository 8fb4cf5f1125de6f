/**
 * The engine as a package of its own: JavaScript and declarations, without tests and without the
 * experiments.
 *
 *   1. The compiler translates engine/index.ts and every file that it reaches. No test is among
 *      them.
 *   2. The protocol definitions (.proto) are copied next to the code that reads them.
 *   3. package.json is derived from the project's. Its dependencies are the packages that the
 *      translated code imports, at the project's versions.
 *   4. `npm pack` makes the tarball.
 *
 * The project itself runs from source and needs no build. Node runs no TypeScript under
 * node_modules, so a package must be translated.
 */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { runNpm } from '../run-npm.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const ENGINE = path.join(ROOT, 'engine');
const NAME = 'percolator-engine';
/** For the sentence that says that npm is missing. */
const PURPOSE = 'pack the engine';
/** The first versions that have node:sqlite without a flag. */
const NODE = '^22.13.0 || >=23.4.0';

interface ProjectPackage {
  readonly version: string;
  readonly license: string;
  readonly author: string;
  readonly keywords: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

export interface PackedEngine {
  /** Absolute path of the tarball. */
  readonly tarball: string;
  /** The paths of its files, without the `package/` in front. */
  readonly files: readonly string[];
}

/**
 * @param folder for the tarball; created if need be
 * @throws UsageError if npm is not on PATH
 * @throws if the signal is aborted, which leaves the folder as it was
 */
export async function buildPackage(folder: string, signal?: AbortSignal): Promise<PackedEngine> {
  await runNpm(['--version'], PURPOSE, {}); // Fails early if npm is missing.
  const stage = await mkdtemp(path.join(tmpdir(), 'percolator-pack-'));
  try {
    const dist = path.join(stage, 'dist');
    await translate(stage, dist, signal);
    await copyDefinitions(dist);
    await writeFile(
      path.join(stage, 'package.json'),
      `${JSON.stringify(await describePackage(dist), null, 2)}\n`,
    );
    await cp(path.join(ROOT, 'LICENSE'), path.join(stage, 'LICENSE'));
    await cp(path.join(ENGINE, 'README.md'), path.join(stage, 'README.md'));
    await cp(path.join(ENGINE, 'protocol.md'), path.join(stage, 'protocol.md'));
    const { filename, files } = await pack(stage, signal);
    const tarball = path.join(folder, filename);
    await mkdir(folder, { recursive: true });
    await cp(path.join(stage, filename), tarball);
    return { tarball, files: files.map((file) => file.path).toSorted() };
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

async function translate(stage: string, dist: string, signal?: AbortSignal): Promise<void> {
  const config = path.join(stage, 'tsconfig.json');
  await writeFile(
    config,
    JSON.stringify({
      extends: path.join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        rootDir: ENGINE,
        outDir: dist,
        typeRoots: [path.join(ROOT, 'node_modules/@types')],
      },
      include: [],
      files: [path.join(ENGINE, 'index.ts')],
    }),
  );
  await execa('tsc', ['--project', config], {
    preferLocal: true,
    localDir: ROOT,
    // The compiler ends on no other signal before it is done.
    killSignal: 'SIGKILL',
    ...(signal && { cancelSignal: signal }),
  });
  await rm(config);
  // The compiler rewrites the extensions of imports in JavaScript, and leaves those of
  // declarations.
  for (const file of globSync('**/*.d.ts', { cwd: dist })) {
    const declarations = await readFile(path.join(dist, file), 'utf8');
    const rewritten = declarations.replaceAll(/(['"]\.{1,2}\/[^'"]*)\.ts(['"])/g, '$1.js$2');
    await writeFile(path.join(dist, file), rewritten);
  }
}

async function copyDefinitions(dist: string): Promise<void> {
  for (const file of globSync('**/*.proto', { cwd: ENGINE })) {
    await mkdir(path.dirname(path.join(dist, file)), { recursive: true });
    await cp(path.join(ENGINE, file), path.join(dist, file));
  }
}

async function describePackage(dist: string): Promise<object> {
  const project = JSON.parse(
    await readFile(path.join(ROOT, 'package.json'), 'utf8'),
  ) as ProjectPackage;
  const { version, license, author, keywords } = project;
  return {
    name: NAME,
    version,
    description:
      'Google Percolator: snapshot-isolation transactions and observers over Bigtable, or a folder',
    keywords: keywords.filter((word) => word !== 'benchmark' && word !== 'mapreduce'),
    license,
    author,
    type: 'module',
    engines: { node: NODE },
    exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
    files: ['dist', 'protocol.md'],
    dependencies: await dependenciesOf(dist, project),
  };
}

/** Every package that the code or its declarations import; declarations also name types of Node. */
async function dependenciesOf(
  dist: string,
  { dependencies, devDependencies }: ProjectPackage,
): Promise<Readonly<Record<string, string>>> {
  const names = new Set(['@types/node']);
  for (const file of globSync('**/*.{js,d.ts}', { cwd: dist })) {
    const text = await readFile(path.join(dist, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(
      /(?:from|import\(|require\() ?['"]([^.'"\s][^'"]*)['"]/g,
    )) {
      if (!isBuiltin(specifier)) names.add(packageOf(specifier));
    }
  }
  const versions = { ...devDependencies, ...dependencies };
  return Object.fromEntries(
    [...names].toSorted().map((name) => {
      const version = versions[name];
      if (version === undefined) throw new Error(`package.json has no dependency ${name}`);
      return [name, version];
    }),
  );
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

async function pack(stage: string, signal?: AbortSignal): Promise<Packed> {
  const stdout = await runNpm(['pack', '--json'], PURPOSE, {
    cwd: stage,
    ...(signal && { cancelSignal: signal }),
  });
  const [packed] = JSON.parse(stdout) as readonly Packed[];
  if (packed === undefined) throw new Error('npm pack has packed nothing');
  signal?.throwIfAborted();
  return packed;
}
