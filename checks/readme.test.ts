/**
 * The program in the README prints the output shown there. It runs against this repository itself,
 * linked as `percolator-engine`; workloads/tools/pack tests the package.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';

const ROOT = path.join(import.meta.dirname, '..');
const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');

const folder = temporaryFolder();
writeFileSync(path.join(folder, 'accounts.mts'), block('ts'));
mkdirSync(path.join(folder, 'node_modules'));
symlinkSync(ROOT, path.join(folder, 'node_modules', 'percolator-engine'), 'dir');

test('the program in the README prints what the README says, also on the second run', async () => {
  for (const time of ['first', 'second']) {
    const { stdout } = await execa(process.execPath, ['accounts.mts'], { cwd: folder });
    assert.equal(stdout, block('text').trim(), `${time} run`);
  }
});

test('the program in the README passes the type checker', async () => {
  const configuration = {
    extends: path.join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      typeRoots: [path.join(ROOT, 'node_modules', '@types')],
      declaration: false,
      isolatedDeclarations: false,
    },
    include: ['accounts.mts'],
  };
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(configuration));
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout, exitCode } = await execa(process.execPath, [compiler, '-p', folder], {
    reject: false,
  });
  assert.equal(exitCode, 0, stdout);
});

/** The first block of the README in a language. */
function block(language: string): string {
  const found = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'm').exec(readme)?.[1];
  assert.ok(found !== undefined, `README.md has a block of ${language}`);
  return found;
}
