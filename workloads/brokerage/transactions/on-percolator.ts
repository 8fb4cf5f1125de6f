/**
 * The brokerage on Percolator: its tables, and its transactions. Six transactions write, and are
 * run by `transact`; six only read a snapshot.
 */
import { type Percolator, PercolatorError, systemClock, type Worker } from '#engine';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import {
  brokerObserver,
  brokerUpdater,
  isAggregated,
  type UpdateBroker,
} from '../percolator/broker-update.ts';
import type { Layout } from '../percolator/layout.ts';
import { RowReader, RowWriter, snapshotTables } from '../percolator/rows.ts';
import { brokerVolume } from './broker-volume.ts';
import { customerPosition } from './customer-position.ts';
import { dataMaintenance } from './data-maintenance.ts';
import type { Brokerage, Execution, Inputs, Results, TransactionType } from './index.ts';
import { marketFeed } from './market-feed.ts';
import { marketWatch } from './market-watch.ts';
import { securityDetail } from './security-detail.ts';
import { tradeCleanup } from './trade-cleanup.ts';
import { tradeLookup } from './trade-lookup.ts';
import { tradeOrder } from './trade-order.ts';
import { tradeResult } from './trade-result.ts';
import { tradeStatus } from './trade-status.ts';
import { tradeUpdate } from './trade-update.ts';

export interface BrokerageOptions {
  /** The layout that `loadPopulation` was given. Default `small`. */
  readonly layout?: Layout | undefined;
  /** Default `side-table`. */
  readonly brokerUpdate?: BrokerUpdate | undefined;
  /** Whether the observer of the side table runs in this process. Default true. */
  readonly runsObserver?: boolean | undefined;
  /**
   * Finds out how a transaction ended whose commit got no answer. If it was committed, `execute`
   * resolves. Default: `execute` rejects with COMMIT_UNKNOWN.
   */
  readonly settle?: Percolator['outcomeOf'] | undefined;
}

/** Carries a transaction's result out of `transact` without a commit. */
class RolledBack<R> extends Error {
  readonly result: R;

  constructor(result: R) {
    super('rolled back on request');
    this.result = result;
  }
}

const SETTLE_POLL_MS = 5;

/**
 * Opens a brokerage on a database that `loadPopulation` has filled. The caller opened the database,
 * and closes it afterwards.
 */
export function openOnPercolator(
  percolator: Percolator,
  { layout, brokerUpdate = 'side-table', runsObserver = true, settle }: BrokerageOptions = {},
): Brokerage {
  const updateBroker = brokerUpdater(brokerUpdate);
  const worker: Worker | undefined =
    brokerUpdate === 'side-table' && runsObserver
      ? percolator.startWorker([brokerObserver], { idleMsMax: 1_000 })
      : undefined;

  async function write<T extends TransactionType>(
    type: T,
    implementation: Implementation<T> & { readonly kind: 'writes' },
    input: Inputs[T],
  ): Promise<Execution<Results[T]>> {
    let attempts = 0;
    let latest: Results[T] | undefined;
    try {
      const result = await percolator.transact(
        async (transaction) => {
          attempts++;
          latest = await implementation.run(
            new RowWriter(transaction, layout),
            input,
            updateBroker,
          );
          if (isToRollBack(latest)) throw new RolledBack(latest);
          return latest;
        },
        { kind: type },
      );
      return { result, attempts };
    } catch (error) {
      if (error instanceof RolledBack) return { result: error.result as Results[T], attempts };
      const name = error instanceof PercolatorError ? error.transaction : undefined;
      if (latest === undefined || name === undefined || settle === undefined) throw error;
      if ((await settle(name)) !== 'committed') throw error;
      return { result: latest, attempts, wasUnknown: true };
    }
  }

  return {
    name: 'percolator',
    brokerUpdate,
    execute: async (type, input) => {
      const implementation = IMPLEMENTATIONS[type];
      if (implementation.kind === 'writes') return write(type, implementation, input);
      await using snapshot = await percolator.snapshot(undefined, { kind: type });
      return {
        result: await implementation.run(new RowReader(snapshot, layout), input),
        attempts: 1,
      };
    },
    settled: async () => {
      if (brokerUpdate === 'side-table') await summedUp(percolator);
      await percolator.settled();
    },
    tables: snapshotTables(percolator, layout),
    [Symbol.asyncDispose]: async () => {
      await worker?.stop();
    },
  };
}

async function summedUp(percolator: Percolator): Promise<void> {
  while (!(await isAggregated(percolator))) await systemClock.sleep(SETTLE_POLL_MS);
}

/** Only Trade-Order ends without a commit: on request, or for lack of permission. */
function isToRollBack(result: Results[TransactionType]): boolean {
  return 'outcome' in result && result.outcome !== 'committed';
}

type Implementation<T extends TransactionType> =
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

/** Which transactions only read. */
const IMPLEMENTATIONS: { readonly [T in TransactionType]: Implementation<T> } = {
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
