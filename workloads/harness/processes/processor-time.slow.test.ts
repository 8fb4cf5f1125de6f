/** Claims about CPU time: it includes living descendants, and ended ones whose parent waited. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { cpuSecondsOf } from './processor-time.ts';

/** Burns 0.3 s in a child that ends and 0.3 s in one that stays; then says so, and stays itself. */
const PROGRAM = `
  import { spawn, spawnSync } from 'node:child_process';
  const burn = 'const end = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < end);';
  spawnSync(process.execPath, ['-e', burn]);
  const child = spawn(process.execPath, ['-e', burn + 'console.log(1); setInterval(() => {}, 1e3)']);
  process.on('exit', () => child.kill('SIGKILL'));
  process.on('SIGTERM', () => process.exit());
  child.stdout.once('data', () => console.log(1));
`;

test('children count, also ended ones; with a process that does not exist there is no time', async (t) => {
  if (cpuSecondsOf([process.pid]) === null) return t.skip('only Linux tells the time of processes');
  const parent = execaNode('--input-type=module', ['--eval', PROGRAM], { reject: false });
  t.after(() => parent.kill('SIGTERM'));
  await new Promise((resolve) => parent.stdout.once('data', resolve));
  const pid = parent.pid ?? 0;
  const family = cpuSecondsOf([pid]) ?? 0;
  assert.ok(family >= 0.6, `${family} s`);
  const both = cpuSecondsOf([pid, process.pid]) ?? 0;
  assert.ok(both > family, 'the own time is added');
  assert.ok(
    both <= (cpuSecondsOf([process.pid]) ?? 0),
    'a grandparent includes all of it, and no process counts twice',
  );
  parent.kill('SIGTERM');
  await parent;
  assert.equal(cpuSecondsOf([pid]), null);
});
