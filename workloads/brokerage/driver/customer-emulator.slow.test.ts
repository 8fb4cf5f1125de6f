/** The claims of the emulator, on a simulated clock and a fake brokerage. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '#engine';
import { VirtualClock } from '#engine/testing';
import { percentileMs } from '#results';
import { SCALES } from '../model/scale.ts';
import type { TransactionType } from '../transactions/index.ts';
import { createPopulation } from '../population/population.ts';
import {
  CustomerEmulator,
  type EmulatorResult,
  type EmulatedRun,
  inFlightMaxOf,
  type CustomerLoad,
} from './customer-emulator.ts';
import { FakeBrokerage, type FakeBrokerageOptions } from './fake-brokerage.fixture.ts';
import { DECK_SIZE } from './deck.ts';

/** The price period is so short that limit orders trigger within a run. */
const population = createPopulation({ ...SCALES.standard, pricePeriodMs: 8_000 }, 1);
const SECONDS = 60;
const WARMUP_MS = 20_000;

interface EmulatorScene {
  readonly brokerage: FakeBrokerage;
  readonly emulated: EmulatorResult;
  readonly endedMs: number;
}

interface Started {
  readonly clock: VirtualClock;
  readonly brokerage: FakeBrokerage;
  readonly emulator: CustomerEmulator;
  readonly running: Promise<EmulatorResult>;
}

type EmulatorSettings = Partial<FakeBrokerageOptions> & { readonly seed?: number };

function start(
  load: CustomerLoad,
  { seed = 1, ...options }: EmulatorSettings = {},
  run: Partial<EmulatedRun> = {},
): Started {
  const clock = new VirtualClock();
  const symbol = population.roster.symbol(0);
  const brokerage = new FakeBrokerage({ clock, symbol, responseMs: 10, ...options });
  let tradeId = population.roster.trades.lastId;
  const emulator = new CustomerEmulator({
    clock,
    random: createRandom(seed),
    population,
    brokerage,
    nextTradeId: () => ++tradeId,
    originMs: 0,
  });
  const running = emulator.run({
    load,
    beginMs: 0,
    fromMs: WARMUP_MS,
    toMs: WARMUP_MS + 1_000 * SECONDS,
    hasMaintenance: true,
    signal: new AbortController().signal,
    ...run,
  });
  return { clock, brokerage, emulator, running };
}

async function emulate(
  load: CustomerLoad,
  settings: EmulatorSettings = {},
  run: Partial<EmulatedRun> = {},
): Promise<EmulatorScene> {
  const { clock, brokerage, emulator, running } = start(load, settings, run);
  const emulated = await clock.runUntil(running);
  emulator.exchange.close();
  return { brokerage, emulated, endedMs: clock.monotonicMs() };
}

/** The customers' transactions, which the load asks for. */
function issuedBy({ calls }: FakeBrokerage): FakeBrokerage['calls'] {
  return calls.filter(({ type }) =>
    ['tradeResult', 'marketFeed', 'dataMaintenance'].every((other) => other !== type),
  );
}

const PACED: CustomerLoad = { kind: 'paced', perSecond: 44.5, phase: 0 };

const scene = await emulate(PACED);

