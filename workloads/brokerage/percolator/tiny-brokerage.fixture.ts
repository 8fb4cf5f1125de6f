/** A brokerage of a hundred customers in a temporary folder, and its rows as arrays. */
import { openPercolator, type Percolator } from '#engine';
import { temporaryFolder } from '#engine/testing';
import type { Brokerage, Inputs, Results, TransactionType } from '../transactions/index.ts';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import type { Population } from '../model/population.ts';
import type { TableRow, TableName } from '../model/tables.ts';
import { TINY } from '../model/scale.ts';
import { createPopulation } from '../population/population.ts';
import type { Layout } from './layout.ts';
import { loadPopulation } from './load.ts';
import { openOnPercolator } from '../transactions/on-percolator.ts';

export interface TinyBrokerage extends AsyncDisposable {
  readonly percolator: Percolator;
  readonly brokerage: Brokerage;
  readonly population: Population;
  /** When the run begins. */
  readonly now: number;
  readonly nextTradeId: () => number;
  readonly run: <T extends TransactionType>(type: T, input: Inputs[T]) => Promise<Results[T]>;
  /** The current rows. */
  readonly rows: <T extends TableName>(table: T) => Promise<readonly TableRow<T>[]>;
}

export async function tinyBrokerage({
  brokerUpdate = 'inline',
  layout,
}: {
  readonly brokerUpdate?: BrokerUpdate;
  readonly layout?: Layout;
} = {}): Promise<TinyBrokerage> {
  const folder = temporaryFolder();
  const population = createPopulation(TINY, 1);
  const percolator = await openPercolator({ folder, fsync: false });
  await loadPopulation(percolator, population, { layout });
  const brokerage = openOnPercolator(percolator, { brokerUpdate, layout });
  let tradeId = population.roster.trades.lastId;
  return {
    percolator,
    brokerage,
    population,
    now: population.roster.trades.endMs,
    nextTradeId: () => ++tradeId,
    run: async (type, input) => (await brokerage.execute(type, input)).result,
    rows: (table) => Array.fromAsync(brokerage.tables.rows(table)),
    [Symbol.asyncDispose]: async () => {
      await brokerage[Symbol.asyncDispose]();
      await percolator.close();
    },
  };
}

/** The operations of a brokerage with which a test trades. */
type Trading = Pick<TinyBrokerage, 'population' | 'now' | 'nextTradeId' | 'run'>;

/** An order of an account's owner; the caller gives the fields that matter. */
export function orderOf(
  { population, now, nextTradeId }: Trading,
  given: Partial<Inputs['tradeOrder']> & { readonly accountId: number; readonly symbol: string },
): Inputs['tradeOrder'] {
  const { symbol, ...order } = given;
  const [owner] = population.roster.permissions(given.accountId);
  return {
    tradeId: nextTradeId(),
    now,
    executor: {
      firstName: owner?.ap_f_name ?? '',
      lastName: owner?.ap_l_name ?? '',
      taxId: owner?.ap_tax_id ?? '',
    },
    security: { symbol },
    tradeTypeId: 'TMB',
    quantity: 100,
    requestedPrice: 0,
    isLifo: false,
    isMargin: false,
    rollBack: false,
    ...order,
  };
}

/** With the purchase, more trades and more changes of the lot than any list shows. */
const SALES = 50;

/** The lists of an account that has bought one lot of shares, and then sold it in parts. */
export async function listsAfterSales(trading: Trading): Promise<{
  /** The purchase, then the sales. */
  readonly tradeIds: readonly number[];
  readonly status: Results['tradeStatus']['trades'];
  readonly history: Results['customerPosition']['frame2'];
  readonly lookedUp: Results['tradeLookup'];
}> {
  const { population, now, run } = trading;
  const [accountId = 0] = population.roster.accountIds(0);
  const tradeIds = await sellInParts(trading, accountId);
  const customer = { id: population.roster.customerId(0) };
  const { frame1 } = await run('customerPosition', { customer, historyOf: null });
  const historyOf = frame1.accounts.findIndex((account) => account.accountId === accountId);
  return {
    tradeIds,
    status: (await run('tradeStatus', { accountId })).trades,
    history: (await run('customerPosition', { customer, historyOf })).frame2,
    lookedUp: await run('tradeLookup', { frame: 4, accountId, first: now }),
  };
}

async function sellInParts(trading: Trading, accountId: number): Promise<readonly number[]> {
  const { population, now, run } = trading;
  const { securities, basket, symbol } = population.roster;
  const held = new Set(basket(accountId));
  const newSecurity = Array.from({ length: securities }, (_, i) => i).find((i) => !held.has(i));
  const at = { accountId, symbol: symbol(newSecurity ?? 0) };
  const purchase = orderOf(trading, { ...at, quantity: 100 * SALES });
  const sales = Array.from({ length: SALES }, () =>
    orderOf(trading, { ...at, tradeTypeId: 'TMS', quantity: 100 }),
  );
  for (const order of [purchase, ...sales]) {
    await run('tradeOrder', order);
    await run('tradeResult', { tradeId: order.tradeId, tradePrice: 2_500, now });
  }
  return [purchase, ...sales].map(({ tradeId }) => tradeId);
}
