/** The claims of the schedule of faults and of the table of settings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, parseStoreName } from '#engine';
import { drawFaults, type Fault } from './faults.ts';
import { FOLDER_FAULTS, type FolderFaultName } from './folder-faults.ts';
import {
  LEASE_TIME_TO_LIVE_MS,
  matrixOf,
  MESSAGE_LIFETIME_MS,
  optionsOf,
  settingOf,
  TABLE,
} from './plan.ts';

const ALL = Object.keys(FOLDER_FAULTS) as FolderFaultName[];

function faultsOf(seed: number, seconds: number): readonly Fault[] {
  const faults: Fault[] = [];
  let leftMs = 1_000 * seconds;
  for (const fault of drawFaults(createRandom(seed), ALL)) {
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

test('five minutes have kills of the owner, and long and short pauses', () => {
  for (let seed = 0; seed < 20; seed++) {
    const faults = faultsOf(seed, 300);
    assert.ok(faults.some((fault) => fault.kind === 'kill' && fault.owner));
    const pauses = faults.filter((fault) => fault.kind === 'pause');
    assert.ok(pauses.some(({ long }) => long));
    assert.ok(pauses.some(({ long }) => !long));
    assert.ok(faults.length > 40);
  }
});

test('an hour has faults at every pace', () => {
  const faults = faultsOf(1, 3_600);
  const between = (min: number, max: number): readonly Fault[] =>
    faults.filter(({ afterMs }) => afterMs >= min && afterMs <= max);
  // Each of these ranges is reached by one pace only: start-up, pausing, working and seldom.
  for (const [min, max] of [
    [50, 499],
    [801, 999],
    [3_001, 6_000],
    [8_000, 20_000],
  ] as const) {
    assert.ok(between(min, max).length > 10, `${min} to ${max} ms`);
  }
  assert.deepEqual(between(6_001, 7_999), []);
  assert.ok(between(801, 999).every(({ kind }) => kind !== 'kill'));
});

test('the folder has each of its faults once before it has one again', () => {
  const names = faultsOf(1, 600).flatMap((fault) => (fault.kind === 'folder' ? [fault.what] : []));
  for (let i = 0; i + ALL.length <= names.length; i += ALL.length) {
    assert.deepEqual(new Set(names.slice(i, i + ALL.length)), new Set(ALL));
  }
  assert.ok(names.length >= 2 * ALL.length, `only ${names.length}`);
});

test('a round of four seconds has at least four faults', () => {
  for (let seed = 0; seed < 20; seed++) assert.ok(faultsOf(seed, 4).length >= 4);
});

test('long pauses, and no short ones, outlast a lease and then the lifetime of a message', () => {
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
    assert.equal(valuesOf(i).size, 2, `column ${i}`);
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
  const rounds = matrixOf({ engine: {} }).map(optionsOf);
  assert.equal(rounds[1], '--store embedded --batching on --scanners 3 --gc');
  assert.equal(rounds[4], '--store embedded --services --prefetch learn');
  const engine = { batching: 'on', batchDelay: 2.5, batchRows: 9, batchInFlight: 3 } as const;
  assert.equal(
    optionsOf(settingOf({ engine })),
    '--store embedded --batching on --batch-delay 2.5 --batch-rows 9 --batch-in-flight 3',
  );
  for (const name of [
    'bigtable://p/i',
    'bigtable://p/i?appProfile=a',
    'hbase://h:1,i:2',
    'hbases://h:1?namespace=n&sessionTimeoutMs=90000&proofMs=0&principal=hbase/_HOST',
  ]) {
    const store = parseStoreName(name);
    const quoted = name.includes('?') ? `'${name}'` : name;
    assert.equal(optionsOf(settingOf({ store, engine: {} })), `--store ${quoted}`);
  }
  const withoutEffect = settingOf({ engine: { batchDelay: 2.5 } });
  assert.equal(optionsOf(withoutEffect), '--store embedded', 'the command line would refuse it');
});
