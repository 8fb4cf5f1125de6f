/** Tables that were loaded in one piece, after they were spread over the servers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientStore } from '../client-store.ts';
import { Cluster } from '../cluster.ts';
import { PAPER } from '../testing.ts';
import { spreadRows } from './spread.ts';

const SERVERS = 4;
const SET = {
  kind: 'set',
  family: 'f',
  qualifier: 'q',
  timestamp: 1,
  value: Buffer.from('v'),
} as const;

test('each server has an equal part of a large table, small ones stay whole, and logs are empty', async () => {
  const cluster = new Cluster({ calibration: PAPER, seed: 1, tabletServers: SERVERS });
  const machine = cluster.addMachine('client');
  const store = new ClientStore(cluster.storage, { machine, life: machine.life });
  const keys = (count: number) => Array.from({ length: count }, (_, i) => `r${100 + i}`);
  await cluster.run(async () => {
    for (const [table, rows] of [
      ['large', keys(400)],
      ['small', keys(15)],
      ['tiny', keys(1)],
    ] as const) {
      await store.createTable(table, { families: ['f'] });
      await store.mutateRows(rows.map((row) => ({ table, row, mutations: [SET] })));
    }
    spreadRows(cluster);
    const of = (name: string) => cluster.tablets.all().filter(({ table }) => table === name);
    assert.deepEqual(
      of('large').map(({ start }) => start),
      ['', 'r200', 'r300', 'r400'],
    );
    assert.equal(new Set(of('large').map(({ server }) => server)).size, SERVERS);
    assert.deepEqual(
      ['small', 'tiny'].map((name) => of(name).length),
      [1, 1],
    );
    assert.notEqual(of('small')[0]?.server, of('tiny')[0]?.server);
    for (const name of ['large', 'small', 'tiny']) {
      for (const { logBytes } of of(name)) assert.equal(logBytes, 0);
    }
    assert.equal((await store.readRange('large', { limit: 999 }, [{ family: 'f' }])).length, 400);
    await store.close();
  });
});
