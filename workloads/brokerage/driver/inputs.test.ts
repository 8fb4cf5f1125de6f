/**
 * The claims of the inputs: the shares of the specification, only ids that exist, and the same
 * inputs for the same seed.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '#engine';
import { SCALES } from '../model/scale.ts';
import { createPopulation } from '../population/population.ts';
import type { Inputs, TransactionType } from '../transactions/index.ts';
import type { TradeOrderInput } from '../transactions/trade-order.ts';
import { CARDS, DECK_SIZE } from './deck.ts';
import { CustomerInputs, type InputsOptions, type TransactionRequest } from './inputs.ts';

const population = createPopulation(SCALES.standard, 1);
const { roster } = population;
const NOW = roster.trades.endMs;

function open(seed = 1, options: Partial<InputsOptions> = {}): CustomerInputs {
  let tradeId = roster.trades.lastId;
  const nextTradeId = (): number => ++tradeId;
  return new CustomerInputs({ random: createRandom(seed), population, nextTradeId, ...options });
}

function take(inputs: CustomerInputs, count: number): readonly TransactionRequest[] {
  return Array.from({ length: count }, () => inputs.next(NOW));
}

/** Thirty decks, for all claims about shares. */
const issued = take(open(), 30 * DECK_SIZE);

function inputsOf<T extends TransactionType>(type: T): readonly Inputs[T][] {
  return issued.flatMap((one) => (one.type === type ? [one.input as Inputs[T]] : []));
}

/** Within four standard deviations of the binomial distribution. */
function assertShare<T>(all: readonly T[], is: (one: T) => boolean, share: number): void {
  const hits = all.filter(is).length;
  const deviation = Math.sqrt(all.length * share * (1 - share));
  const words = `${hits} of ${all.length} are not ${100 * share} %`;
  assert.ok(Math.abs(hits - all.length * share) < 4 * deviation, words);
}

describe('the issued transactions', () => {
  test('are the transactions of the deck, in its shares', () => {
    for (const [type, cards] of Object.entries(CARDS)) {
      assert.equal(issued.filter((one) => one.type === type).length, 30 * cards);
    }
  });

  test('are the same for the same seed, and differ for another', () => {
    assert.deepEqual(take(open(3), 2_000), take(open(3), 2_000));
    assert.notDeepEqual(take(open(3), 100), take(open(4), 100));
  });

  test('of a client with its own range are half from that range, and half from all', () => {
    const inputs = open(1, { range: { first: 0, end: 100 } });
    const own = new Set(Array.from({ length: 100 }, (_, i) => roster.accountIds(i)).flat());
    const all = take(inputs, 5 * DECK_SIZE).filter((one) => one.type === 'tradeStatus');
    // Half, and a tenth of the other half, which are draws from all 1,000 customers; the tolerance
    // is for customers of the range who are busier than others.
    const hits = all.filter(({ input }) => own.has(input.accountId)).length / all.length;
    assert.ok(hits > 0.5 && hits < 0.6, `${hits}`);
  });
});

