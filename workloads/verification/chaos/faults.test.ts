/** The claims of the schedule of faults and of the table of settings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import { drawFaults, type Fault } from './faults.ts';
import { matrixOf, optionsOf, TABLE } from './matrix.ts';
import { LEASE_TIME_TO_LIVE_MS, MESSAGE_LIFETIME_MS } from './plan.ts';

function faultsOf(seed: number, seconds: number): readonly Fault[] {
  const faults: Fault[] = [];
  let leftMs = 1_000 * seconds;
  for (const fault of drawFaults(createRandom(seed))) {
    leftMs -= fault.afterMs;
    if (leftMs < 0) return faults;
    faults.push(fault);
  }
  return faults;
}

test('a seed decides the schedule', () => {
  assert.deepEqual(faultsOf(1, 300), faultsOf(1, 300));
  assert.notDeepEqual(faultsOf(1, 300), faultsOf(2, 300));
});

test('five minutes have faults at every pace, and pauses of both kinds', () => {
  for (let seed = 0; seed < 20; seed++) {
    const faults = faultsOf(seed, 300);
    assert.ok(faults.some(({ afterMs }) => afterMs <= 800));
    assert.ok(faults.some(({ afterMs }) => afterMs >= 1_000 && afterMs <= 6_000));
    assert.ok(faults.some((fault) => fault.kind === 'kill' && fault.owner));
    const pauses = faults.filter((fault) => fault.kind === 'pause');
    assert.ok(pauses.some(({ long }) => long));
    assert.ok(pauses.some(({ long }) => !long));
    assert.ok(faults.length > 40);
  }
});

test('a round of seconds has faults, too', () => {
  for (let seed = 0; seed < 20; seed++) assert.ok(faultsOf(seed, 4).length >= 4);
});

test('long pauses outlast a lease together with the messages that were sent under it', () => {
  const pauses = faultsOf(3, 3_600).filter((fault) => fault.kind === 'pause');
  assert.deepEqual(new Set(pauses.map(({ long }) => long)), new Set([true, false]));
  for (const { forMs, long } of pauses) {
    assert.equal(forMs > LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS, long);
  }
});

test('any two values of two columns of the table occur together in a round', () => {
  const columns = TABLE[0]?.length ?? 0;
  const valuesOf = (i: number): Set<unknown> => new Set(TABLE.map((row) => row[i]));
  for (let i = 0; i < columns; i++) {
    for (let j = i + 1; j < columns; j++) {
      const together = new Set(TABLE.map((row) => `${row[i]} ${row[j]}`));
      assert.equal(together.size, valuesOf(i).size * valuesOf(j).size, `columns ${i} and ${j}`);
    }
  }
});

test('a command-line option holds in every round of the table', () => {
  const settings = matrixOf({ store: 'embedded', gc: true, engine: { scanners: 2 } });
  assert.equal(settings.length, TABLE.length);
  for (const { store, gc, engine } of settings) {
    assert.deepEqual([store, gc, engine.scanners], ['embedded', true, 2]);
  }
  assert.deepEqual(new Set(settings.map(({ services }) => services)), new Set([true, false]));
});

test('a round says which options repeat its setting', () => {
  assert.equal(
    matrixOf({ engine: {} }).map(optionsOf)[1],
    '--store embedded --batching on --scanners 3 --gc',
  );
});
