/** What the record of a run of chaos says about the stores of its rounds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreDescription } from '#results';
import { type ChaosOptions, describeStores, plansOf, SIZES } from './plan.ts';
import { settingOf } from './matrix.ts';

function storesOf(
  profile: 'quick' | 'standard',
  changed: Partial<ChaosOptions> = {},
): StoreDescription {
  const { engine } = settingOf({ engine: {} });
  const flags = { services: false, gc: false, noFsync: false, powerCuts: false };
  const usual = { seed: 1, processes: 3, regionServers: 3, store: undefined, ...flags };
  return describeStores(plansOf({ ...engine, ...usual, ...SIZES[profile], ...changed }, [], ''));
}

test('the record of a run names the stores of all its rounds', () => {
  assert.equal(storesOf('standard').name, 'embedded, emulator');
  assert.equal(storesOf('quick').name, 'embedded');
  for (const store of ['emulator', 'bigtable://project/instance', 'hbase://one:2181,two:2181']) {
    assert.equal(storesOf('standard', { store }).name, store);
  }
});

test('power cuts without fsync are refused: commits that are lost would be no mistake', () => {
  assert.throws(
    () => storesOf('quick', { noFsync: true, powerCuts: true }),
    /^UsageError: --power-cuts cannot be combined with --no-fsync, which lets a power cut lose commits\.$/,
  );
});

test('the record of a run on two stores says what a commit survives on each', () => {
  const { durability } = storesOf('standard', { noFsync: true });
  assert.match(durability, /^embedded: .*\(no fsync\); emulator: nothing survives /);
});
