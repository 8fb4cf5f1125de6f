/**
 * The arguments of each function: the fields of its input, in the order of its parameters; null for
 * missing ones.
 */
import type {
  BrokerUpdate,
  DataMaintenanceInput,
  Inputs,
  TradeLookupInput,
  TransactionType,
} from '../../model/index.ts';

export type PostgresBrokerUpdate = Exclude<BrokerUpdate, 'side-table'>;

type Calls = {
  readonly [T in TransactionType]: {
    /** Name of the function. */
    readonly name: string;
    readonly values: (input: Inputs[T], brokerUpdate: PostgresBrokerUpdate) => readonly unknown[];
  };
};

export const CALLS: Calls = {
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
