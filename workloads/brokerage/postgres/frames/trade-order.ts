/** Trade-Order: a customer, or another person with permission, buys or sells a security. */
import { assert } from '#engine';
import {
  changePosition,
  commissionOf,
  taxOf,
  type TradeOrderInput,
  type TradeOrderResult,
} from '../../model/index.ts';
import { type Frame, RollBack, type Statement } from './frame.ts';
import { insert } from './insert.ts';
import { readLots } from './lots.ts';
import { readTaxRates } from './tax-rates.ts';

type Frame1 = TradeOrderResult['frame1'];
type Frame3 = NonNullable<TradeOrderResult['frame3']>;

export async function tradeOrder(frame: Frame, input: TradeOrderInput): Promise<TradeOrderResult> {
  const frame1 = await frame.row<Frame1>(ACCOUNT, [input.accountId]);
  const frame2 = isOwner(input, frame1) ? null : await readPermission(frame, input);
  if (frame2 === undefined) {
    return { outcome: 'denied', frame1, frame2: null, frame3: null };
  }
  const frame3 = await estimate(frame, input, frame1);
  insertOrder(frame, input, { ...frame3, brokerId: frame1.brokerId });
  const result = { frame1, frame2, frame3 };
  if (input.rollBack) throw new RollBack({ outcome: 'rolled back', ...result });
  return { outcome: 'committed', ...result };
}

function isOwner({ executor }: TradeOrderInput, owner: Frame1): boolean {
  return (
    executor.firstName === owner.customerFirstName &&
    executor.lastName === owner.customerLastName &&
    executor.taxId === owner.customerTaxId
  );
}

function readPermission(
  frame: Frame,
  { accountId, executor }: TradeOrderInput,
): Promise<{ readonly acl: string } | undefined> {
  const { firstName, lastName, taxId } = executor;
  return frame.rowIfAny(PERMISSION, [accountId, taxId, firstName, lastName]);
}

/** Frame 3, in two steps: the traded security, and then everything that follows from it. */
async function estimate(frame: Frame, input: TradeOrderInput, owner: Frame1): Promise<Frame3> {
  const { accountId, tradeTypeId, quantity, isLifo } = input;
  const traded = await readTraded(frame, input);
  const { exchangeId, ...named } = traded;
  const requestedPrice = traded.isMarket ? traded.marketPrice : input.requestedPrice;
  const [lots, rates, costs, accountAssets] = await Promise.all([
    readLots(frame, accountId, traded.symbol),
    owner.taxStatus === 0 ? 0 : readTaxRates(frame, owner.customerId),
    frame.row<Costs>(COSTS, [owner.customerTier, tradeTypeId, exchangeId, quantity]),
    input.isMargin ? readAssets(frame, accountId) : 0,
  ]);
  const trade = { isSell: traded.isSell, isLifo, quantity, price: requestedPrice };
  const { buyValue, sellValue } = changePosition(lots, trade);
  return {
    ...named,
    requestedPrice,
    statusId: traded.isMarket ? 'SBMT' : 'PNDG',
    buyValue,
    sellValue,
    taxAmount: taxOf(Math.max(0, sellValue - buyValue), rates),
    ...costs,
    commission: commissionOf(costs.commissionRate, quantity, requestedPrice),
    accountAssets,
  };
}

interface Costs {
  readonly commissionRate: number;
  readonly chargeAmount: number;
}

interface TradedSecurity {
  readonly companyName: string;
  readonly securityName: string;
  readonly symbol: string;
  readonly exchangeId: string;
  readonly marketPrice: number;
  readonly isMarket: boolean;
  readonly isSell: boolean;
}

function readTraded(
  frame: Frame,
  { security, tradeTypeId }: TradeOrderInput,
): Promise<TradedSecurity> {
  return 'symbol' in security
    ? frame.row(TRADED_BY_SYMBOL, [tradeTypeId, security.symbol])
    : frame.row(TRADED_BY_COMPANY, [tradeTypeId, security.companyName, security.issue]);
}

async function readAssets(frame: Frame, accountId: number): Promise<number> {
  return (await frame.row<{ assets: number }>(ASSETS, [accountId])).assets;
}

