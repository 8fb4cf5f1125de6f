/** Whose folders the next local cluster removes, without starting any program. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { test } from 'node:test';
import { systemClock } from '../../../base/index.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { JavaProcesses } from './java-processes.ts';

test('the folder of a living process stays, also if the next start is in another time zone', async (t) => {
  const { TZ, TMPDIR } = env;
  t.after(() => setAll({ TZ, TMPDIR }));
  const parent = temporaryFolder();
  const abandoned = join(parent, 'percolator-test', 'run-abandoned');
  await mkdir(abandoned, { recursive: true });
  await writeFile(join(abandoned, 'owner'), '999999999 1');
  setAll({ TMPDIR: parent, TZ: 'UTC' });
  await using first = await prepare();
  assert.ok(!existsSync(abandoned));
  setAll({ TZ: 'Asia/Tokyo' });
  await using second = await prepare();
  assert.ok(existsSync(first.folder));
  assert.ok(existsSync(second.folder));
});

function prepare(): Promise<JavaProcesses> {
  const java = { program: 'java', classpath: '' };
  const options = { cluster: 'test', java, clock: systemClock, startQuickly: false };
  return JavaProcesses.prepare(options);
}

function setAll(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) Reflect.deleteProperty(env, name);
    else env[name] = value;
  }
}
