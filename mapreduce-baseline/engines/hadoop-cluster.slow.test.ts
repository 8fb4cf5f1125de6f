/** A packed job in a folder that has nothing else, as on a node of a cluster. */
import assert from 'node:assert/strict';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { packProgram } from './hadoop-cluster.ts';

const BYTES = fileURLToPath(new URL('../bytes.ts', import.meta.url));

/**
 * Writes a job, and a module that it imports. For each line, the job emits its own file twice: with
 * the module's file, and with the path of the Node that runs it.
 */
async function writeJob(file: string): Promise<string> {
  const bytes = relative(dirname(file), BYTES);
  await writeFile(
    join(dirname(file), 'imported.mjs'),
    'export const imported = import.meta.filename;\n',
  );
  await writeFile(
    file,
    `import { Slice } from './${bytes}';
import { imported } from './imported.mjs';
const slice = (path) => new Slice(Buffer.from(path));
const [own, other, node] = [import.meta.filename, imported, process.execPath].map(slice);
const map = (line, output) => {
  output.emit(own, other);
  output.emit(own, node);
};
console.log('loading');
export const createJob = () => ({ map });
`,
  );
  return pathToFileURL(file).href;
}

test('a packed job runs on its own copies of its module, of all it imports, and of Node', async () => {
  const folder = await realpath(temporaryFolder()); // Imports are relative to where it really is.
  const source = join(folder, 'c#', '100% ü?'); // In a URL, these characters would mean something else.
  await mkdir(source, { recursive: true });
  const job = await writeJob(join(source, 'job.mjs'));
  const program = await packProgram(job, join(folder, 'program.tar'));
  const node = join(folder, 'node');
  await mkdir(join(node, 'program'), { recursive: true });
  await execa('tar', ['-x', '-f', join(folder, 'program.tar'), '-C', join(node, 'program')]);
  const [shell = '', starter = '', ...words] = program.command('program', 'map', undefined);
  const options = { cwd: node, env: {}, extendEnv: false, input: 'a line\n' };
  const { stdout } = await execa(shell, [join(node, starter), ...words], options);
  const paths = stdout.split(/[\t\n]/);
  assert.equal(paths.length, 4);
  for (const path of paths) assert.ok(path.startsWith(join(node, 'program')), path);
});

test('a job of many files is packed, even if no pipe holds all their paths at once', async () => {
  const folder = temporaryFolder();
  const deep = join(folder, ...Array.from({ length: 3 }, () => 'd'.repeat(200)));
  await mkdir(deep, { recursive: true });
  const names = Array.from({ length: 1_000 }, (_, i) => `imported-${i}.mjs`);
  for (const name of names) await writeFile(join(deep, name), '');
  const job = join(deep, 'job.mjs');
  await writeFile(job, names.map((name) => `import './${name}';\n`).join(''));
  const tar = join(folder, 'program.tar');
  await packProgram(pathToFileURL(job).href, tar);
  const { stdout } = await execa('tar', ['-t', '-f', tar]);
  const packed = new Set(stdout.split('\n').map((path) => basename(path)));
  assert.deepEqual(
    names.filter((name) => !packed.has(name)),
    [],
  );
});

test('a job that cannot be loaded is named, with the reason', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'job.mjs');
  await writeFile(file, "import './nothing.ts';\n");
  await assert.rejects(packProgram(pathToFileURL(file).href, join(folder, 'program.tar')), {
    code: 'INVALID_ARGUMENT',
    message: /job\.mjs cannot be loaded: .*nothing\.ts/,
  });
});
