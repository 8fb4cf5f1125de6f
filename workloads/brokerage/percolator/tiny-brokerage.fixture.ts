/** A brokerage of a hundred customers in a temporary folder, and its rows as arrays. */
import { openPercolator, type Percolator } from '#engine';
import { temporaryFolder } from '#engine/testing';
import {
  type Brokerage,
  type BrokerUpdate,
  type Inputs,
  type Population,
  type Results,
  type Row,
  type TableName,
  TINY,
  type TransactionType,
} from '../model/index.ts';
import { createPopulation } from '../population/index.ts';
import { type Layout, loadPopulation, openBrokerage } from './index.ts';

export interface TinyBrokerage extends AsyncDisposable {
  readonly percolator: Percolator;
  readonly brokerage: Brokerage;
  readonly population: Population;
  /** When the run begins. */
  readonly now: number;
  readonly nextTradeId: () => number;
  readonly run: <T extends TransactionType>(type: T, input: Inputs[T]) => Promise<Results[T]>;
  /** The current rows. */
  readonly rows: <T extends TableName>(table: T) => Promise<readonly Row<T>[]>;
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
  const brokerage = openBrokerage(percolator, { brokerUpdate, layout });
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

/** An order of an account's owner; the caller gives the fields that matter. */
export function orderOf(
  { population, now, nextTradeId }: TinyBrokerage,
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
