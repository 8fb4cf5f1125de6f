/**
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
import type { Random } from '#engine';
import type { TradeOrderInput, TradeTypeId } from '../../model/index.ts';
import { isPercent, pickByShare } from './chance.ts';
import type { Participants } from './participants.ts';

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

export class TradeOrders {
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
