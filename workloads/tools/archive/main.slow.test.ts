/** An archive of this repository, installed and run where there is no network. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { runProgram } from '../../harness/testing/run-script.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');

test('an archive installs and runs with the network cut, without Node.js and npm on PATH', async (context) => {
  const { failed } = await execa('unshare', ['-rn', 'true'], { reject: false });
  if (failed) return context.skip('no network can be cut here (unshare -rn)');
  const out = temporaryFolder();
  const { stdout, stderr, exitCode } = await runProgram(PROGRAM, ['--out', out, '--check']);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^Installed\. Go on with: /m);
  assert.match(stdout, /^Checked: on every store the newest version of each row/m);

  const [name = ''] = readdirSync(out);
  const archive = path.join(out, name);
  const again = await runProgram(PROGRAM, ['--out', out]);
  assert.equal(again.exitCode, 2);
  assert.match(again.stderr, /^--out already holds an archive of this commit, /);

  const installer = path.join(archive, 'install.sh');
  const taken = path.join(out, 'taken');
  mkdirSync(taken);
  const refused = await execa('sh', [installer, taken], { reject: false });
  assert.deepEqual([refused.exitCode, /must be new/.test(refused.stderr)], [2, true]);

  appendFileSync(path.join(archive, 'repository.bundle'), 'x');
  const damaged = await execa('sh', [installer, path.join(out, 'new')], { reject: false });
  assert.match(damaged.stderr, /^The archive is damaged/);
  assert.equal(damaged.exitCode, 1);
});