describe('a paced run', () => {
  const { records } = scene.emulated;

  test('begins a transaction at each scheduled moment', () => {
    const issued = issuedBy(scene.brokerage);
    assert.equal(issued.length, Math.ceil(44.5 * 80));
    for (const [n, { atMs }] of issued.entries()) {
      assert.ok(Math.abs(atMs - (n * 1_000) / 44.5) < 1e-6);
    }
  });

  test('with a phase begins each transaction later by that part of a gap', async () => {
    const run = { fromMs: 0, toMs: 1_000 };
    const issued = issuedBy((await emulate({ ...PACED, phase: 0.5 }, {}, run)).brokerage);
    assert.equal(issued.length, 44);
    for (const [n, { atMs }] of issued.entries()) {
      assert.ok(Math.abs(atMs - ((n + 0.5) * 1_000) / 44.5) < 1e-6);
    }
  });

  test('has the mix of the specification, Trade-Results and Market-Feeds included', () => {
    const all = Object.values(records).reduce((sum, { ended }) => sum + ended, 0);
    const share = (type: TransactionType): number => (100 * records[type].ended) / all;
    // Three decks: exact except for transactions that the ends of the interval cut off, and orders
    // that wait for their price.
    assert.ok(Math.abs(share('tradeStatus') - 19) < 0.5, `${share('tradeStatus')}`);
    assert.ok(Math.abs(share('tradeOrder') - 10.1) < 0.5, `${share('tradeOrder')}`);
    assert.ok(Math.abs(share('tradeResult') - 10) < 1, `${share('tradeResult')}`);
    assert.ok(Math.abs(share('marketFeed') - 1) < 0.15, `${share('marketFeed')}`);
  });

  test('rolls back one order of 101, which brings no Trade-Result', () => {
    const rolledBack = scene.brokerage.inputsOf('tradeOrder').filter(({ rollBack }) => rollBack);
    assert.equal(rolledBack.length, 4);
    const results = new Set(scene.brokerage.inputsOf('tradeResult').map(({ tradeId }) => tradeId));
    assert.ok(rolledBack.every(({ tradeId }) => !results.has(tradeId)));
    assert.ok(records.tradeOrder.rolledBack >= 2);
  });

  test('completes every market order, and no order twice', () => {
    const ids = scene.brokerage.inputsOf('tradeResult').map(({ tradeId }) => tradeId);
    assert.equal(new Set(ids).size, ids.length);
    const markets = scene.brokerage
      .inputsOf('tradeOrder')
      .filter(({ tradeTypeId, rollBack }) => tradeTypeId.startsWith('TM') && !rollBack);
    assert.ok(markets.length > 200);
    for (const { tradeId } of markets) assert.ok(ids.includes(tradeId));
  });

  test('measures response times of 10 ms, and settles at the end', () => {
    assert.ok(Math.abs(percentileMs(records.tradeStatus.histogram, 90) - 10) < 0.1);
    assert.equal(scene.brokerage.settledCalls, 1);
    assert.equal(records.tradeStatus.failed, 0);
    assert.equal(scene.emulated.firstFailure, null);
    assert.ok(scene.emulated.backlogTo <= 1);
  });

  test('maintains data once a minute', async () => {
    const run = { toMs: WARMUP_MS + 150_000 };
    const { brokerage } = await emulate({ ...PACED, perSecond: 1 }, {}, run);
    const moments = brokerage.calls.filter(({ type }) => type === 'dataMaintenance');
    assert.deepEqual(
      moments.map(({ atMs }) => atMs),
      [WARMUP_MS, WARMUP_MS + 60_000, WARMUP_MS + 120_000],
    );
  });

  test('with the same seed repeats every call', async () => {
    assert.deepEqual((await emulate(PACED)).brokerage.calls, scene.brokerage.calls);
    const another = (await emulate(PACED, { seed: 2 })).brokerage.calls;
    assert.notDeepEqual(another, scene.brokerage.calls);
  });
});

test('latency counts from the scheduled moment, even if a transaction begins late', async () => {
  // The first transactions were due up to a second before the clock starts.
  const { emulated } = await emulate(PACED, {}, { beginMs: -1_000, fromMs: 0, toMs: 20 });
  const records = Object.values(emulated.records).filter(({ ended }) => ended > 0);
  const slowestMs = Math.max(...records.map(({ histogram }) => percentileMs(histogram, 100)));
  assert.ok(Math.abs(slowestMs - 1_010) < 2, `${slowestMs} ms`);
});

test('a transaction that is due while others are in flight is not held back', async () => {
  // Every transaction takes 2 s.
  const { emulated } = await emulate(PACED, { responseMs: 2_000 }, { fromMs: 1_000 });
  assert.ok(Math.abs(percentileMs(emulated.records.tradeStatus.histogram, 50) - 2_000) < 2);
  assert.equal(emulated.backlogFrom, 45, 'the arrivals of the first second are in flight');
  assert.equal(emulated.backlogTo, 89, '2 s of arrivals are in flight');
});

test('a run settles only when all its transactions have ended', async () => {
  const { brokerage } = await emulate(PACED, { responseMs: 2_000 });
  assert.equal(brokerage.settledCalls, 1);
  assert.equal(brokerage.endedAtSettled, brokerage.calls.length);
});

