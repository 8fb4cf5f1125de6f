/** The claims of percolator.ts: whose processor time is known, and what is closed. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { openStore } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { cpuSecondsOf } from '../../harness/processes/processor-time.ts';
import { auditErrors, serversOf } from './percolator.ts';

test('the processor time of a server that was not started here is unknown, not 0', (t) => {
  if (cpuSecondsOf([process.pid]) === null) {
    t.skip('the system does not report processor time');
    return;
  }
  const emulator = { kind: 'emulator', address: 'localhost:1' } as const;
  const embedded = { kind: 'embedded', folder: 'unused' } as const;
  assert.equal(cpuSecondsOf(serversOf({ address: emulator, serverPids: [] })), null);
  assert.notEqual(cpuSecondsOf(serversOf({ address: emulator, serverPids: [process.pid] })), null);
  assert.equal(
    cpuSecondsOf(serversOf({ address: embedded, serverPids: [] })),
    0,
    'there is no server',
  );
});

test('an audit that fails closes its store', async (t) => {
  const address = { kind: 'embedded', folder: path.join(temporaryFolder(), 'store') } as const;
  const store = await openStore(address);
  await store.close();
  const all = Object.getPrototypeOf(store) as typeof store;
  t.mock.method(all, 'listTables', () => Promise.reject(new Error('the disk is gone')));
  const { mock: closing } = t.mock.method(all, 'close');
  await assert.rejects(auditErrors(address), /the disk is gone/);
  assert.equal(closing.callCount(), 1);
});
