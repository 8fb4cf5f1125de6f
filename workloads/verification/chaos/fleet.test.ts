/** The processes of a round, and which of them a fault hits. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pid } from 'node:process';
import { test } from 'node:test';
import { openPercolator, openStore, type StoreAddress, systemClock } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { newServices } from '../../harness/processes/index.ts';
import { bank } from '../invariants/transactions.ts';
import { Fleet } from './fleet.ts';
import { FOLDER_FAULTS, type FolderFaultName } from './folder-faults.ts';
import { settingOf } from './plan.ts';
import { setUp } from './round.ts';

const { engine, gc } = settingOf({ engine: {} });
const patienceMs = 60_000;
const SKIP = process.platform === 'linux' ? false : 'only Linux tells the states of processes';

test('a fault does not hit a process that was killed and whose end is not known yet', async () => {
  // No server listens at this address, so no process gets ready.
  const store = { kind: 'emulator', address: '127.0.0.1:1' } as const;
  const database = await newServices(store);
  const common = { store, database, engine, gc, history: temporaryFolder(), patienceMs };
  await using fleet = new Fleet({ ...common, seed: 1, workloads: [], since: 0, loops: 3 }, 1);
  fleet.start();
  const timed = { afterMs: 0, settled: false, victim: 0 };
  const fault = { kind: 'kill', ...timed, starting: true, owner: false } as const;
  await fleet.hit(fault, () => false);
  await fleet.hit(fault, () => false); // No event has told of the end of the first victim.
  const { kills, serviceKills } = fleet.counts;
  assert.deepEqual({ kills, serviceKills }, { kills: 2, serviceKills: 2 });
});

test('P73: a process that knows only the oracle of another database refuses it', async () => {
  const folder = temporaryFolder();
  const store = { kind: 'embedded', folder: path.join(folder, 'store') } as const;
  const database = await newServices(store);
  const other = { kind: 'embedded', folder: path.join(folder, 'other') } as const;
  const second = { store: other, address: (await newServices(other)).oracles[0] ?? '' };
  const common = { store, database, second, engine, gc, history: folder, patienceMs };
  await using fleet = new Fleet({ ...common, seed: 1, workloads: [], since: 0, loops: 3 }, 1);
  fleet.start();
  const timed = { afterMs: 0, settled: false, victim: 0.9 };
  const fault = { kind: 'kill', ...timed, starting: false, owner: false } as const;
  await fleet.hit(fault, () => false); // The next life is misled, and the one after that works.
  while (!fleet.isHopeless && (fleet.counts.restarts < 2 || !fleet.isComplete)) {
    await systemClock.sleep(10);
  }
  assert.deepEqual(fleet.deaths, []);
  assert.equal(fleet.counts.misled, 1);
});

test('P73: the oracle of another database at the port of a dead one misleads no client', async () => {
  const folder = temporaryFolder();
  const store = { kind: 'embedded', folder: path.join(folder, 'store') } as const;
  const since = await setUpBank(store);
  const database = await newServices(store);
  const other = { kind: 'embedded', folder: path.join(folder, 'other') } as const;
  const second = { store: other, address: (await newServices(other)).oracles[0] ?? '' };
  const common = { store, database, second, engine, gc, history: folder, patienceMs };
  await using fleet = new Fleet({ ...common, seed: 1, workloads: [bank.name], since, loops: 3 }, 1);
  fleet.start();
  const isSettled = (restarts: number): boolean =>
    fleet.isHopeless || (fleet.counts.restarts >= restarts && fleet.isComplete);
  while (!isSettled(0)) await systemClock.sleep(10);
  const timed = { afterMs: 0, settled: false, victim: 0 }; // The first oracle.
  await fleet.hit({ kind: 'kill', ...timed, starting: false, owner: false }, () => false);
  while (!isSettled(1)) await systemClock.sleep(10);
  assert.deepEqual(fleet.deaths, []);
  assert.equal(fleet.counts.occupied, 1);
});

test('P69: whatever happens to the folder, only some faults displace an owner, which then says so', async () => {
  const folder = temporaryFolder();
  const store = { kind: 'embedded', folder: path.join(folder, 'store') } as const;
  const since = await setUpBank(store);
  const common = { store, database: undefined, engine, gc, history: folder, patienceMs };
  await using fleet = new Fleet({ ...common, seed: 1, workloads: [bank.name], since, loops: 3 }, 2);
  fleet.start();
  const timed = { afterMs: 0, settled: false, victim: 0.9 };
  const names = Object.keys(FOLDER_FAULTS) as FolderFaultName[];
  for (const what of names) await fleet.hit({ kind: 'folder', what, ...timed }, () => false);
  assert.deepEqual(fleet.deaths, []);
  assert.deepEqual([...fleet.counts.folder.keys()], names);
  assert.ok(fleet.counts.displaced >= 2, 'who is usurped or replaced is displaced');
});

async function setUpBank(address: StoreAddress): Promise<number> {
  await using store = await openStore(address);
  await using percolator = await openPercolator({ store });
  const sink = { began: () => {}, ended: () => {}, violation: () => {} };
  const recorder = { sink, process: 'parent', nowMs: () => performance.now() };
  return await setUp(percolator, { workloads: [bank] }, recorder);
}

test(
  'a process that has failed before it is killed has ended on its own',
  { skip: SKIP },
  async () => {
    const folder = temporaryFolder();
    const store = { kind: 'embedded', folder } as const;
    const history = path.join(folder, 'missing'); // No process can write its history.
    const common = { store, database: undefined, engine, gc, history, patienceMs };
    await using fleet = new Fleet({ ...common, seed: 1, workloads: [], since: 0, loops: 3 }, 1);
    fleet.start();
    waitUntilChildrenHaveEnded();
    await fleet.end();
    const messages = fleet.deaths.map(({ message }) => message);
    assert.equal(messages.length, 2);
    for (const message of messages) assert.match(message, /ENOENT/);
  },
);

/** Without a turn of the event loop: no event tells this process of the ends. */
function waitUntilChildrenHaveEnded(): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const stateOf = (child: string): string =>
    /^State:\t(\w)/m.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1] ?? '';
  while (children.some((child) => stateOf(child) !== 'Z')) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
}
