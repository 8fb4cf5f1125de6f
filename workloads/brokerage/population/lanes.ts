/**
 * Randomness by address: a draw for the account with some id, or the trade with some number,
 * without the draws for those before it. Each kind of draw has its own lane, so that no two depend
 * on each other.
 */
export { fractionAt, integerAt } from '../../harness/chance.ts';

export const LANE = {
  customerName: 1,
  customer: 2,
  basketSize: 3,
  basket: 4,
  permissions: 5,
  accountBroker: 6,
  account: 7,
  exchange: 8,
  security: 9,
  company: 10,
  address: 11,
  dailyMarket: 12,
  financial: 13,
  news: 14,
  watchList: 15,
  watchItem: 16,
  taxRate: 17,
  customerTaxRate: 18,
  shares: 21,
} as const;
