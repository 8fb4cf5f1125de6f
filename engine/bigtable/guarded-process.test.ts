/** How long a program may take to end once it is told to. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../base/index.ts';
import { startGuarded, stopGuarded } from './guarded-process.ts';

/** Without `forceKillAfterDelay`, execa would wait for five seconds. */
test('a program that does not end when it is told to is killed after its grace', async () => {
  const program = ['sh', '-c', "trap '' TERM; echo ready; exec sleep 60"];
  const brief = startGuarded(program, { graceSeconds: 1 });
  const patient = startGuarded(program, { graceSeconds: 5 });
  await Promise.all([brief, patient].map(({ stdout }) => once(stdout, 'data')));
  const begunMs = systemClock.monotonicMs();
  patient.kill('SIGTERM');
  brief.kill('SIGTERM');
  const first = await Promise.race([brief, patient]);
  const tookMs = systemClock.monotonicMs() - begunMs;
  await Promise.all([brief, patient].map(stopGuarded));
  assert.equal(first, await brief, 'not the one whose grace is longer');
  assert.equal(first.signal, 'SIGKILL');
  assert.ok(tookMs > 900, `${tookMs} ms`);
});
