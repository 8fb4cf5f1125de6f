/** The benchmark with the fewest operations, interrupted. What a call costs is not tested. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emulatorOrReason } from '../../harness/testing/emulator.ts';
import { interruptOnceMeasured } from '../../harness/testing/run-script.ts';

const BENCH = new URL('main.ts', import.meta.url);

test('bench:transport keeps the path that it measured before it was interrupted', async (t) => {
  const emulator = await emulatorOrReason();
  if (typeof emulator === 'string') return t.skip(emulator);
  await emulator.stop();
  const ended = await interruptOnceMeasured(BENCH, ['--operations', '100']);
  assert.equal(ended.exitCode, 130, ended.stderr);
  const { state, findings } = ended.record();
  assert.equal(state, 'interrupted');
  assert.deepEqual(
    findings?.tables[0]?.rows.slice(0, 2).map(([path, operation]) => [path, operation]),
    [
      ['promise', 'conditional mutation'],
      ['promise', 'read of one cell'],
    ],
  );
});
