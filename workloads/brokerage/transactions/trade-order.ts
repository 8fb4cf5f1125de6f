/**
 * Trade-Order: a customer, or another person with permission, buys or sells a security.
 *
 * 1. account, customer, broker
 * 2. only if the executor is not the owner (a name or the tax id differs): the permission; if there
 *    is none: roll back
 * 3. what the trade would cost, tax and earn, estimated from the position (below)
 * 4. insert TRADE and TRADE_HISTORY; for a limit order, TRADE_REQUEST too
 * 5. roll back, if the input says so; otherwise
 * 6. commit. Only then may the order be sent to the market.
 *
 * Frame 3. The symbol is given, or found by the company's name and the issue. A market order takes
 * LAST_TRADE's price as its requested price. The estimate walks the lots of the position that the
 * trade would close, by date, newest first if `isLifo`, ties by lot id in the same direction: a buy
 * closes lots below zero, a sell lots above. For each, with `closed` shares of it: a sell adds
 * closed · lot price to `buyValue` and closed · requested price to `sellValue`; a buy the other way
 * round. Tax, if `sellValue > buyValue` and the account's tax status is 1 or 2: (sellValue −
 * buyValue) · sum of the customer's rates. On margin, `accountAssets` is the balance and all
 * positions of the account at LAST_TRADE's prices; otherwise 0. The TRADE's commission is rate ·
 * quantity · requested price, its tax 0 until it is completed, its executor `${first} ${last}`,
 * T_IS_CASH = not on margin, T_BID_PRICE the requested price, all times `now`.
 */
import type { TableRow } from '../model/tables.ts';
import { changePosition, commissionOf, taxOf } from '../model/trading-rules.ts';
import { underSector } from '../percolator/layout.ts';
import type { RowReader, RowWriter } from '../percolator/rows.ts';
import { withLines } from '../percolator/trade-record.ts';
import { commissionRateOf, openLots, requestsOf, taxRatesOf } from './lookups.ts';

export type TradeTypeId = 'TMB' | 'TMS' | 'TSL' | 'TLS' | 'TLB';

export interface TradeOrderInput {
  readonly tradeId: number;
  readonly now: number;
  readonly accountId: number;
  readonly executor: {
    readonly firstName: string;
    readonly lastName: string;
    readonly taxId: string;
  };
  readonly security:
    | { readonly symbol: string }
    | { readonly companyName: string; readonly issue: string };
  readonly tradeTypeId: TradeTypeId;
  readonly quantity: number;
  /** The price of a limit order; 0 for a market order. */
  readonly requestedPrice: number;
  readonly isLifo: boolean;
  readonly isMargin: boolean;
  readonly rollBack: boolean;
}

export interface TradeOrderResult {
  /** 'denied': no permission, after frame 2. 'rolled back': on request, after frame 4. */
  readonly outcome: 'committed' | 'rolled back' | 'denied';
  readonly frame1: {
    readonly accountName: string;
    readonly brokerId: number;
    readonly brokerName: string;
    readonly customerId: number;
    readonly customerFirstName: string;
    readonly customerLastName: string;
    readonly customerTaxId: string;
    readonly customerTier: number;
    readonly taxStatus: number;
  };
  /** Null if the owner trades, or the executor has no permission. */
  readonly frame2: { readonly acl: string } | null;
  /** Null if denied. */
  readonly frame3: {
    readonly companyName: string;
    readonly securityName: string;
    readonly symbol: string;
    readonly requestedPrice: number;
    readonly marketPrice: number;
    readonly isMarket: boolean;
    readonly isSell: boolean;
    /** SBMT for a market order, PNDG for a limit order. */
    readonly statusId: string;
    readonly buyValue: number;
    readonly sellValue: number;
    readonly taxAmount: number;
    readonly commissionRate: number;
    readonly commission: number;
    readonly chargeAmount: number;
    readonly accountAssets: number;
  } | null;
}

type Frame3 = NonNullable<TradeOrderResult['frame3']>;

interface Parties {
  readonly account: TableRow<'customer_account'>;
  readonly customer: TableRow<'customer'>;
}

export async function tradeOrder(
  rows: RowWriter,
  input: TradeOrderInput,
): Promise<TradeOrderResult> {
  const { parties, frame1 } = await readParties(rows, input);
  const frame2 = await checkPermission(rows, input, parties);
  if (frame2 === 'denied') return { outcome: 'denied', frame1, frame2: null, frame3: null };
  const frame3 = await estimate(rows, input, parties);
  insertOrder(rows, { input, parties, frame3 });
  if (!frame3.isMarket) await insertRequest(rows, { input, parties, frame3 });
  return { outcome: input.rollBack ? 'rolled back' : 'committed', frame1, frame2, frame3 };
}

async function readParties(
  rows: RowReader,
  { accountId }: TradeOrderInput,
): Promise<{ parties: Parties; frame1: TradeOrderResult['frame1'] }> {
  const account = await rows.get('customer_account', accountId);
  const [customer, broker] = await rows.getAll([
    ['customer', account.ca_c_id],
    ['broker', account.ca_b_id],
  ]);
  const frame1 = {
    accountName: account.ca_name,
    brokerId: broker.b_id,
    brokerName: broker.b_name,
    customerId: customer.c_id,
    customerFirstName: customer.c_f_name,
    customerLastName: customer.c_l_name,
    customerTaxId: customer.c_tax_id,
    customerTier: customer.c_tier,
    taxStatus: account.ca_tax_st,
  };
  return { parties: { account, customer }, frame1 };
}

