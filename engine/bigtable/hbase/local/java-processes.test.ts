/** Which folders and logs of local clusters stay, and which the next one removes; without Java. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ownProcess, { env } from 'node:process';
import { test } from 'node:test';
import { systemClock } from '../../../base/index.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { JavaProcesses } from './java-processes.ts';

test('the folder of a living process stays, even if the next start is in another time zone', async (t) => {
  const { TZ, TMPDIR } = env;
  t.after(() => setAll({ TZ, TMPDIR }));
  setAll({ TMPDIR: temporaryFolder(), TZ: 'UTC' });
  await using first = await prepare();
  const abandoned = join(dirname(first.folder), 'run-abandoned');
  await mkdir(abandoned);
  await writeFile(join(abandoned, 'owner'), '999999999 1');
  setAll({ TZ: 'Asia/Tokyo' });
  await using second = await prepare();
  assert.ok(!existsSync(abandoned));
  assert.ok(existsSync(first.folder));
  assert.ok(existsSync(second.folder));
});

test('users of one machine share no folder: only one of them could write to it', async (t) => {
  const { TMPDIR } = env;
  t.after(() => setAll({ TMPDIR }));
  setAll({ TMPDIR: temporaryFolder() });
  const user = t.mock.method(ownProcess as { geteuid: () => number }, 'geteuid', () => 1001);
  await using first = await prepare();
  user.mock.mockImplementation(() => 1002);
  await using second = await prepare();
  assert.notEqual(dirname(second.folder), dirname(first.folder));
});

test('the log that an error names stays when the cluster is stopped', async (t) => {
  const { TMPDIR } = env;
  t.after(() => setAll({ TMPDIR }));
  setAll({ TMPDIR: temporaryFolder() });
  await using processes = await prepare('false');
  processes.start({ name: 'master', heapMb: 1, main: [] });
  const starting = processes.until('it answers', 'master', async () => false);
  const error = await starting.then(() => 'it has started', String);
  const [, log = ''] = /\((.*\.log)\)$/.exec(error) ?? [];
  await processes.stop();
  assert.ok(existsSync(log), error);
});

test('temporary files of a program are in the folder, which goes with the cluster', async (t) => {
  const { TMPDIR } = env;
  t.after(() => setAll({ TMPDIR }));
  setAll({ TMPDIR: temporaryFolder() });
  await using processes = await prepare('echo');
  await processes.run({ name: 'master', heapMb: 1, main: [] });
  const words = readFileSync(join(processes.logs, 'master.log'), 'utf8');
  const [, folder = ''] = /-Djava\.io\.tmpdir=(\S+)/.exec(words) ?? [];
  assert.equal(dirname(folder), processes.folder);
  assert.ok(existsSync(folder));
});

function prepare(program = 'java'): Promise<JavaProcesses> {
  const java = { program, classpath: '' };
  const options = { cluster: 'test', java, clock: systemClock };
  return JavaProcesses.prepare(options);
}

function setAll(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) Reflect.deleteProperty(env, name);
    else env[name] = value;
  }
}
