/** A packed job in a folder that has nothing else, as on a node of a cluster. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { packProgram } from './packed-program.ts';

const BYTES = fileURLToPath(new URL('../bytes.ts', import.meta.url));

/** For each line, emits the file that the job was loaded from and the program that runs it. */
async function writeJob(file: string): Promise<string> {
  const bytes = relative(dirname(file), BYTES);
  await writeFile(
    file,
    `import { Slice } from './${bytes}';
const told = [import.meta.filename, process.execPath].map((path) => new Slice(Buffer.from(path)));
export const createJob = () => ({ map: (line, output) => output.emit(...told) });
`,
  );
  return pathToFileURL(file).href;
}

test('a packed job runs on its own copies of its module, of all it imports, and of Node', async () => {
  const folder = temporaryFolder();
  const job = await writeJob(join(folder, 'job.mjs'));
  const program = await packProgram(job, join(folder, 'program.tar'));
  const node = join(folder, 'node');
  await mkdir(join(node, 'program'), { recursive: true });
  await execa('tar', ['-x', '-f', join(folder, 'program.tar'), '-C', join(node, 'program')]);
  const [command = '', ...words] = program.command('program', 'map', undefined);
  const options = { cwd: node, env: {}, extendEnv: false, input: 'a line\n' };
  const { stdout } = await execa(join(node, command), words, options);
  const paths = stdout.split('\t');
  assert.equal(paths.length, 2);
  for (const path of paths) assert.ok(path.startsWith(join(node, 'program')), path);
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
