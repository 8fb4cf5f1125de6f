/** How long a program may take to end once it is told to. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../base/index.ts';
import { startGuarded, stopGuarded } from './guarded-process.ts';

/** Without `forceKillAfterDelay`, execa would wait for five seconds. */
test('a program that does not end when it is told to is killed after its grace', async () => {
  const program = ['sh', '-c', "trap '' TERM; echo ready; exec sleep 60"];
  const child = startGuarded(program, { graceSeconds: 1 });
  await once(child.stdout, 'data');
  const begunMs = systemClock.monotonicMs();
  child.kill('SIGTERM');
  const { signal } = await child;
  const tookMs = systemClock.monotonicMs() - begunMs;
  await stopGuarded(child);
  assert.equal(signal, 'SIGKILL');
  assert.ok(tookMs > 900 && tookMs < 4000, `${tookMs} ms`);
});
