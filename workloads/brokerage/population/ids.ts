/**
 * From a number to its id, and to what chance has decided for it.
 *
 * Ids do not fit in 32 bits, so that no system can keep them in
 * an integer of that size.
 */

export const ID_SHIFT = 4_300_000_000;
export const FIRST_TRADE_ID = 200_000_000_000_001;
const ACCOUNTS_MAX = 10;

export function customerId(index: number): number {
  return ID_SHIFT + index + 1;
}

export function companyId(index: number): number {
  return ID_SHIFT + index + 1;
}

export function brokerId(index: number): number {
  return ID_SHIFT + index + 1;
}

/** The n-th account of a customer, from 0; there is room for ten. */
export function accountId(customerIndex: number, n: number): number {
  return (ID_SHIFT + customerIndex) * ACCOUNTS_MAX + 1 + n;
}

/** Account ids as small numbers, with gaps. */
export function accountSerial(id: number): number {
  return id - accountId(0, 0);
}

export function ownerOf(id: number): number {
  return Math.floor(accountSerial(id) / ACCOUNTS_MAX);
}

/*
 * Randomness by address: a draw for the account with some id, or the trade with some number,
 * without the draws for those before it. Each kind of draw has its own lane, so that no two depend
 * on each other.
 */

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
