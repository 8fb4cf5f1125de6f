/** All transactions by their names, and which of them only read. */
import type { Inputs, Results, TransactionType } from '../model/index.ts';
import type { UpdateBroker } from './broker-update.ts';
import type { RowReader, RowWriter } from './rows.ts';
import { brokerVolume } from './transactions/broker-volume.ts';
import { customerPosition } from './transactions/customer-position.ts';
import { dataMaintenance } from './transactions/data-maintenance.ts';
import { marketFeed } from './transactions/market-feed.ts';
import { marketWatch } from './transactions/market-watch.ts';
import { securityDetail } from './transactions/security-detail.ts';
import { tradeCleanup } from './transactions/trade-cleanup.ts';
import { tradeLookup } from './transactions/trade-lookup.ts';
import { tradeOrder } from './transactions/trade-order.ts';
import { tradeResult } from './transactions/trade-result.ts';
import { tradeStatus } from './transactions/trade-status.ts';
import { tradeUpdate } from './transactions/trade-update.ts';

export type Implementation<T extends TransactionType> =
  | {
      readonly kind: 'reads';
      readonly run: (rows: RowReader, input: Inputs[T]) => Promise<Results[T]>;
    }
  | {
      readonly kind: 'writes';
      readonly run: (
        rows: RowWriter,
        input: Inputs[T],
        updateBroker: UpdateBroker,
      ) => Promise<Results[T]>;
    };

export const IMPLEMENTATIONS: { readonly [T in TransactionType]: Implementation<T> } = {
  tradeOrder: { kind: 'writes', run: tradeOrder },
  tradeResult: { kind: 'writes', run: tradeResult },
  tradeLookup: { kind: 'reads', run: tradeLookup },
  tradeUpdate: { kind: 'writes', run: tradeUpdate },
  tradeStatus: { kind: 'reads', run: tradeStatus },
  customerPosition: { kind: 'reads', run: customerPosition },
  brokerVolume: { kind: 'reads', run: brokerVolume },
  securityDetail: { kind: 'reads', run: securityDetail },
  marketFeed: { kind: 'writes', run: marketFeed },
  marketWatch: { kind: 'reads', run: marketWatch },
  dataMaintenance: { kind: 'writes', run: dataMaintenance },
  tradeCleanup: { kind: 'writes', run: tradeCleanup },
};
