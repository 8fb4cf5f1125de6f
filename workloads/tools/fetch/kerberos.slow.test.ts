/** The package kerberos, as an npm of this test brings it: it is taken only if it loads. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { fetchKerberos } from './kerberos.ts';

/** From now on, `npm install` makes the package with this program. */
function npmThatBrings(t: TestContext, program: string): void {
  const folder = temporaryFolder();
  const script = `#!/bin/sh\nmkdir -p node_modules/kerberos\necho '${program}' >node_modules/kerberos/index.js\n`;
  writeFileSync(path.join(folder, 'npm'), script, { mode: 0o755 });
  const { PATH = '' } = process.env;
  process.env['PATH'] = [folder, PATH].join(path.delimiter);
  t.after(() => void (process.env['PATH'] = PATH));
}

test('a package that loads is put in its place, and is not fetched again', async (t) => {
  const modules = path.join(temporaryFolder(), 'node_modules');
  npmThatBrings(t, 'module.exports = 1;');
  await fetchKerberos(modules);
  assert.ok(existsSync(path.join(modules, 'kerberos/index.js')));
  npmThatBrings(t, 'module.exports = 2;');
  await fetchKerberos(modules);
  assert.deepEqual(readdirSync(path.join(modules, '.cache')), []);
});

test('a package that does not load where it was put is an error, and is not left there', async (t) => {
  const modules = path.join(temporaryFolder(), 'node_modules');
  mkdirSync(path.join(modules, 'kerberos'), { recursive: true }); // Half of a former one.
  npmThatBrings(t, 'require("what-it-needs");');
  await assert.rejects(fetchKerberos(modules), {
    message: /^it was fetched, and does not load: Cannot find module .what-it-needs/,
  });
  assert.ok(!existsSync(path.join(modules, 'kerberos')));
});
