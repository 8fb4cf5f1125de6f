/** What of the machine makes a run doubtful, and what does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keeping } from './keeping.ts';
import { doubtsOf, type MachineMoment, machineMoment } from './doubts.ts';

const LOADED: MachineMoment = {
  wallMs: 4_000,
  monotonicMs: -900,
  own: 10,
  processor: { all: 800, idle: 700, stolen: 10 },
};
const BEGIN: MachineMoment = {
  wallMs: 5_000,
  monotonicMs: 100,
  own: 110,
  processor: { all: 1_000, idle: 760, stolen: 10 },
};
const END: MachineMoment = {
  wallMs: 65_000,
  monotonicMs: 60_100,
  own: 11_000,
  processor: { all: 13_000, idle: 800, stolen: 20 },
};

/** A run whose moments are as these, but for what is given. */
function doubtsWith(changed: { begin?: Partial<MachineMoment>; end?: Partial<MachineMoment> }) {
  return doubtsOf({
    before: LOADED,
    begin: { ...BEGIN, ...changed.begin },
    end: { ...END, ...changed.end },
  });
}

test('a quiet machine gives no doubt, however busy the run itself keeps it', () => {
  assert.deepEqual(doubtsWith({}), []);
});

test('a clock that was set is a doubt, and one that a time service slows or hastens is none', () => {
  const after = (ms: number): string => doubtsWith({ end: { wallMs: END.wallMs + ms } }).join();
  assert.equal(after(50), '');
  assert.match(after(3_200), /^The clock of the machine was set forward by 3\.2 s/);
  assert.match(after(-3_200), /^The clock of the machine was set back by 3\.2 s/);
  const hour = { monotonicMs: BEGIN.monotonicMs + 3_600_000, wallMs: 3_606_800 };
  assert.deepEqual(doubtsWith({ end: hour }), []);
});

test('processor time that the host gave to others is a doubt from 2 % on', () => {
  const with2 = (stolen: number): string =>
    doubtsWith({ end: { processor: { all: 13_000, idle: 800, stolen } } }).join();
  assert.equal(with2(200), '');
  assert.match(with2(1_210), /gave 10 % of its processor time to others/);
  assert.deepEqual(doubtsWith({ end: { processor: null } }), []);
});

test('a machine on which others were busy before the run is a doubt; the script itself is none', () => {
  const with2 = (own: number): string => doubtsWith({ begin: { own } }).join();
  assert.equal(with2(LOADED.own + 100), '');
  assert.match(with2(LOADED.own + 40), /busy with other work when the run began \(50 % of its/);
  assert.deepEqual(doubtsWith({ begin: { processor: null } }), []);
});

test('a doubt that cannot be kept does not hide why a run failed', async () => {
  const cannot = (): void => {
    throw new Error('the disk is full');
  };
  const failing = keeping(() => Promise.reject(new Error('the store is gone')), cannot);
  await assert.rejects(failing, /the store is gone/);
  await assert.rejects(
    keeping(() => Promise.resolve(), cannot),
    /the disk is full/,
  );
});

test('this machine has a moment of which all is known on Linux', () => {
  const { wallMs, processor } = machineMoment();
  assert.ok(Math.abs(wallMs - Date.now()) < 3_600_000);
  assert.equal(processor === null, process.platform !== 'linux');
});
