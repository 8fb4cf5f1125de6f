/** The table of figure 8 states no ratio of CPU times if a part of them is not known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Slice } from './case.ts';
import { NAMES } from './figure-8-cases.ts';
import { figure8Table } from './tables.ts';

const KNOWN = { operations: 1, seconds: 1, clientUs: 2, serverUs: 3, servicesUs: 5 };

/** The last column of the first row of the store. */
function relativeCpu(name: string, slice: Slice, inProcesses: boolean): unknown {
  const slices = new Map(Object.values(NAMES).map((of) => [of, [slice]]));
  const none = { sweeps: null, conditionalBatch: [], profiles: null, inProcess: null };
  const figure8 = { slices, messages: new Map(), inProcesses, concurrency: 64 };
  const result = { name, durability: 'none', figure8, ...none, wrong: [] };
  return figure8Table([result])
    .rows.find(([store]) => store === name)
    ?.at(-1);
}

test('relative CPU counts all processes, and is null if the time of one is not known', () => {
  const noServer = { ...KNOWN, serverUs: null };
  const noServices = { ...KNOWN, servicesUs: null };
  assert.equal(relativeCpu('emulator', KNOWN, true), 1);
  assert.equal(relativeCpu('emulator', noServices, false), 1, 'the oracle is in the client');
  assert.equal(
    relativeCpu('embedded', { ...noServices, serverUs: null }, false),
    1,
    'the storage is in the client, too',
  );
  assert.equal(relativeCpu('emulator', { ...noServices, serverUs: null }, false), null);
  assert.equal(relativeCpu('emulator', noServer, true), null);
  assert.equal(relativeCpu('embedded', noServices, true), null);
});
