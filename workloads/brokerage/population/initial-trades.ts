/**
 * The trades before the run: drawn as a driver draws them, and completed in the order of time, so
 * that holdings are the result of these trades.
 *
 *     submitted one after the other, evenly over the days of trading;
 *     one of 101 is rolled back: its id stays free
 *        │ market order: a second or so        │ limit order: when the wave of prices gets there
 *        ▼                                     ▼
 *     a priority queue by time of completion ──▶ lots, tax, commission, as Trade-Result has them
 *
 * All these trades are completed when the run begins: a limit order reaches its price within one
 * price period, and the exchange takes a few seconds more.
 */
import { createRandom, type Random } from '#engine';
import { Heap } from '../../harness/heap.ts';
import { drawCustomer, tierOf } from '../model/customer-skew.ts';
import type { InitialTrades, Market, Roster } from '../model/population.ts';
import { countsOf, type Scale } from '../model/scale.ts';
import { commissionOf, taxOf } from '../model/trading-rules.ts';
import { TRADING_DAY_MS, tradingTime } from './calendar.ts';
import { accountTaxStatus } from './customer-rows.ts';
import { charges, commissionRates, taxRateIdsOf, taxRates, TRADE_TYPES } from './fixed-rows.ts';
import { FIRST_TRADE_ID, ownerOf } from './ids.ts';
import { LotLedger, TradeLedger } from './ledgers.ts';
import { exchangeOf } from './market-rows.ts';

const ABORTED_EVERY = 101;
/** The exchange takes a second on average, and never more than five. */
const EXCHANGE_MS_MEAN = 1_000;
const EXCHANGE_MS_MAX = 5_000;
/**
 * On 40 % of all accounts other persons may trade, and they place this share of such an account's
 * orders: a tenth of all orders.
 */
const OTHER_EXECUTOR_SHARE = 0.25;

/** The range of ids, and of times. */
export function initialTrades(scale: Scale): InitialTrades {
  const { tradeIds } = countsOf(scale);
  // A part of a day may end between two milliseconds, and times are whole milliseconds.
  const lengthMs = Math.ceil(scale.initialTradeDays * TRADING_DAY_MS);
  return {
    firstId: FIRST_TRADE_ID,
    lastId: FIRST_TRADE_ID + tradeIds - 1,
    isAborted,
    startMs: tradingTime(0),
    endMs: tradingTime(lengthMs + scale.pricePeriodMs + 2 * EXCHANGE_MS_MAX),
  };
}

function isAborted(tradeId: number): boolean {
  return (tradeId - FIRST_TRADE_ID) % ABORTED_EVERY === ABORTED_EVERY - 1;
}

interface SubmittedTrade {
  readonly dueMs: number;
  readonly tradeId: number;
  readonly submittedMs: number;
  readonly accountId: number;
  readonly security: number;
  readonly type: number;
  readonly quantity: number;
  readonly bidPrice: number;
  readonly executor: number;
  readonly isLifo: boolean;
  readonly isCash: boolean;
  readonly triggeredMs: number;
}

/** Completes all initial trades. */
export function completeInitialTrades({
  scale,
  seed,
  roster,
  market,
}: {
  scale: Scale;
  seed: number;
  roster: Roster;
  market: Market;
}): { readonly trades: TradeLedger; readonly lots: LotLedger } {
  const { tradeIds } = countsOf(scale);
  const random = createRandom(seed).fork('initial trades');
  const trades = new TradeLedger(tradeIds);
  const lots = new LotLedger();
  const completion = completer({ seed, market, trades, lots });
  const queue = new Heap<SubmittedTrade>(isBefore);
  const gapMs = (scale.initialTradeDays * TRADING_DAY_MS) / tradeIds;
  for (let n = 0; n < tradeIds; n++) {
    const tradeId = FIRST_TRADE_ID + n;
    const elapsedMs = Math.floor(n * gapMs);
    for (const due of dueUntil(queue, elapsedMs)) completion(due);
    if (!isAborted(tradeId)) queue.push(submit({ random, roster, market }, tradeId, elapsedMs));
  }
  for (const due of dueUntil(queue, Infinity)) completion(due);
  return { trades, lots };
}

