/**
 * The packed engine in a project outside this repository: installed from the tarball without any
 * client of a store, run on the oldest and on this version of Node, on Deno and on Bun where they
 * are, and type-checked under the strictest flags of two compilers.
 *
 * The first test needs a registry, for the package's dependencies, Node 22 and TypeScript 5.9.
 * Without one it says so and is skipped. All tests share one tarball; those of `percolator` as a
 * program are in hosts-claims.fixture.ts, and the walk through docs/hosts.md in
 * walk-claims.fixture.ts.
 */
import assert from 'node:assert/strict';
import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa, ExecaError, execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { findRuntimes } from '../fetch/runtimes.ts';
import { buildPackage, type PackedEngine } from './build-package.ts';
import { claimHosts } from './hosts-claims.fixture.ts';
import { claimWalk } from './walk-claims.fixture.ts';

/** The oldest Node that the package allows, and the oldest TypeScript with its types of Node. */
const OTHERS = ['node@22.13.0', 'typescript@5.9', '@types/node@22'];
/** What of them, or of what they need, lies in node_modules. */
const OF_OTHERS = /^(?:\.|node$|node-|typescript$|@types$|undici-types$)/;
/** What a user's folder grows by who needs no store of servers. */
const INSTALLED_BYTES_MAX = 5_000_000;
const OPTIONAL = new Set(['@google-cloud', '@grpc', 'google-gax', 'protobufjs']);
const PRINTED = 'Bob has $3, credit is poor\nJoe has $9, credit is good';
const STRICTEST = {
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
  noPropertyAccessFromIndexSignature: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  allowUnreachableCode: false,
  skipLibCheck: false,
  outDir: 'out',
};

const packed: Promise<PackedEngine> = buildPackage(temporaryFolder());

test('the packed engine installs, type-checks and runs outside, and carries no tests', async (context) => {
  const folder = temporaryFolder();
  const cwd = folder;
  const { tarball, files } = await packed;
  assert.deepEqual(
    files.filter((file) => /\.test|fixture|workloads|results|(?<!\.d)\.ts$/.test(file)),
    [],
  );
  assert.ok(files.includes('dist/index.js') && files.includes('dist/index.d.ts'));

  await writeFile(path.join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball, ...OTHERS];
  if (!(await installs(install, cwd, context))) return;
  const modules = path.join(cwd, 'node_modules');
  const readme = await readFile(path.join(modules, 'percolator-engine/README.md'), 'utf8');
  const [, program = ''] = /```ts\n([^]*?)```/.exec(readme) ?? [];
  const projects = await readFile(path.resolve(import.meta.dirname, '../../../README.md'), 'utf8');
  assert.ok(program !== '' && projects.includes(program), 'both pages show one program');
  await writeFile(path.join(cwd, 'accounts.mts'), program);
  await writeFile(
    path.join(cwd, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICTEST, files: ['accounts.mts'] }),
  );

  const old = { node: path.join(modules, '.bin/node'), tsc: path.join(modules, '.bin/tsc') };
  assert.match((await execa(old.node, ['--version'])).stdout, /^v22\./);
  await execa(old.tsc, { cwd }); // Rejects with the compiler's errors, if there are any.
  await execa('tsc', ['--project', cwd, '--noEmit'], {
    preferLocal: true,
    localDir: import.meta.dirname,
  });
  const others = await findRuntimes();
  for (const name of ['Deno', 'Bun']) {
    if (others.every((one) => one.name !== name)) context.diagnostic(`${name} is not here`);
  }
  for (const [[command, ...words], file] of [
    [[old.node], 'out/accounts.mjs'],
    [[process.execPath], 'accounts.mts'],
    ...others.map((one) => [one.command, 'accounts.mts'] as const),
  ] as const) {
    assert.equal((await execa(command ?? '', [...words, file], { cwd })).stdout, PRINTED);
    await rm(path.join(cwd, 'accounts'), { recursive: true });
  }
  for (const door of ['bigtable', 'core', 'embedded', 'hbase', 'recipes', 'testing']) {
    const load = `import("percolator-engine/${door}").then((it) => console.log(Object.keys(it).length > 0))`;
    assert.equal((await execa(old.node, ['-e', load], { cwd })).stdout, 'true', door);
  }

  await runExample(cwd, old);

  const installed = (await readdir(modules)).filter((name) => !OF_OTHERS.test(name));
  assert.deepEqual(
    installed.filter((name) => OPTIONAL.has(name)),
    [],
  );
  const sizes = await Promise.all(installed.map((name) => bytesIn(path.join(modules, name))));
  const bytes = sizes.reduce((sum, one) => sum + one, 0);
  assert.ok(bytes > 0 && bytes < INSTALLED_BYTES_MAX, `${bytes} bytes are installed`);
  await writeFile(path.join(cwd, 'missing.mjs'), MISSING);
  for (const command of [[old.node], ...others.map((one) => one.command)]) {
    const [runtime = '', ...words] = command;
    const { stdout } = await execa(runtime, [...words, 'missing.mjs'], { cwd });
    assert.deepEqual(stdout.split('\n'), SENTENCES);
  }
});

