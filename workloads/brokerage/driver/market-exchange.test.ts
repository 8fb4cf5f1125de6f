/** The claims of the exchange, on a simulated clock: what it sends, when, and at which price. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '#engine';
import { VirtualClock } from '#engine/testing';
import type { MarketFeedInput, TriggeredOrder } from '../transactions/market-feed.ts';
import type { Roster } from '../model/population.ts';
import type { TradeResultInput } from '../transactions/trade-result.ts';
import { createMarket } from '../population/market-rows.ts';
import { MarketExchange, type SubmittedOrder, TICKER_ENTRIES } from './market-exchange.ts';

const PERIOD_MS = 60_000;
const SECURITIES = 5;
const ORIGIN = 1_000_000;
const market = createMarket(PERIOD_MS);
const symbols = Array.from({ length: SECURITIES }, (_, i) => `S${i}`);
const roster = { securities: SECURITIES, symbol: (i: number) => symbols[i] } as unknown as Roster;

interface ExchangeScene {
  readonly clock: VirtualClock;
  readonly exchange: MarketExchange;
  readonly results: { readonly input: TradeResultInput; readonly atMs: number }[];
  readonly feeds: { readonly input: MarketFeedInput; readonly atMs: number }[];
  /** Orders that the next Market-Feeds will trigger. */
  readonly triggers: TriggeredOrder[][];
}

function open({ resultMs = 0, seed = 1 } = {}): ExchangeScene {
  const clock = new VirtualClock();
  const results: { input: TradeResultInput; atMs: number }[] = [];
  const feeds: { input: MarketFeedInput; atMs: number }[] = [];
  const triggers: TriggeredOrder[][] = [];
  const exchange = new MarketExchange({
    clock,
    random: createRandom(seed),
    population: { roster, market },
    timeAt: (ms) => ORIGIN + Math.floor(ms),
    transactions: {
      tradeResult: async (input) => {
        results.push({ input, atMs: clock.monotonicMs() });
        await clock.sleep(resultMs);
      },
      marketFeed: async (input) => {
        feeds.push({ input, atMs: clock.monotonicMs() });
        return { triggered: triggers.shift() ?? [] };
      },
    },
  });
  return { clock, exchange, results, feeds, triggers };
}

let trades = 0;
function order(tradeTypeId: string, price = 0, security = 0): SubmittedOrder {
  return { tradeId: ++trades, tradeTypeId, symbol: `S${security}`, quantity: 100, price };
}

/** Submits the orders and advances the clock, by default by 30 s: enough for market orders. */
async function after(
  scene: ExchangeScene,
  orders: readonly SubmittedOrder[],
  ms = 30_000,
): Promise<void> {
  for (const one of orders) scene.exchange.submit(one);
  await scene.clock.advance(ms);
}

describe('a market order', () => {
  test('is completed once, within five seconds, at the price of that moment', async () => {
    const scene = open();
    const orders = Array.from({ length: 50 }, (_, i) => order('TMB', 2_222, i % SECURITIES));
    await after(scene, orders);
    assert.deepEqual(
      scene.results.map(({ input }) => input.tradeId).toSorted((a, b) => a - b),
      orders.map(({ tradeId }) => tradeId),
    );
    for (const { input, atMs } of scene.results) {
      assert.ok(atMs > 0 && atMs <= 5_000, `${atMs} ms`);
      assert.equal(input.now, ORIGIN + Math.floor(atMs));
      const security = orders.findIndex(({ tradeId }) => tradeId === input.tradeId) % SECURITIES;
      assert.equal(input.tradePrice, market.price(security, input.now));
    }
  });

  test('waits a second on average', async () => {
    const scene = open();
    await after(
      scene,
      Array.from({ length: 2_000 }, () => order('TMS')),
    );
    const mean = scene.results.reduce((sum, { atMs }) => sum + atMs, 0) / 2_000;
    // An exponential distribution cut at 5 has a mean of 0.993 and a deviation below 1; the test
    // allows 4 deviations of a mean of 2,000.
    assert.ok(Math.abs(mean - 993) < 4 * (1_000 / Math.sqrt(2_000)), `${mean} ms`);
  });
});

/** Quantities show what an entry is: 375 a limit order, 325 or 425 a trade of others. */
describe('the ticker', () => {
  test('has one Market-Feed of 20 entries for 10 Trade-Results, each of which contributes its own trade', async () => {
    const scene = open();
    await after(
      scene,
      Array.from({ length: 105 }, () => order('TMB')),
    );
    assert.equal(scene.results.length, 105);
    assert.equal(scene.feeds.length, 10);
    const entries = scene.feeds.flatMap(({ input }) => input.entries);
    assert.ok(scene.feeds.every(({ input }) => input.entries.length === TICKER_ENTRIES));
    const own = entries.filter((_, i) => i % 2 === 0);
    const prices = scene.results.slice(0, 100).map(({ input }) => input.tradePrice);
    assert.deepEqual(
      own.map(({ price }) => price),
      prices,
    );
    const others = entries.filter((_, i) => i % 2 === 1);
    assert.ok(others.every(({ quantity }) => quantity === 325 || quantity === 425));
    assert.ok(new Set(others.map(({ symbol }) => symbol)).size > 1);
  });

  test('shows a limit order that reached its price instead of a trade of others', async () => {
    const scene = open();
    // All prices are at most $30: in the money at once.
    scene.exchange.submit(order('TLB', 3_000, 3));
    await after(
      scene,
      Array.from({ length: 10 }, () => order('TMB')),
    );
    const triggers = scene.feeds[0]?.input.entries.filter(({ quantity }) => quantity === 375) ?? [];
    assert.deepEqual(
      triggers.map(({ symbol }) => symbol),
      ['S3'],
    );
    assert.ok((triggers[0]?.price ?? Infinity) <= 3_000);
    assert.equal(
      scene.results.length,
      10,
      'the limit order is completed only when a Market-Feed has triggered it',
    );
  });
});

