/**
 * Data-Maintenance, once a minute while measuring, and Trade-Cleanup, once before a run.
 *
 * Data-Maintenance makes a small edit that can be repeated without end:
 *
 *     account_permission  the account's row with the largest (acl, tax id): acl '1111' ↔ '0011'
 *                         (anything else → '1111')
 *     address             of the customer: line 2 'Apt. 10C' ↔ 'Apt. 22'
 *                         (anything else → 'Apt. 10C')
 *     company             rating 'ABA' ↔ 'AAA' (anything else → 'ABA')
 *     customer            email 2: after the '@' 'mindspring.example' ↔ 'earthlink.example'
 *                         (anything else → the first)
 *     customer_taxrate    the smallest of the customer's tax ids with the letters 'CN' or 'US': its
 *                         digit 1→2→3→4, from 4 on → 1 (delete + insert)
 *     daily_market        of the symbol and day: volume + `volume`
 *     exchange            all four: description up to ' LAST UPDATED ', then ' LAST UPDATED ' and
 *                         `now` as digits
 *     financial           all quarters of the company: the start is a day later if it is the first
 *                         of its month (UTC), else a day earlier
 *     news_item           the items of the company: a day later
 *     security            exchange date a day later
 *     taxrate             name: the first ' Tax ' ↔ ' tax '
 *     watch_item          in the customer's first list, the symbol in the middle (index ⌊n/2⌋ in
 *                         order) is replaced by the next symbol of SECURITY that is not in the
 *                         list; after the last symbol comes the first
 *
 * Trade-Cleanup, for every TRADE_REQUEST: history receives SBMT and then CNCL, TRADE becomes CNCL,
 * the request is deleted. Then every TRADE still SBMT with an id ≥ `firstTradeId` becomes CNCL,
 * with history. All at `now`. Existing rows of history are left unchanged.
 */
export type DataMaintenanceInput =
  | { readonly table: 'account_permission'; readonly accountId: number }
  | {
      readonly table: 'address' | 'customer' | 'customer_taxrate' | 'watch_item';
      readonly customerId: number;
    }
  | { readonly table: 'company' | 'financial' | 'news_item'; readonly companyId: number }
  | {
      readonly table: 'daily_market';
      readonly symbol: string;
      readonly day: number;
      readonly volume: number;
    }
  | { readonly table: 'exchange'; readonly now: number }
  | { readonly table: 'security'; readonly symbol: string }
  | { readonly table: 'taxrate'; readonly taxRateId: string };

export interface DataMaintenanceResult {
  /** Rows that were changed. */
  readonly rows: number;
}

export interface TradeCleanupInput {
  readonly firstTradeId: number;
  readonly now: number;
}

export interface TradeCleanupResult {
  readonly requests: number;
  readonly submitted: number;
}