/** The tests of the example, as a user runs them: with the package in place of the source. */
async function runExample(cwd: string, old: { node: string; tsc: string }): Promise<void> {
  const example = path.join(cwd, 'example');
  await cp(path.resolve(import.meta.dirname, '../../../examples/embeddings'), example, {
    recursive: true,
  });
  const options = { ...STRICTEST, rewriteRelativeImportExtensions: true };
  const config = { compilerOptions: options, include: ['*.ts'] };
  await writeFile(path.join(example, 'tsconfig.json'), JSON.stringify(config));
  await execa(old.tsc, { cwd: example });
  const compiled = path.join(example, 'out');
  for (const [node, folder] of [
    [old.node, compiled],
    [process.execPath, example],
  ] as const) {
    const words = ['--test', '--test-reporter=tap', `${folder}/embeddings.test.*`];
    // The variable by which a runner of tests knows that it is one of another's.
    const env = { NODE_TEST_CONTEXT: undefined };
    const { stdout } = await execa(node, words, { cwd: example, env });
    assert.match(stdout, /^# pass 2$/m);
  }
}

/** Everything that needs a package that was not installed, by every door. */
const MISSING = `
  import { connectOracle, openStore, serveLocks, serveOracle } from 'percolator-engine';
  import { openRemote } from 'percolator-engine/bigtable';
  import { openHBase } from 'percolator-engine/hbase';
  const address = '127.0.0.1:1';
  for (const fails of [
    () => openStore({ kind: 'cloud', project: 'p', instance: 'i' }),
    () => openStore({ kind: 'emulator', address }),
    () => openRemote({ project: 'p', instance: 'i' }),
    () => openStore({ kind: 'hbase', servers: [address] }),
    () => openHBase({ servers: [address] }),
    () => connectOracle({ addresses: [address] }).next(),
    () => serveOracle({}),
    () => serveLocks(),
  ]) {
    const { code, message } = await fails().catch((error) => error);
    console.log(code + ': ' + message);
  }
`;
const sentence = (purpose: string, ...[first, ...others]: readonly string[]): string =>
  `PACKAGE_MISSING: ${purpose} needs the package ${first}, which is not installed; run: npm install ${[first, ...others].join(' ')}`;
const BIGTABLE = sentence(
  'Bigtable',
  '@google-cloud/bigtable',
  '@google-cloud/bigtable-api',
  '@grpc/grpc-js',
);
const HBASE = sentence('HBase', 'protobufjs');
const SERVICE = sentence('an oracle or a lock service', '@grpc/grpc-js', '@grpc/proto-loader');
const SENTENCES = [BIGTABLE, BIGTABLE, BIGTABLE, HBASE, HBASE, SERVICE, SERVICE, SERVICE];

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const stats = await Promise.all(files.map((one) => stat(path.join(one.parentPath, one.name))));
  return stats.reduce((sum, { size }) => sum + size, 0);
}

test('ctrl-C ends the packing within seconds, and leaves nothing', async () => {
  // Once while the compiler runs, and once while npm does; each would take more than a minute.
  // The first argument of each program, and a file that is made just before the program begins.
  for (const [word, name] of [
    ['--project', 'tsconfig.json'],
    ['pack', 'package.json'],
  ] as const) {
    const folder = temporaryFolder();
    const out = path.join(folder, 'out');
    const packing = execaNode(path.join(import.meta.dirname, 'main.ts'), ['--out', out], {
      env: { TMPDIR: folder, NODE_OPTIONS: aMinuteWith(word) },
      reject: false,
    });
    const { nodeChildProcess: script } = packing;
    const isOver = (): boolean => (script.exitCode ?? script.signalCode) !== null;
    const isThere = (file: string): boolean => file.endsWith(name);
    while (!isOver() && !(await filesBelow(folder)).some(isThere)) await sleep(20);
    const askedMs = performance.now();
    packing.kill('SIGINT');
    const { exitCode, stdout, stderr } = await packing;
    const tookMs = performance.now() - askedMs;
    assert.deepEqual([exitCode, stdout], [130, ''], stderr);
    assert.match(stderr, /^\s*Interrupted; stopping in good order .*$/);
    assert.deepEqual(await readdir(folder), []);
    assert.ok(tookMs < 30_000, `${tookMs} ms`);
  }
});

/** Options of Node with which a program that is given this argument takes a minute longer. */
function aMinuteWith(word: string): string {
  const wait = 'await new Promise((resolve) => setTimeout(resolve, 60_000))';
  const program = `if (process.argv[2] === '${word}') ${wait};`;
  return `--import=data:text/javascript,${encodeURIComponent(program)}`;
}

/** No files if a folder disappears while it is being read. */
function filesBelow(folder: string): Promise<readonly string[]> {
  return readdir(folder, { recursive: true }).catch(() => []);
}

/** False, and the test is skipped, if there is no registry. */
async function installs(
  words: readonly string[],
  cwd: string,
  context: TestContext,
): Promise<boolean> {
  try {
    await execa('npm', words, { cwd });
    return true;
  } catch (error) {
    const isOffline =
      error instanceof ExecaError &&
      /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|network/.test(String(error.stderr));
    if (!isOffline) throw error;
    context.skip('npm reaches no registry');
    return false;
  }
}

const tarballOf = async (): Promise<string> => (await packed).tarball;
claimHosts(tarballOf);
claimWalk(tarballOf);
