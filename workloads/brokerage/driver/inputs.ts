/**
 * The inputs of all customers' transactions, determined by the seed: which transaction comes next,
 * and its parameters.
 *
 * The deck and each group of transactions (orders; look-ups and updates; the other readings;
 * maintenance) draw from streams of their own, so that a change in one leaves the others unchanged.
 */
import type { Random } from '#engine';
import type { Population } from '../model/population.ts';
import type { Scale } from '../model/scale.ts';
import { TRADING_DAY_MS, tradingTime } from '../population/calendar.ts';
import type { BrokerVolumeInput } from '../transactions/broker-volume.ts';
import type { CustomerPositionInput } from '../transactions/customer-position.ts';
import type { DataMaintenanceInput } from '../transactions/data-maintenance.ts';
import type { Inputs } from '../transactions/index.ts';
import type { MarketWatchInput } from '../transactions/market-watch.ts';
import type { SecurityDetailInput } from '../transactions/security-detail.ts';
import type { TradeLookupInput, TradeSelection } from '../transactions/trade-lookup.ts';
import type { TradeOrderInput, TradeTypeId } from '../transactions/trade-order.ts';
import type { TradeStatusInput } from '../transactions/trade-status.ts';
import type { TradeUpdateInput } from '../transactions/trade-update.ts';
import { type Card, Deck } from './deck.ts';
import {
  type CustomerRange,
  drawNonUniform,
  IDS,
  isPercent,
  MarketDays,
  Participants,
  pickByShare,
  pickDistinct,
  TIMES,
} from './draws.ts';

/** A transaction to execute. */
export type TransactionRequest = {
  readonly [T in keyof Inputs]: { readonly type: T; readonly input: Inputs[T] };
}[keyof Inputs];

export interface InputsOptions {
  readonly random: Random;
  readonly population: Pick<Population, 'roster' | 'scale'>;
  /** The customers of this client; default all. */
  readonly range?: CustomerRange | undefined;
  /** Returns the id of the next trade; ids of several clients must differ. */
  readonly nextTradeId: () => number;
}

export class CustomerInputs {
  readonly #deck: Deck;
  readonly #orders: TradeOrders;
  readonly #selections: TradeSelections;
  readonly #readings: Readings;
  readonly #maintenance: Maintenance;
  readonly #nextTradeId: () => number;

  constructor({ random, population, range, nextTradeId }: InputsOptions) {
    const { roster, scale } = population;
    const all = { first: 0, end: roster.customers };
    const streams = (name: string): readonly [Random, Participants] => {
      const stream = random.fork(name);
      return [stream, new Participants(stream.fork('participants'), roster, range ?? all)];
    };
    this.#deck = new Deck(random.fork('deck'));
    this.#orders = new TradeOrders(...streams('orders'));
    this.#selections = new TradeSelections(...streams('selections'), scale);
    this.#readings = new Readings(...streams('readings'));
    this.#maintenance = new Maintenance(...streams('maintenance'));
    this.#nextTradeId = nextTradeId;
  }