async function checkPermission(
  rows: RowReader,
  { accountId, executor }: TradeOrderInput,
  { customer }: Parties,
): Promise<TradeOrderResult['frame2'] | 'denied'> {
  const { firstName, lastName, taxId } = executor;
  const isOwner =
    firstName === customer.c_f_name &&
    lastName === customer.c_l_name &&
    taxId === customer.c_tax_id;
  if (isOwner) return null;
  const permission = await rows.find('account_permission', accountId, taxId);
  const isTheirs = permission?.ap_f_name === firstName && permission.ap_l_name === lastName;
  return isTheirs ? { acl: permission.ap_acl } : 'denied';
}

async function estimate(
  rows: RowReader,
  input: TradeOrderInput,
  { account, customer }: Parties,
): Promise<Frame3> {
  const { tradeTypeId, quantity } = input;
  const symbol = await findSymbol(rows, input);
  const [security, lastTrade, tradeType, position, charge] = await rows.findAll([
    ['security', symbol],
    ['last_trade', symbol],
    ['trade_type', tradeTypeId],
    ['holding_summary', account.ca_id, symbol],
    ['charge', tradeTypeId, customer.c_tier],
  ]);
  if (!security || !lastTrade || !tradeType || !charge) {
    throw new Error(
      `${symbol} lacks its security, last trade, or the type or charge of ${tradeTypeId}`,
    );
  }
  const marketPrice = lastTrade.lt_price;
  const isSell = tradeType.tt_is_sell;
  const price = tradeType.tt_is_mrkt ? marketPrice : input.requestedPrice;
  const closes = position !== undefined && position.hs_qty > 0 === isSell;
  const [company, lots, rate, accountAssets] = await Promise.all([
    rows.get('company', security.s_co_id),
    closes ? openLots(rows, account.ca_id, symbol) : [],
    commissionRateOf(rows, {
      tier: customer.c_tier,
      tradeTypeId,
      exchangeId: security.s_ex_id,
      quantity,
    }),
    input.isMargin ? assetsOf(rows, account) : 0,
  ]);
  const trade = { isSell, isLifo: input.isLifo, quantity, price };
  const { buyValue, sellValue } = changePosition(lots, trade);
  const isTaxed = account.ca_tax_st !== 0 && sellValue > buyValue;
  return {
    companyName: company.co_name,
    securityName: security.s_name,
    symbol,
    requestedPrice: price,
    marketPrice,
    isMarket: tradeType.tt_is_mrkt,
    isSell,
    statusId: tradeType.tt_is_mrkt ? 'SBMT' : 'PNDG',
    buyValue,
    sellValue,
    taxAmount: isTaxed ? taxOf(sellValue - buyValue, await taxRatesOf(rows, customer.c_id)) : 0,
    commissionRate: rate,
    commission: commissionOf(rate, quantity, price),
    chargeAmount: charge.ch_chrg,
    accountAssets,
  };
}

async function findSymbol(rows: RowReader, { security }: TradeOrderInput): Promise<string> {
  if ('symbol' in security) return security.symbol;
  const [company] = await rows.scanPath('company', 'by_name', [security.companyName]);
  const issues = await rows.scanPath('security', 'by_company', [
    company?.co_id ?? 0,
    security.issue,
  ]);
  const [issue] = issues;
  if (issue === undefined) throw new Error(`${security.companyName} has no ${security.issue}`);
  return issue.s_symb;
}

/** The means of the account to pay: its balance, and its positions at current prices. */
async function assetsOf(rows: RowReader, account: TableRow<'customer_account'>): Promise<number> {
  const positions = await rows.scan('holding_summary', [account.ca_id]);
  const lastTrades = await rows.byKey(
    'last_trade',
    positions.map(({ hs_s_symb }) => hs_s_symb),
  );
  return positions.reduce(
    (sum, { hs_s_symb, hs_qty }) => sum + hs_qty * (lastTrades.get(hs_s_symb)?.lt_price ?? 0),
    account.ca_bal,
  );
}

interface Order {
  readonly input: TradeOrderInput;
  readonly parties: Parties;
  readonly frame3: Frame3;
}

function insertOrder(rows: RowWriter, { input, parties: { account }, frame3 }: Order): void {
  const { tradeId, now, executor, quantity } = input;
  const trade = {
    t_id: tradeId,
    t_dts: now,
    t_st_id: frame3.statusId,
    t_tt_id: input.tradeTypeId,
    t_is_cash: !input.isMargin,
    t_s_symb: frame3.symbol,
    t_qty: quantity,
    t_bid_price: frame3.requestedPrice,
    t_ca_id: account.ca_id,
    t_exec_name: `${executor.firstName} ${executor.lastName}`,
    t_trade_price: null,
    t_chrg: frame3.chargeAmount,
    t_comm: frame3.commission,
    t_tax: 0,
    t_lifo: input.isLifo,
  };
  const record = { trade, settlement: undefined, cash: undefined, history: [], lots: [] };
  rows.insertTrade(withLines(record, [frame3.statusId], now));
}

/** A limit order waits for its price. */
async function insertRequest(
  rows: RowWriter,
  { input, parties: { account }, frame3 }: Order,
): Promise<void> {
  const request = {
    tr_t_id: input.tradeId,
    tr_tt_id: input.tradeTypeId,
    tr_s_symb: frame3.symbol,
    tr_qty: input.quantity,
    tr_bid_price: frame3.requestedPrice,
    tr_b_id: account.ca_b_id,
  };
  const [sector = ''] = await rows.sectorsOf([frame3.symbol]);
  const waiting = await requestsOf(rows, sector, frame3.symbol);
  const after = [...waiting, underSector(request, sector)];
  rows.changeGroup(
    'trade_request',
    waiting,
    after.toSorted((a, b) => a.tr_t_id - b.tr_t_id),
  );
}
