/** What of the machine makes a run doubtful, and what does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubtsBetween, type MachineMoment, machineMoment } from './doubts.ts';

const BEGIN: MachineMoment = {
  wallMs: 5_000,
  monotonicMs: 100,
  load: 0.1,
  processor: { all: 1_000, stolen: 10 },
};
const END: MachineMoment = {
  wallMs: 65_000,
  monotonicMs: 60_100,
  load: 1.5,
  processor: { all: 13_000, stolen: 20 },
};

test('a quiet machine gives no doubt, however busy the run itself keeps it', () => {
  assert.deepEqual(doubtsBetween(BEGIN, END), []);
});

test('a clock that was set is a doubt, and one that a time service slows or hastens is none', () => {
  const after = (ms: number): string =>
    doubtsBetween(BEGIN, { ...END, wallMs: END.wallMs + ms }).join();
  assert.equal(after(50), '');
  assert.match(after(3_200), /^The clock of the machine was set forward by 3\.2 s/);
  assert.match(after(-3_200), /^The clock of the machine was set back by 3\.2 s/);
  const hour = { ...END, monotonicMs: BEGIN.monotonicMs + 3_600_000, wallMs: 3_606_800 };
  assert.deepEqual(doubtsBetween(BEGIN, hour), []);
});

test('processor time that the host gave to others is a doubt from 2 % on', () => {
  const with2 = (stolen: number): string =>
    doubtsBetween(BEGIN, { ...END, processor: { all: 13_000, stolen } }).join();
  assert.equal(with2(200), '');
  assert.match(with2(1_210), /gave 10 % of its processor time to others/);
  assert.deepEqual(doubtsBetween(BEGIN, { ...END, processor: null }), []);
});

test('a machine that was busy before the run began is a doubt', () => {
  const [doubt = ''] = doubtsBetween({ ...BEGIN, load: 0.75 }, END);
  assert.match(doubt, /busy with other work when the run began \(load 0\.8 per core\)/);
});

test('this machine has a moment of which all is known on Linux', () => {
  const { wallMs, processor } = machineMoment();
  assert.ok(Math.abs(wallMs - Date.now()) < 3_600_000);
  assert.equal(processor === null, process.platform !== 'linux');
});