  /** Returns the customers' next transaction; `now` is the brokerage's time, in milliseconds. */
  next(now: number): TransactionRequest {
    const type: Card = this.#deck.deal();
    switch (type) {
      case 'tradeOrder':
        return { type, input: this.#orders.next(this.#nextTradeId(), now) };
      case 'tradeLookup':
        return { type, input: this.#selections.lookup() };
      case 'tradeUpdate':
        return { type, input: this.#selections.update() };
      case 'tradeStatus':
        return { type, input: this.#readings.tradeStatus() };
      case 'brokerVolume':
        return { type, input: this.#readings.brokerVolume() };
      case 'customerPosition':
        return { type, input: this.#readings.customerPosition() };
      case 'marketWatch':
        return { type, input: this.#readings.marketWatch() };
      case 'securityDetail':
        return { type, input: this.#readings.securityDetail() };
      default:
        return type;
    }
  }

  nextMaintenance(now: number): Inputs['dataMaintenance'] {
    return this.#maintenance.next(now);
  }
}

/*
 * Inputs of Trade-Order.
 *
 *     type        market buy 30 %, market sell 30 %, limit buy 20 %, limit sell 10 %,
 *                 stop-loss 10 %
 *     quantity    100, 200, 400 or 800 shares; limit prices from $20 to $30
 *     margin      16 % of buys; last in, first out: 35 %
 *     security    by symbol 60 %, else by company and issue
 *     executor    10 % another person with permission
 *     roll back   one of 101
 */

const TYPES: Readonly<Record<TradeTypeId, number>> = {
  TMB: 30,
  TMS: 30,
  TLB: 20,
  TLS: 10,
  TSL: 10,
};
const QUANTITIES = [100, 200, 400, 800];
const LIMIT_MIN = 20_00;
const LIMIT_MAX = 30_00;
const MARGIN_PERCENT_OF_BUYS = 16;
const LIFO_PERCENT = 35;
const BY_SYMBOL_PERCENT = 60;
/**
 * 40 % of all accounts have a permission for another person; a quarter of their orders is 10 % of
 * all.
 */
const OTHER_EXECUTOR_PERCENT = 25;
/**
 * As in the deck, one of this many orders is rolled back, at a random place, so that short runs
 * have the exact share, too.
 */
const ORDERS_PER_ROLL_BACK = 101;

class TradeOrders {
  readonly #random: Random;
  readonly #participants: Participants;
  #made = 0;
  /** Which of the current 101 is rolled back. */
  #rollBackAt = 0;

  constructor(random: Random, participants: Participants) {
    this.#random = random;
    this.#participants = participants;
  }

  next(tradeId: number, now: number): TradeOrderInput {
    const random = this.#random;
    const accountId = this.#participants.account();
    const tradeTypeId = pickByShare(random, TYPES);
    const isMarket = tradeTypeId === 'TMB' || tradeTypeId === 'TMS';
    const isBuy = tradeTypeId === 'TMB' || tradeTypeId === 'TLB';
    return {
      tradeId,
      now,
      accountId,
      executor: this.#executor(accountId),
      security: this.#security(accountId),
      tradeTypeId,
      quantity: random.pick(QUANTITIES),
      requestedPrice: isMarket ? 0 : random.integer(LIMIT_MIN, LIMIT_MAX),
      isLifo: isPercent(random, LIFO_PERCENT),
      isMargin: isBuy && isPercent(random, MARGIN_PERCENT_OF_BUYS),
      rollBack: this.#isRolledBack(),
    };
  }

  #executor(accountId: number): TradeOrderInput['executor'] {
    const [owner, ...others] = this.#participants.roster.permissions(accountId);
    const isOther = others.length > 0 && isPercent(this.#random, OTHER_EXECUTOR_PERCENT);
    const executor = isOther ? this.#random.pick(others) : owner;
    return {
      firstName: executor?.ap_f_name ?? '',
      lastName: executor?.ap_l_name ?? '',
      taxId: executor?.ap_tax_id ?? '',
    };
  }

  #security(accountId: number): TradeOrderInput['security'] {
    const { roster } = this.#participants;
    const security = this.#participants.securityOf(accountId);
    if (isPercent(this.#random, BY_SYMBOL_PERCENT)) return { symbol: roster.symbol(security) };
    const companyName = roster.companyName(roster.companyOf(security));
    return { companyName, issue: roster.issue(security) };
  }

  #isRolledBack(): boolean {
    const place = this.#made++ % ORDERS_PER_ROLL_BACK;
    if (place === 0) this.#rollBackAt = this.#random.integer(0, ORDERS_PER_ROLL_BACK - 1);
    return place === this.#rollBackAt;
  }
}

/*
 * Inputs of Trade-Lookup and Trade-Update. In percent, lookups are by ids (30), of an account (30),
 * of a symbol (30), and of the first trade of an account (10); updates are 33, 33 and 34. Times lie
 * within the initial trades, far enough from their end that a lookup finds something: 32 hours of
 * trading for an account, 200 minutes for a symbol, 500 for the first trade.
 */

const TRADES_MAX = 20;
/** Percentages by frame. */
const LOOKUP_SHARES = { '1': 30, '2': 30, '3': 30, '4': 10 };
const UPDATE_SHARES = { '1': 33, '2': 33, '3': 34 };
const MINUTE_MS = 60_000;
/**
 * The values of the specification. A scale with another value for frame 2 changes all of them in
 * proportion.
 */
const BACK_OFF_MS = { 2: 1_920 * MINUTE_MS, 3: 200 * MINUTE_MS, 4: 500 * MINUTE_MS };

class TradeSelections {
  readonly #random: Random;
  readonly #participants: Participants;
  readonly #scale: Scale;

  constructor(random: Random, participants: Participants, scale: Scale) {
    this.#random = random;
    this.#participants = participants;
    this.#scale = scale;
  }

  lookup(): TradeLookupInput {
    const frame = pickByShare<keyof typeof LOOKUP_SHARES>(this.#random, LOOKUP_SHARES);
    if (frame !== '4') return this.#selection(frame);
    return { frame: 4, accountId: this.#participants.account(), first: this.#moment(4) };
  }

  update(): TradeUpdateInput {
    const selection = this.#selection(
      pickByShare<keyof typeof UPDATE_SHARES>(this.#random, UPDATE_SHARES),
    );
    return { ...selection, updatesMax: TRADES_MAX };
  }

  #selection(frame: '1' | '2' | '3'): TradeSelection {
    if (frame === '1') return { frame: 1, tradeIds: this.#tradeIds() };
    const last = this.#participants.roster.trades.endMs;
    if (frame === '2') {
      const accountId = this.#participants.account();
      return { frame: 2, accountId, first: this.#moment(2), last, tradesMax: TRADES_MAX };
    }
    const symbol = this.#participants.roster.symbol(this.#participants.security());
    return { frame: 3, symbol, first: this.#moment(3), last, tradesMax: TRADES_MAX };
  }

  /** Returns different ids of existing trades. */
  #tradeIds(): readonly number[] {
    const { trades } = this.#participants.roster;
    const range = { min: 1, max: trades.lastId - trades.firstId + 1 };
    const ids = new Set<number>();
    while (ids.size < TRADES_MAX) {
      const id = trades.firstId - 1 + drawNonUniform(this.#random, range, IDS);
      if (!trades.isAborted(id)) ids.add(id);
    }
    return [...ids];
  }

  #moment(frame: 2 | 3 | 4): number {
    const { initialTradeDays, backOffMs } = this.#scale;
    const backOff = BACK_OFF_MS[frame] * (backOffMs / BACK_OFF_MS[2]);
    const max = Math.floor(initialTradeDays * TRADING_DAY_MS - backOff);
    const tradingMs = drawNonUniform(this.#random, { min: 1, max }, TIMES);
    return tradingTime(tradingMs);
  }
}

const BROKERS_MIN = 20;
const BROKERS_MAX = 40;
const BY_TAX_ID_PERCENT = 50;
const HISTORY_PERCENT = 50;
const LIST_SHARES = { 'watch list': 60, account: 35, industry: 5 };
/** Market-Watch looks for companies of an industry in a window of this many ids. */
const COMPANIES_WINDOW = 5_000;
const NEWS_BODIES_PERCENT = 1;
const DAYS_MIN = 5;
const DAYS_MAX = 20;

/** Inputs of the transactions that only read, except Trade-Lookup. */
class Readings {
  readonly #random: Random;
  readonly #participants: Participants;
  readonly #days: MarketDays;

  constructor(random: Random, participants: Participants) {
    this.#random = random;
    this.#participants = participants;
    this.#days = new MarketDays(random, participants.roster.marketDays);
  }

  tradeStatus(): TradeStatusInput {
    return { accountId: this.#participants.account() };
  }

  brokerVolume(): BrokerVolumeInput {
    const { roster } = this.#participants;
    const count = this.#random.integer(BROKERS_MIN, BROKERS_MAX);
    const brokers = pickDistinct(this.#random, count, roster.brokers);
    return {
      brokerNames: brokers.map((broker) => roster.brokerName(broker)),
      sectorName: this.#random.pick(roster.sectorNames),
    };
  }

  customerPosition(): CustomerPositionInput {
    const { roster } = this.#participants;
    const index = this.#participants.customer();
    const accounts = roster.accountIds(index).length;
    const id = roster.customerId(index);
    return {
      customer: isPercent(this.#random, BY_TAX_ID_PERCENT)
        ? { taxId: roster.customer(index).c_tax_id }
        : { id },
      historyOf: isPercent(this.#random, HISTORY_PERCENT)
        ? this.#random.integer(0, accounts - 1)
        : null,
    };
  }

  marketWatch(): MarketWatchInput {
    return { list: this.#list(), day: this.#days.draw() };
  }

  securityDetail(): SecurityDetailInput {
    const { roster } = this.#participants;
    const { marketDays } = roster;
    const dayCount = this.#random.integer(DAYS_MIN, DAYS_MAX);
    const first = this.#random.integer(0, Math.max(0, marketDays.length - dayCount));
    return {
      symbol: roster.symbol(this.#participants.security()),
      firstDay: marketDays[first] ?? 0,
      dayCount,
      withNewsBodies: isPercent(this.#random, NEWS_BODIES_PERCENT),
    };
  }

  #list(): MarketWatchInput['list'] {
    const { roster } = this.#participants;
    const kind = pickByShare(this.#random, LIST_SHARES);
    if (kind === 'watch list') {
      return { kind, customerId: roster.customerId(this.#participants.customer()) };
    }
    if (kind === 'account') return { kind, accountId: this.#participants.account() };
    const first = this.#random.integer(0, Math.max(0, roster.companies - COMPANIES_WINDOW));
    const last = Math.min(roster.companies, first + COMPANIES_WINDOW) - 1;
    return {
      kind,
      industryName: this.#random.pick(roster.industryNames),
      firstCompanyId: roster.companyId(first),
      lastCompanyId: roster.companyId(last),
    };
  }
}

/** In the order of the specification. */
const TABLES = [
  'account_permission',
  'address',
  'company',
  'customer',
  'customer_taxrate',
  'daily_market',
  'exchange',
  'financial',
  'news_item',
  'security',
  'taxrate',
  'watch_item',
] as const satisfies readonly DataMaintenanceInput['table'][];
const VOLUME_MAX = 100;

/** Inputs of Data-Maintenance: one table after the other, with a random row. */
class Maintenance {
  readonly #random: Random;
  readonly #participants: Participants;
  #made = 0;

  constructor(random: Random, participants: Participants) {
    this.#random = random;
    this.#participants = participants;
  }

  next(now: number): DataMaintenanceInput {
    const { roster } = this.#participants;
    const table = TABLES[this.#made++ % TABLES.length] as (typeof TABLES)[number];
    switch (table) {
      case 'account_permission':
        return { table, accountId: this.#participants.account() };
      case 'address':
      case 'customer':
      case 'customer_taxrate':
      case 'watch_item':
        return { table, customerId: roster.customerId(this.#participants.customer()) };
      case 'company':
      case 'financial':
      case 'news_item':
        return { table, companyId: this.#participants.companyId() };
      case 'daily_market':
        return { table, ...this.#dailyMarket() };
      case 'exchange':
        return { table, now };
      case 'security':
        return { table, symbol: roster.symbol(this.#participants.security()) };
      case 'taxrate':
        return { table, taxRateId: this.#random.pick(roster.taxRateIds) };
      default:
        return table;
    }
  }

  #dailyMarket(): { readonly symbol: string; readonly day: number; readonly volume: number } {
    const { roster } = this.#participants;
    return {
      symbol: roster.symbol(this.#participants.security()),
      day: this.#random.pick(roster.marketDays),
      volume: this.#random.integer(1, VOLUME_MAX),
    };
  }
}
