/** A cutter whose double cut fails early: the round hears it, and its process lives on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAllocator, serveOracle } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import type { Host, HostNetwork } from '../../harness/hosts/network.ts';
import { Cutter, type CutterOptions } from './cutter.ts';
import { placesOn } from './places.ts';

test('a process that cannot be hit while the cut lasts is an error of the cut, once it is past', async (t) => {
  const server = await serveOracle(await openAllocator(createMemoryBigtable()));
  t.after(() => server.close());
  const hosts = [1, 2].map((i): Host => ({ name: `host-${i}`, address: '127.0.0.1', enter: [] }));
  const network: Pick<HostNetwork, 'unplug' | 'dropped'> = {
    unplug: async () => {},
    dropped: async () => ({ unplugged: 0, blocked: 0 }),
  };
  const options = { network, places: placesOn(hosts, 0), oracles: [server.address], clients: [] };
  const cutter = new Cutter({ ...options, isOver: () => false } as unknown as CutterOptions);
  const cut = {
    what: 'leader',
    afterMs: 0,
    forMs: 300,
    victim: 0,
    other: 0,
    isDouble: true,
  } as const;
  const during = async (): Promise<never> => {
    throw new Error('no process is there');
  };
  await assert.rejects(cutter.make(cut, during), /no process is there/);
});
