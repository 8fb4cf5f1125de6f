/** The claims of percolator-database.ts: whose processor time is known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuSecondsOf } from '../../harness/processes/processor-time.ts';
import { serversOf } from './percolator-database.ts';

test('the processor time of a server that was not started here is unknown, not 0', (t) => {
  if (cpuSecondsOf([process.pid]) === null) {
    t.skip('the system does not report processor time');
    return;
  }
  const emulator = { kind: 'emulator', address: 'localhost:1' } as const;
  const embedded = { kind: 'embedded', folder: 'unused' } as const;
  assert.equal(cpuSecondsOf(serversOf({ address: emulator, serverPids: [] })), null);
  assert.notEqual(cpuSecondsOf(serversOf({ address: emulator, serverPids: [process.pid] })), null);
  assert.equal(cpuSecondsOf(serversOf({ address: embedded, serverPids: [] })), 0, 'it has none');
});
