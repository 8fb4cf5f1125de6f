/**
 * The brokerage on PostgreSQL. Each transaction is a function in the server: one call, one round
 * trip, and no logic on the client side. Databases are measured in this way with TPC-E.
 */
import type pg from 'pg';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import { Connections, readTables } from '../postgres/connections.ts';
import type { DataMaintenanceInput } from './data-maintenance.ts';
import type { Brokerage, Inputs, TransactionType } from './index.ts';
import type { TradeLookupInput } from './trade-lookup.ts';

export interface PostgresBrokerageOptions {
  /** Connects to a database that `loadPostgres` has filled. */
  readonly connection: pg.ClientConfig;
  readonly brokerUpdate: PostgresBrokerUpdate;
  /** Maximum number of transactions in flight at each isolation level. */
  readonly connectionsMax: number;
  /** The isolation of Trade-Result (connections.ts). Default `repeatable read`. */
  readonly tradeResults?: 'repeatable read' | 'serializable' | undefined;
}

export function openOnPostgres(options: PostgresBrokerageOptions): Brokerage {
  const { connection, brokerUpdate, connectionsMax } = options;
  const level3 = options.tradeResults ?? 'repeatable read';
  const connections = new Connections(connection, { connectionsMax, level3 });
  return {
    name: 'PostgreSQL',
    brokerUpdate,
    execute: (type, input) => {
      const { name, values } = CALLS[type];
      const given = values(input, brokerUpdate);
      const text = `SELECT ${name}(${given.map((_, i) => `$${i + 1}`).join(', ')}) AS result`;
      return connections.execute(type, async (client) => {
        const { rows } = await client.query({ name, text, values: [...given] });
        return rows[0].result;
      });
    },
    settled: async () => {},
    tables: readTables(connection),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

type PostgresBrokerUpdate = Exclude<BrokerUpdate, 'side-table'>;

type Calls = {
  readonly [T in TransactionType]: {
    /** Name of the function. */
    readonly name: string;
    readonly values: (input: Inputs[T], brokerUpdate: PostgresBrokerUpdate) => readonly unknown[];
  };
};

/**
 * The arguments of each function: the fields of its input, in the order of its parameters; null for
 * missing ones.
 */
const CALLS: Calls = {
  tradeStatus: { name: 'trade_status', values: ({ accountId }) => [accountId] },
  customerPosition: {
    name: 'customer_position',
    values: ({ customer, historyOf }) => [...fieldsOf(customer, ['id', 'taxId']), historyOf],
  },
  marketWatch: { name: 'market_watch', values: marketWatchValues },
  brokerVolume: {
    name: 'broker_volume',
    values: ({ brokerNames, sectorName }) => [brokerNames, sectorName],
  },
  securityDetail: {
    name: 'security_detail',
    values: ({ symbol, firstDay, dayCount, withNewsBodies }) => [
      symbol,
      firstDay,
      dayCount,
      withNewsBodies,
    ],
  },
  tradeLookup: { name: 'trade_lookup', values: selectionValues },
  tradeUpdate: {
    name: 'trade_update',
    values: (input) => [...selectionValues(input), input.updatesMax],
  },
  tradeOrder: { name: 'trade_order', values: tradeOrderValues },
  tradeResult: {
    name: 'trade_result',
    values: ({ tradeId, tradePrice, now }, brokerUpdate) => [
      tradeId,
      tradePrice,
      now,
      brokerUpdate === 'inline',
    ],
  },
  marketFeed: {
    name: 'market_feed',
    values: ({ entries, now }) => [
      entries.map(({ symbol }) => symbol),
      entries.map(({ price }) => price),
      entries.map(({ quantity }) => quantity),
      now,
    ],
  },
  dataMaintenance: { name: 'data_maintenance', values: dataMaintenanceValues },
  tradeCleanup: {
    name: 'trade_cleanup',
    values: ({ firstTradeId, now }) => [firstTradeId, now],
  },
};

function marketWatchValues({ list, day }: Inputs['marketWatch']): readonly unknown[] {
  return [
    list.kind === 'watch list' ? list.customerId : null,
    list.kind === 'account' ? list.accountId : null,
    list.kind === 'industry' ? list.industryName : null,
    list.kind === 'industry' ? list.firstCompanyId : null,
    list.kind === 'industry' ? list.lastCompanyId : null,
    day,
  ];
}

function selectionValues(input: TradeLookupInput): readonly unknown[] {
  const fields = [
    'frame',
    'tradeIds',
    'accountId',
    'symbol',
    'first',
    'last',
    'tradesMax',
  ] as const;
  return fieldsOf(input, fields);
}

function tradeOrderValues(input: Inputs['tradeOrder']): readonly unknown[] {
  const { executor, security } = input;
  return [
    input.tradeId,
    input.now,
    input.accountId,
    executor.firstName,
    executor.lastName,
    executor.taxId,
    ...fieldsOf(security, ['symbol', 'companyName', 'issue']),
    input.tradeTypeId,
    input.quantity,
    input.requestedPrice,
    input.isLifo,
    input.isMargin,
    input.rollBack,
  ];
}

function dataMaintenanceValues(input: DataMaintenanceInput): readonly unknown[] {
  const ids = ['accountId', 'customerId', 'companyId', 'symbol'] as const;
  return fieldsOf(input, ['table', ...ids, 'day', 'volume', 'now', 'taxRateId']);
}

type FieldOf<T> = T extends unknown ? keyof T : never;

/** The fields of an input that has several forms; null for those that its form does not have. */
function fieldsOf<T extends object>(input: T, names: readonly FieldOf<T>[]): readonly unknown[] {
  return names.map((name) => (input as Partial<Record<FieldOf<T>, unknown>>)[name] ?? null);
}
