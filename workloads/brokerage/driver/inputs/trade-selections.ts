/**
 * Inputs of Trade-Lookup and Trade-Update. In percent, lookups are by ids (30), of an account (30),
 * of a symbol (30), and of the first trade of an account (10); updates are 33, 33 and 34. Times lie
 * within the initial trades, far enough from their end that a lookup finds something: 32 hours of
 * trading for an account, 200 minutes for a symbol, 500 for the first trade.
 */
import type { Random } from '#engine';
import type {
  Scale,
  TradeLookupInput,
  TradeSelection,
  TradeUpdateInput,
} from '../../model/index.ts';
import { TRADING_DAY_MS, tradingTime } from '../../population/index.ts';
import { pickByShare } from './chance.ts';
import { drawNonUniform, IDS, TIMES } from './non-uniform.ts';
import type { Participants } from './participants.ts';

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

export class TradeSelections {
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
