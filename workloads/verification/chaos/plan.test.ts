/** What the record of a run of chaos says about the stores of its rounds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreDescription } from '#results';
import {
  type ChaosOptions,
  type ChaosPlan,
  describeStores,
  expectedSeconds,
  plansOf,
  settingOf,
  SIZES,
} from './plan.ts';

function plansFor(
  profile: 'quick' | 'standard',
  changed: Partial<ChaosOptions> = {},
): readonly ChaosPlan[] {
  const { engine } = settingOf({ engine: {} });
  const flags = { services: false, gc: false, noFsync: false, powerCuts: false };
  const network = { hosts: 0, cuts: false };
  const usual = { seed: 1, processes: 3, regionServers: 3, store: undefined, ...flags, ...network };
  return plansOf({ ...engine, ...usual, ...SIZES[profile], ...changed }, [], '');
}

function storesOf(...given: Parameters<typeof plansFor>): StoreDescription {
  return describeStores(plansFor(...given));
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

test('on hosts the store does not sync: neither is its owner killed, nor does the power fail', () => {
  const [plan] = plansFor('quick', { hosts: 7 });
  assert.equal(plan?.fsync, false);
  assert.match(storesOf('quick', { hosts: 7 }).durability, /no fsync/);
  assert.equal(plansFor('quick')[0]?.fsync, true);
});

test('a round with cuts lasts as long as its cuts, even if pairs come quickly', () => {
  const [plan] = plansFor('standard', { hosts: 7, cuts: true });
  assert.ok(plan !== undefined);
  assert.ok(expectedSeconds(plan) > 1_500, String(expectedSeconds(plan)));
  assert.ok(expectedSeconds({ ...plan, store: 'hbase' }) > 5_400);
});