describe('Trade-Order', () => {
  const orders = inputsOf('tradeOrder');

  test('has the shares of the five types', () => {
    const shares = { TMB: 0.3, TMS: 0.3, TLB: 0.2, TLS: 0.1, TSL: 0.1 };
    for (const [type, share] of Object.entries(shares)) {
      assertShare(orders, ({ tradeTypeId }) => tradeTypeId === type, share);
    }
  });

  test('is on margin in 8 % of all cases, all of them buys; last in, first out in 35 %; by symbol in 60 %', () => {
    const isBuy = ({ tradeTypeId }: TradeOrderInput): boolean => tradeTypeId.endsWith('B');
    assertShare(orders, ({ isMargin }) => isMargin, 0.08);
    assert.ok(orders.every((order) => !order.isMargin || isBuy(order)));
    assertShare(orders, ({ isLifo }) => isLifo, 0.35);
    assertShare(orders, ({ security }) => 'symbol' in security, 0.6);
  });

  test('is rolled back once in each 101', () => {
    for (let first = 0; first + 101 <= orders.length; first += 101) {
      const some = orders.slice(first, first + 101);
      assert.equal(some.filter(({ rollBack }) => rollBack).length, 1);
    }
  });

  test('is executed by another person with permission in 10 %', () => {
    const executors = orders.map(({ accountId, executor }) =>
      roster.permissions(accountId).findIndex(({ ap_tax_id }) => ap_tax_id === executor.taxId),
    );
    assert.ok(executors.every((index) => index >= 0));
    assertShare(executors, (index) => index > 0, 0.1);
  });

  test('buys and sells what is in the basket of the account, at prices from $20 to $30', () => {
    const symbolOf = ({ security, accountId }: TradeOrderInput): boolean =>
      roster
        .basket(accountId)
        .some((index) =>
          'symbol' in security
            ? roster.symbol(index) === security.symbol
            : roster.companyName(roster.companyOf(index)) === security.companyName &&
              roster.issue(index) === security.issue,
        );
    assert.ok(orders.every(symbolOf));
    const isMarket = ({ tradeTypeId }: TradeOrderInput): boolean => tradeTypeId.startsWith('TM');
    assert.ok(orders.filter(isMarket).every(({ requestedPrice }) => requestedPrice === 0));
    const limits = orders.filter((order) => !isMarket(order));
    const prices = limits.map(({ requestedPrice }) => requestedPrice);
    const [least, greatest] = [Math.min(...prices), Math.max(...prices)];
    // A thousand limit orders hardly miss all of the ten lowest, or of the ten highest, prices.
    assert.ok(least >= 2_000 && least < 2_010, `${least}`);
    assert.ok(greatest > 2_990 && greatest <= 3_000, `${greatest}`);
    const quantities = new Set(orders.map(({ quantity }) => quantity));
    assert.deepEqual(
      [...quantities].toSorted((a, b) => a - b),
      [100, 200, 400, 800],
    );
  });

  test('has a new id each time', () => {
    const ids = orders.map(({ tradeId }) => tradeId);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(Math.min(...ids) > roster.trades.lastId);
  });
});

describe('Trade-Lookup and Trade-Update', () => {
  const lookups = inputsOf('tradeLookup');
  const updates = inputsOf('tradeUpdate');

  test('have the shares of their frames', () => {
    for (const [frame, share] of [
      [1, 0.3],
      [2, 0.3],
      [3, 0.3],
      [4, 0.1],
    ] as const) {
      assertShare(lookups, (one) => one.frame === frame, share);
    }
    for (const [frame, share] of [
      [1, 0.33],
      [2, 0.33],
      [3, 0.34],
    ] as const) {
      assertShare(updates, (one) => one.frame === frame, share);
    }
    assert.ok(updates.every(({ updatesMax }) => updatesMax === 20));
  });

  test('name 20 different trades that exist, and prefer some', () => {
    const lists = lookups.flatMap((one) => (one.frame === 1 ? [one.tradeIds] : []));
    const { firstId, lastId, isAborted } = roster.trades;
    for (const ids of lists) {
      assert.equal(new Set(ids).size, 20);
      assert.ok(ids.every((id) => id >= firstId && id <= lastId && !isAborted(id)));
    }
    const distinct = new Set(lists.flat()).size;
    assert.ok(distinct < 0.95 * lists.flat().length, `${distinct} of ${lists.flat().length}`);
  });

  test('ask for moments of trading, far enough before the end', () => {
    const { startMs, endMs } = roster.trades;
    const day = population.scale.initialTradeDays * 8 * 3_600_000;
    for (const one of lookups) {
      if (one.frame === 1) continue;
      assert.ok(one.first >= startMs);
      const backOffMs = { 2: 3_600_000, 3: 375_000, 4: 937_500 }[one.frame];
      assert.ok(one.first <= startMs + day - backOffMs, `frame ${one.frame}`);
      if (one.frame !== 4) assert.equal(one.last, endMs);
    }
  });
});