/** Frame 4. */
function insertOrder(
  frame: Frame,
  input: TradeOrderInput,
  estimated: Frame3 & { readonly brokerId: number },
): void {
  const { tradeId, now, accountId, tradeTypeId, quantity, executor } = input;
  const { symbol, statusId, requestedPrice, brokerId } = estimated;
  assert(quantity > 0, 'an order has a quantity');
  insert(frame, 'trade', {
    t_id: tradeId,
    t_dts: now,
    t_st_id: statusId,
    t_tt_id: tradeTypeId,
    t_is_cash: !input.isMargin,
    t_s_symb: symbol,
    t_qty: quantity,
    t_bid_price: requestedPrice,
    t_ca_id: accountId,
    t_exec_name: `${executor.firstName} ${executor.lastName}`,
    t_trade_price: null,
    t_chrg: estimated.chargeAmount,
    t_comm: estimated.commission,
    t_tax: 0,
    t_lifo: input.isLifo,
  });
  insert(frame, 'trade_history', { th_t_id: tradeId, th_dts: now, th_st_id: statusId });
  if (estimated.isMarket) return;
  insert(frame, 'trade_request', {
    tr_t_id: tradeId,
    tr_tt_id: tradeTypeId,
    tr_s_symb: symbol,
    tr_qty: quantity,
    tr_bid_price: requestedPrice,
    tr_b_id: brokerId,
  });
}

const ACCOUNT: Statement = {
  name: 'trade order: account',
  text: `
    SELECT ca_name AS "accountName", ca_b_id AS "brokerId", b_name AS "brokerName",
           ca_c_id AS "customerId", c_f_name AS "customerFirstName", c_l_name AS "customerLastName",
           c_tax_id AS "customerTaxId", c_tier AS "customerTier", ca_tax_st AS "taxStatus"
    FROM customer_account
    JOIN customer ON c_id = ca_c_id
    JOIN broker ON b_id = ca_b_id
    WHERE ca_id = $1`,
};

const PERMISSION: Statement = {
  name: 'trade order: permission',
  text: `
    SELECT ap_acl AS acl FROM account_permission
    WHERE ap_ca_id = $1 AND ap_tax_id = $2 AND ap_f_name = $3 AND ap_l_name = $4`,
};

const TRADED_COLUMNS = `
  co_name AS "companyName", s_name AS "securityName", s_symb AS "symbol", s_ex_id AS "exchangeId",
  lt_price AS "marketPrice", tt_is_mrkt AS "isMarket", tt_is_sell AS "isSell"`;

const TRADED_BY_SYMBOL: Statement = {
  name: 'trade order: security by symbol',
  text: `
    SELECT ${TRADED_COLUMNS}
    FROM security
    JOIN company ON co_id = s_co_id
    JOIN last_trade ON lt_s_symb = s_symb
    JOIN trade_type ON tt_id = $1
    WHERE s_symb = $2`,
};

const TRADED_BY_COMPANY: Statement = {
  name: 'trade order: security by company',
  text: `
    SELECT ${TRADED_COLUMNS}
    FROM company
    JOIN security ON s_co_id = co_id AND s_issue = $3
    JOIN last_trade ON lt_s_symb = s_symb
    JOIN trade_type ON tt_id = $1
    WHERE co_name = $2`,
};

const COSTS: Statement = {
  name: 'trade order: commission rate and charge',
  text: `
    SELECT cr_rate AS "commissionRate", ch_chrg AS "chargeAmount"
    FROM commission_rate
    JOIN charge ON ch_tt_id = cr_tt_id AND ch_c_tier = cr_c_tier
    WHERE cr_c_tier = $1 AND cr_tt_id = $2 AND cr_ex_id = $3 AND cr_from_qty <= $4 AND cr_to_qty >= $4`,
};

const ASSETS: Statement = {
  name: 'trade order: assets',
  text: `
    SELECT ca_bal + coalesce(
      (
        SELECT sum(hs_qty * lt_price)::bigint
        FROM holding_summary
        JOIN last_trade ON lt_s_symb = hs_s_symb
        WHERE hs_ca_id = ca_id
      ), 0
    ) AS assets
    FROM customer_account
    WHERE ca_id = $1`,
};
