/** The bank of the tests with processes: what the child writes and the parent checks. */
import type { CellAddress } from './index.ts';

export const ACCOUNTS = 24;
export const BALANCE = 1_000;
/** Transfers that a child has in flight at a time. */
export const IN_FLIGHT = 8;

/** What a child reports to its parent about each acknowledged commit. */
export interface Acknowledged {
  readonly line: string;
  readonly startTimestamp: number;
  readonly commitTimestamp: number;
}

export const LEDGER = { table: 'ledger', column: 'line' } as const;

export function account(number: number): CellAddress {
  return { table: 'accounts', row: `account ${number}`, column: 'balance' };
}

export function amount(value: Uint8Array | undefined): number {
  return Number(Buffer.from(value ?? []).toString());
}
