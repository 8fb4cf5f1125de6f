/** Lookups that several transactions share. */
import type { Lot } from '../model/trading-rules.ts';
import { type KeyedRow, underSector } from '../percolator/layout.ts';
import type { RowReader } from '../percolator/rows.ts';

/** The lots of a position, oldest first: the order of their keys. */
export async function openLots(
  rows: RowReader,
  accountId: number,
  symbol: string,
): Promise<readonly Lot[]> {
  const holdings = await rows.scan('holding', [accountId, symbol]);
  return holdings.map(({ h_t_id, h_dts, h_price, h_qty }) => ({
    tradeId: h_t_id,
    time: h_dts,
    price: h_price,
    quantity: h_qty,
  }));
}

/** The rate in hundredths of a percent. */
export async function commissionRateOf(
  rows: RowReader,
  trade: {
    readonly tier: number;
    readonly tradeTypeId: string;
    readonly exchangeId: string;
    readonly quantity: number;
  },
): Promise<number> {
  const { tier, tradeTypeId, exchangeId, quantity } = trade;
  // The bands of quantities are few and in order: the first one that reaches far enough applies.
  const bands = await rows.scan('commission_rate', [tier, tradeTypeId, exchangeId]);
  const band = bands.find(({ cr_to_qty }) => quantity <= cr_to_qty);
  if (band === undefined) throw new Error(`no commission for ${quantity} shares`);
  return band.cr_rate;
}

/** The sum of the customer's rates, in hundred-thousandths. */
export async function taxRatesOf(rows: RowReader, customerId: number): Promise<number> {
  const owed = await rows.scan('customer_taxrate', [customerId]);
  const rates = await rows.byKey(
    'taxrate',
    owed.map(({ cx_tx_id }) => cx_tx_id),
  );
  return [...rates.values()].reduce((sum, { tx_rate }) => sum + tx_rate, 0);
}

/** A request, together with the sector that its key contains. */
export type PlacedRequest = KeyedRow<'trade_request'>;

/** The requests that wait for the price of a security, oldest order first. */
export async function requestsOf(
  rows: RowReader,
  sector: string,
  symbol: string,
): Promise<readonly PlacedRequest[]> {
  const requests = await rows.scan('trade_request', [sector, symbol]);
  return requests.map((request) => underSector(request, sector));
}