test('a load far beyond the brokerage is given up with 5,000 transactions in flight', async () => {
  const { emulated, brokerage } = await emulate(
    { ...PACED, perSecond: 1e6 },
    { responseMs: 2_000 },
  );
  assert.equal(emulated.isOverrun, true);
  const issued = brokerage.calls.filter(({ type }) => type !== 'tradeResult');
  assert.ok(issued.length >= 5_000 && issued.length < 5_500, `${issued.length}`);
});

test('an unpaced run keeps each user busy: three users at 10 ms complete 300 per second', async () => {
  const { emulated, brokerage } = await emulate({ kind: 'unpaced', users: 3 });
  const { tradeResult, marketFeed, dataMaintenance, ...customers } = emulated.records;
  const ended = Object.values(customers).reduce((sum, record) => sum + record.ended, 0);
  assert.ok(Math.abs(ended / SECONDS - 300) < 2, `${ended / SECONDS}`);
  assert.ok(
    tradeResult.ended / ended > 0.09 && marketFeed.ended > 0 && dataMaintenance.ended === 1,
  );
  assert.ok(brokerage.calls.length > 20 * DECK_SIZE);
});

test('transactions that end before or after the interval are not counted', async () => {
  const run = { fromMs: 79_000, toMs: 80_000 };
  const { emulated } = await emulate(PACED, { responseMs: 2_000 }, run);
  const ended = Object.values(emulated.records).reduce((sum, record) => sum + record.ended, 0);
  assert.ok(ended > 40 && ended < 60, `${ended}`);
});

test('conflicts are counted by type: attempts beyond the first', async () => {
  const attemptsOf = (type: TransactionType): number => (type === 'tradeResult' ? 3 : 1);
  const { records } = (await emulate(PACED, { attemptsOf })).emulated;
  assert.equal(records.tradeResult.conflicts, 2 * records.tradeResult.ended);
  assert.equal(records.tradeResult.retried, records.tradeResult.ended);
  assert.equal(records.tradeOrder.conflicts, 0);
});

test('a transaction that fails is counted and named, and the run goes on to its end', async () => {
  let failures = 0;
  const failing = (type: TransactionType): void => {
    if (type === 'tradeOrder' && failures++ === 5) throw new Error('the store is gone');
  };
  const { brokerage, emulated, endedMs } = await emulate(PACED, { failing });
  assert.equal(emulated.records.tradeOrder.failed, 1, 'also in the warm-up');
  assert.equal(emulated.firstFailure, 'Trade-Order: the store is gone');
  assert.equal(issuedBy(brokerage).length, Math.ceil(44.5 * 80));
  assert.ok(endedMs >= 80_000);
});

for (const [submitted, failure] of [
  [0, null],
  [3, 'Trade-Cleanup: orders never completed: 3'],
] as const) {
  test(`a cleanup that finds ${submitted} orders incomplete reports ${failure ?? 'no failure'}`, async () => {
    const { clock, emulator, running } = start(PACED, { submitted }, { fromMs: 0, toMs: 100 });
    await clock.runUntil(running);
    await clock.runUntil(emulator.prepare({ cleansUp: true }));
    const [fromMs, signal] = [clock.monotonicMs(), new AbortController().signal];
    const interval = { beginMs: fromMs, fromMs, toMs: fromMs + 100 };
    const next = emulator.run({ load: PACED, ...interval, hasMaintenance: false, signal });
    assert.equal((await clock.runUntil(next)).firstFailure, failure);
    emulator.exchange.close();
  });
}

test('however many clients there are, all of them together give up at about 5,000 in flight', () => {
  for (const clients of [1, 3, 16, 64]) {
    const all = clients * inFlightMaxOf(clients);
    assert.ok(all >= 5_000 && all < 5_000 + clients, `${all} of ${clients} clients`);
  }
});

test('a run that is interrupted ends at once, with the reason', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const failing = (): void => controller.abort(new Error('interrupted'));
  const { clock, brokerage, running } = start(PACED, { failing }, { signal });
  await assert.rejects(clock.runUntil(running), /interrupted/);
  assert.ok(clock.monotonicMs() < 100, `${clock.monotonicMs()} ms`);
  // The first transaction, and the one whose moment the client was waiting for.
  assert.ok(brokerage.calls.length <= 2, `${brokerage.calls.length} transactions`);
});
