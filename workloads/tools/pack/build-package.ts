/**
 * The engine as a package of its own: JavaScript and declarations, without tests and without the
 * experiments.
 *
 *   1. The compiler translates the doors of the engine, as in `exports` of the project's
 *      package.json, and every file that they reach. No test is among them.
 *   2. The protocol definitions (.proto) are copied next to the code that reads them, and the
 *      schema of percolator.json to where an editor finds it.
 *   3. package.json is derived from the project's. Its dependencies are the packages that the
 *      translated code imports, at the project's versions. Those that a database in a folder never
 *      loads are optional peers, which npm does not install: who needs one is told so (`OPTIONAL`).
 *      So are the project's own optional peers.
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
const SCHEMA = 'percolator.schema.json';
/** For the sentence that says that npm is missing. */
const PURPOSE = 'pack the engine';
/** The first versions that have node:sqlite without a flag. */
const NODE = '^22.13.0 || >=23.4.0';
/**
 * What a folder does not need, by package: the clients of stores, the services' gRPC, and, for who
 * reads the declarations, the types of Node, of which any recent version will do. Ranges, because
 * the user's own version must fit, too: as new as the project's, of the same major version.
 */
const OPTIONAL: Readonly<Record<string, (version: string) => string>> = {
  '@google-cloud/bigtable': compatible,
  '@google-cloud/bigtable-api': compatible,
  '@grpc/grpc-js': compatible,
  '@grpc/proto-loader': compatible,
  '@opentelemetry/exporter-prometheus': compatible,
  '@opentelemetry/sdk-metrics': compatible,
  '@types/node': () => '>=22',
  protobufjs: compatible,
};

function compatible(version: string): string {
  return `^${version}`;
}

interface ProjectPackage {
  readonly version: string;
  readonly license: string;
  readonly author: string;
  readonly keywords: readonly string[];
  /** The file of each door, by its path in the package. */
  readonly exports: Readonly<Record<string, string>>;
  /** The file of each program, by its name. */
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  /** All are optional. */
  readonly peerDependencies: Readonly<Record<string, string>>;
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
    await cp(path.join(ENGINE, 'host', SCHEMA), path.join(stage, SCHEMA));
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
        // Types of optional packages occur only in what is marked so.
        stripInternal: true,
        typeRoots: [path.join(ROOT, 'node_modules/@types')],
      },
      include: [],
      files: await entryFiles(),
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

/** The doors and the programs. */
async function entryFiles(): Promise<readonly string[]> {
  const { exports: doors, bin } = await readProject();
  const files = [...Object.values(doors), ...Object.values(bin)];
  return files.map((file) => path.join(ROOT, file));
}

async function copyDefinitions(dist: string): Promise<void> {
  for (const file of globSync('**/*.proto', { cwd: ENGINE })) {
    await mkdir(path.dirname(path.join(dist, file)), { recursive: true });
    await cp(path.join(ENGINE, file), path.join(dist, file));
  }
}

async function readProject(): Promise<ProjectPackage> {
  return JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as ProjectPackage;
}

async function describePackage(dist: string): Promise<object> {
  const project = await readProject();
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
    exports: Object.fromEntries(
      Object.entries(project.exports).map(([door, file]) => {
        return [door, { types: `${translatedOf(file)}.d.ts`, default: `${translatedOf(file)}.js` }];
      }),
    ),
    bin: Object.fromEntries(
      Object.entries(project.bin).map(([name, file]) => [name, `${translatedOf(file)}.js`]),
    ),
    files: ['dist', 'protocol.md', SCHEMA],
    ...(await dependenciesOf(dist, project)),
  };
}

/** Where the translated file is, without its extension. */
function translatedOf(file: string): string {
  return file.replace('./engine/', './dist/').replace(/\.ts$/, '');
}

/** Every package that the code or its declarations import; declarations also name types of Node. */
async function dependenciesOf(
  dist: string,
  { dependencies, devDependencies, peerDependencies }: ProjectPackage,
): Promise<Dependencies> {
  const names = new Set(['@types/node']);
  for (const file of globSync('**/*.{js,d.ts}', { cwd: dist })) {
    const text = await readFile(path.join(dist, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(
      /(?:from|import\(|require\() ?['"]([\w@][\w@/:.-]*)['"]/g,
    )) {
      if (!isBuiltin(specifier)) names.add(packageOf(specifier));
    }
  }
  const versions = { ...devDependencies, ...dependencies };
  const needed: Record<string, string> = {};
  const optional: Record<string, string> = { ...peerDependencies };
  for (const name of [...names].toSorted()) {
    const version = versions[name];
    if (version === undefined) throw new Error(`package.json has no dependency ${name}`);
    const rangeOf = OPTIONAL[name];
    if (rangeOf === undefined) needed[name] = version;
    else optional[name] = rangeOf(version);
  }
  return {
    dependencies: needed,
    peerDependencies: optional,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(optional).map((name) => [name, { optional: true }]),
    ),
  };
}

interface Dependencies {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: true }>>;
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