describe('a limit order', () => {
  const cases = [
    ['TLB', 'at most'],
    ['TSL', 'at most'],
    ['TLS', 'at least'],
  ] as const;
  for (const [type, direction] of cases) {
    test(`${type} is shown as soon as its price is ${direction} the limit, and not before`, async () => {
      const scene = open();
      const now = market.price(1, ORIGIN);
      const limit = direction === 'at most' ? 2_010 : 2_990;
      assert.ok(direction === 'at most' ? now > limit : now < limit, 'it has to wait');
      scene.exchange.submit(order(type, limit, 1));
      const comesAt = market.reaches(1, { direction, price: limit }, ORIGIN) - ORIGIN;
      await scene.clock.advance(comesAt - 1);
      assert.equal(scene.exchange.waiting, 1);
      await scene.clock.advance(1);
      assert.equal(scene.exchange.waiting, 0);
      await after(
        scene,
        Array.from({ length: 10 }, () => order('TMB')),
      );
      const shown = scene.feeds[0]?.input.entries.filter(({ quantity }) => quantity === 375);
      assert.deepEqual(shown, [{ symbol: 'S1', price: limit, quantity: 375 }]);
    });
  }

  test('that is triggered is completed at the better of its price and the current one; a stop-loss at the current one', async () => {
    const scene = open();
    const limits = { TLB: 2_100, TLS: 2_900, TSL: 2_900 };
    const triggered = Object.entries(limits).map(([type, price]) => order(type, price, 2));
    scene.triggers.push(triggered);
    await after(
      scene,
      Array.from({ length: 10 }, () => order('TMB')),
    );
    for (const { tradeId, tradeTypeId, price } of triggered) {
      const result = scene.results.find(({ input }) => input.tradeId === tradeId)?.input;
      const present = market.price(2, result?.now ?? 0);
      const better = { TLB: Math.min(price, present), TLS: Math.max(price, present), TSL: present };
      assert.equal(result?.tradePrice, better[tradeTypeId as keyof typeof better]);
    }
  });
});

describe('draining', () => {
  test('completes every order at once, waits until every transaction has ended, and sends no Market-Feed', async () => {
    const scene = open({ resultMs: 700 });
    for (let i = 0; i < 30; i++) scene.exchange.submit(order('TMB'));
    const drained = scene.exchange.drain();
    await scene.clock.runUntil(drained);
    assert.equal(scene.results.length, 30);
    assert.equal(scene.clock.monotonicMs(), 700);
    assert.equal(scene.feeds.length, 0);
    scene.exchange.resume();
    assert.equal(scene.feeds.length, 3, 'no ticker entry is lost');
    await after(scene, [order('TMB')]);
    assert.ok((scene.results.at(-1)?.atMs ?? 0) > 700, 'the market takes its time again');
  });

  test('of an idle exchange is immediate, and does not wait for limit orders', async () => {
    const scene = open();
    scene.exchange.submit(order('TLB', 2_010, 1));
    await scene.exchange.drain();
    assert.equal(scene.clock.monotonicMs(), 0);
  });
});

test('limit orders that are forgotten are never shown, whether they reached their price or not', async () => {
  const scene = open();
  scene.exchange.submit(order('TLB', 3_000, 3));
  scene.exchange.submit(order('TLB', 2_010, 1));
  assert.equal(scene.exchange.waiting, 1);
  scene.exchange.forget();
  await scene.clock.advance(0);
  assert.equal(scene.exchange.waiting, 0);
  await scene.clock.advance(PERIOD_MS);
  await after(
    scene,
    Array.from({ length: 10 }, () => order('TMB')),
  );
  const shown = scene.feeds.flatMap(({ input }) => input.entries);
  assert.ok(shown.length > 0 && shown.every(({ quantity }) => quantity !== 375));
});

test('a closed exchange sends nothing any more', async () => {
  const scene = open();
  for (let i = 0; i < 30; i++) scene.exchange.submit(order('TMB'));
  scene.exchange.submit(order('TLB', 2_010, 1));
  assert.equal(scene.exchange.waiting, 1);
  scene.exchange.close();
  await scene.clock.advance(0);
  assert.equal(scene.exchange.waiting, 0);
  await scene.clock.advance(2 * PERIOD_MS);
  assert.equal(scene.results.length, 0);
});

test('an order of an unknown security is not traded as one of another', () => {
  const { exchange } = open();
  assert.throws(() => exchange.submit(order('TLB', 2_010, SECURITIES)), /symbol of an order/);
});

test('the same seed repeats every message at the same moment', async () => {
  const story = async (seed: number): Promise<string> => {
    const scene = open({ seed });
    trades = 0;
    await after(
      scene,
      Array.from({ length: 40 }, (_, i) => order('TMB', 0, i % SECURITIES)),
    );
    return JSON.stringify([scene.results, scene.feeds]);
  };
  assert.equal(await story(5), await story(5));
  assert.notEqual(await story(5), await story(6));
});
