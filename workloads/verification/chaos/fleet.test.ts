/** The processes of a round, and which of them a fault hits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { newServices } from '../../harness/processes/index.ts';
import { Fleet } from './fleet.ts';
import { settingOf } from './matrix.ts';

test('a fault does not hit a process that was killed and whose end is not known yet', async () => {
  const { engine, gc } = settingOf({ engine: {} });
  // No server listens at this address, so no process gets ready.
  const store = { kind: 'emulator', address: '127.0.0.1:1' } as const;
  const database = await newServices(store);
  const common = { store, database, engine, gc, history: temporaryFolder() };
  await using fleet = new Fleet({ ...common, seed: 1, workloads: [], since: 0 }, 1);
  fleet.start();
  const timed = { afterMs: 0, settled: false, victim: 0 };
  const fault = { kind: 'kill', ...timed, starting: true, owner: false } as const;
  await fleet.hit(fault, () => false);
  await fleet.hit(fault, () => false); // No event has told of the end of the first victim.
  const { kills, serviceKills } = fleet.counts;
  assert.deepEqual({ kills, serviceKills }, { kills: 2, serviceKills: 2 });
});
