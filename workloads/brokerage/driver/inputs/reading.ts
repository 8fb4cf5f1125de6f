/** Inputs of the transactions that only read, except Trade-Lookup. */
import type { Random } from '#engine';
import type {
  BrokerVolumeInput,
  CustomerPositionInput,
  MarketWatchInput,
  SecurityDetailInput,
  TradeStatusInput,
} from '../../model/index.ts';
import { isPercent, pickByShare, pickDistinct } from './chance.ts';
import { MarketDays } from './market-days.ts';
import type { Participants } from './participants.ts';

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

export class Readings {
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
