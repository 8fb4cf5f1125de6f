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
    values: ({ customer, historyOf }) => [
      'id' in customer ? customer.id : null,
      'taxId' in customer ? customer.taxId : null,
      historyOf,
    ],
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
  return [
    input.frame,
    'tradeIds' in input ? input.tradeIds : null,
    'accountId' in input ? input.accountId : null,
    'symbol' in input ? input.symbol : null,
    'first' in input ? input.first : null,
    'last' in input ? input.last : null,
    'tradesMax' in input ? input.tradesMax : null,
  ];
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
    'symbol' in security ? security.symbol : null,
    'symbol' in security ? null : security.companyName,
    'symbol' in security ? null : security.issue,
    input.tradeTypeId,
    input.quantity,
    input.requestedPrice,
    input.isLifo,
    input.isMargin,
    input.rollBack,
  ];
}

function dataMaintenanceValues(input: DataMaintenanceInput): readonly unknown[] {
  return [
    input.table,
    'accountId' in input ? input.accountId : null,
    'customerId' in input ? input.customerId : null,
    'companyId' in input ? input.companyId : null,
    'symbol' in input ? input.symbol : null,
    'day' in input ? input.day : null,
    'volume' in input ? input.volume : null,
    'now' in input ? input.now : null,
    'taxRateId' in input ? input.taxRateId : null,
  ];
}