function submit(
  { random, roster, market }: { random: Random; roster: Roster; market: Market },
  tradeId: number,
  elapsedMs: number,
): SubmittedTrade {
  const accountId = random.pick(roster.accountIds(drawCustomer(random, roster.customers)));
  const security = random.pick(roster.basket(accountId));
  const type = drawType(random);
  const { tt_is_mrkt, tt_is_sell, tt_id } = TRADE_TYPES[type] as (typeof TRADE_TYPES)[number];
  const submittedMs = tradingTime(elapsedMs);
  const limit = 2_000 + random.integer(0, 1_000);
  const direction = tt_id === 'TLS' ? 'at least' : 'at most';
  // A wait in the calendar is taken for one of trading time: the night, 16 hours, is a multiple of
  // the price period, unless --price-period is an unusual one.
  const waitMs = tt_is_mrkt
    ? 0
    : market.reaches(security, { direction, price: limit }, submittedMs) - submittedMs;
  const exchangeMs = Math.min(EXCHANGE_MS_MAX, -Math.log(1 - random.fraction()) * EXCHANGE_MS_MEAN);
  const permissions = roster.permissions(accountId).length;
  const isOther = permissions > 1 && random.fraction() < OTHER_EXECUTOR_SHARE;
  return {
    tradeId,
    submittedMs,
    accountId,
    security,
    type,
    quantity: random.pick([100, 200, 400, 800]),
    bidPrice: tt_is_mrkt ? market.price(security, submittedMs) : limit,
    executor: isOther ? random.integer(1, permissions - 1) : 0,
    isLifo: random.fraction() < 0.35,
    isCash: tt_is_sell || random.fraction() >= 0.16,
    triggeredMs: tradingTime(elapsedMs + waitMs),
    dueMs: elapsedMs + waitMs + Math.ceil(exchangeMs),
  };
}

/** 30 % market buy, 30 % market sell, 20 % limit buy, 10 % limit sell, 10 % stop-loss. */
function drawType(random: Random): number {
  const draw = random.integer(1, 100);
  const id =
    draw <= 30 ? 'TMB' : draw <= 60 ? 'TMS' : draw <= 80 ? 'TLB' : draw <= 90 ? 'TLS' : 'TSL';
  return TRADE_TYPES.findIndex(({ tt_id }) => tt_id === id);
}

/** Completes a trade as Trade-Result would. */
function completer({
  seed,
  market,
  trades,
  lots,
}: {
  seed: number;
  market: Market;
  trades: TradeLedger;
  lots: LotLedger;
}): (due: SubmittedTrade) => void {
  const chargeOf = new Map(
    charges().map((row) => [`${row.ch_tt_id}/${row.ch_c_tier}`, row.ch_chrg]),
  );
  const rateOf = new Map(taxRates(seed).map((row) => [row.tx_id, row.tx_rate]));
  const bands = Map.groupBy(
    commissionRates(),
    (row) => `${row.cr_tt_id}/${row.cr_c_tier}/${row.cr_ex_id}`,
  );
  return (due) => {
    const { accountId, security, quantity, isLifo } = due;
    const { tt_id, tt_is_sell: isSell } = TRADE_TYPES[due.type] as (typeof TRADE_TYPES)[number];
    const completedMs = tradingTime(due.dueMs);
    const price = tradePrice(tt_id, due.bidPrice, market.price(security, completedMs));
    const trade = { isSell, isLifo, quantity, price, tradeId: due.tradeId, time: completedMs };
    const { buyValue, sellValue } = lots.complete({ accountId, security }, trade);
    const owner = ownerOf(accountId);
    const tier = tierOf(owner);
    const taxed = accountTaxStatus(accountId, seed) !== 0 && sellValue > buyValue;
    const rates = taxRateIdsOf(owner, seed).reduce((sum, id) => sum + (rateOf.get(id) ?? 0), 0);
    const rate = bands
      .get(`${tt_id}/${tier}/${exchangeOf(security, seed)}`)
      ?.find((row) => row.cr_from_qty <= quantity && quantity <= row.cr_to_qty);
    trades.set(due.tradeId, {
      ...due,
      completedMs,
      tradePrice: price,
      charge: chargeOf.get(`${tt_id}/${tier}`) ?? 0,
      commission: commissionOf(rate?.cr_rate ?? 0, quantity, price),
      tax: taxed ? taxOf(sellValue - buyValue, rates) : 0,
    });
  };
}

/**
 * A limit order trades at the better of its own price and the present one; market orders and
 * stop-losses trade at the present one.
 */
function tradePrice(type: string, bidPrice: number, present: number): number {
  if (type === 'TLB') return Math.min(bidPrice, present);
  if (type === 'TLS') return Math.max(bidPrice, present);
  return present;
}

/** The trades that are due at `timeMs` or before, earliest first; they leave the queue. */
function* dueUntil(queue: Heap<SubmittedTrade>, timeMs: number): Generator<SubmittedTrade> {
  for (;;) {
    const { first } = queue;
    if (first === undefined || first.dueMs > timeMs) return;
    queue.pop();
    yield first;
  }
}

/** Trades that are due at the same time come in the order of their ids. */
function isBefore(a: SubmittedTrade, b: SubmittedTrade): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.tradeId < b.tradeId);
}