describe('transactions that only read', () => {
  test('Customer-Position: half by tax id, half with history, of an account that exists', () => {
    const positions = inputsOf('customerPosition');
    assertShare(positions, ({ customer }) => 'taxId' in customer, 0.5);
    assertShare(positions, ({ historyOf }) => historyOf !== null, 0.5);
    const indexes = Array.from({ length: roster.customers }, (_, i) => i);
    const byId = new Map(indexes.map((i) => [roster.customerId(i), i]));
    const byTaxId = new Map(indexes.map((i) => [roster.customer(i).c_tax_id, i]));
    for (const { customer, historyOf } of positions) {
      const index = 'id' in customer ? byId.get(customer.id) : byTaxId.get(customer.taxId);
      assert.ok(index !== undefined);
      assert.ok((historyOf ?? 0) < roster.accountIds(index).length);
    }
  });

  test('Market-Watch: lists 60, 35 and 5 %; Fridays 60 %, Mondays 20 %', () => {
    const watches = inputsOf('marketWatch');
    for (const [kind, share] of [
      ['watch list', 0.6],
      ['account', 0.35],
      ['industry', 0.05],
    ] as const) {
      assertShare(watches, ({ list }) => list.kind === kind, share);
    }
    const weekday = ({ day }: { readonly day: number }): number => new Date(day).getUTCDay();
    assertShare(watches, (watch) => weekday(watch) === 5, 0.6);
    assertShare(watches, (watch) => weekday(watch) === 1, 0.2);
    assert.ok(watches.every(({ day }) => roster.marketDays.includes(day)));
  });

  test('Security-Detail: 5 to 20 existing days; bodies of news in 1 %', () => {
    const details = inputsOf('securityDetail');
    assertShare(details, ({ withNewsBodies }) => withNewsBodies, 0.01);
    const counts = details.map(({ dayCount }) => dayCount);
    assert.deepEqual([Math.min(...counts), Math.max(...counts)], [5, 20]);
    for (const { firstDay, dayCount } of details) {
      const at = roster.marketDays.indexOf(firstDay);
      assert.ok(at >= 0 && at + dayCount <= roster.marketDays.length);
    }
  });

  test('Broker-Volume: all brokers, if there are fewer than 20, each once', () => {
    for (const { brokerNames, sectorName } of inputsOf('brokerVolume')) {
      assert.equal(new Set(brokerNames).size, 10);
      assert.equal(brokerNames.length, 10);
      assert.ok(roster.sectorNames.includes(sectorName));
    }
  });

  test('Broker-Volume: otherwise 20 to 40 brokers, each once', () => {
    const many = createPopulation({ ...SCALES.standard, customers: 5_000 }, 1);
    const all = take(open(1, { population: many }), 5 * DECK_SIZE);
    const lists = all.flatMap((one) =>
      one.type === 'brokerVolume' ? [one.input.brokerNames] : [],
    );
    for (const names of lists) assert.equal(new Set(names).size, names.length);
    const counts = lists.map((names) => names.length);
    assert.deepEqual([Math.min(...counts), Math.max(...counts)], [20, 40]);
  });

  test('customers are those of the skew: tiers have 10, 60 and 30 % of the accounts asked for', () => {
    const tierOfAccount = new Map<number, number>();
    for (let i = 0; i < roster.customers; i++) {
      for (const id of roster.accountIds(i)) tierOfAccount.set(id, roster.tier(i));
    }
    const tiers = inputsOf('tradeStatus').map(({ accountId }) => tierOfAccount.get(accountId));
    for (const [tier, share] of [
      [1, 0.1],
      [2, 0.6],
      [3, 0.3],
    ] as const) {
      assertShare(tiers, (one) => one === tier, share);
    }
  });
});

test('Data-Maintenance takes the twelve tables in turns', () => {
  const inputs = open();
  const tables = Array.from({ length: 24 }, () => inputs.nextMaintenance(NOW).table);
  assert.equal(new Set(tables.slice(0, 12)).size, 12);
  assert.deepEqual(tables.slice(12), tables.slice(0, 12));
});
