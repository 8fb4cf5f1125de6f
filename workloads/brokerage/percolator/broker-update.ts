/**
 * Three ways to update the broker's totals (`--broker`). There is one broker for a hundred
 * customers, and all trades of its accounts would write one row; the paper left that update out.
 *
 *     omit        nothing happens, as in the paper
 *     inline      the row is written: trades of one broker that overlap in time conflict
 *     side-table  each trade writes a row of its own, and notifies the broker weakly, so that
 *                 nothing conflicts. An observer sums the rows, adds them to the broker and
 *                 deletes them, in one transaction
 *
 * The paper mentions the last way and did not build it ("writing the increment to a side table and
 * periodically aggregating each broker's increments"). A trade that commits while the observer runs
 * leaves a notification of its own, so the next run aggregates it.
 */
import {
  type CellAddress,
  type Observer,
  type Percolator,
  type Transaction,
  unreachable,
} from '#engine';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import { encodeKey, keyRange } from './encoding.ts';
import { RowWriter } from './rows.ts';

/** The increment that a completed trade adds to its broker. */
export interface BrokerDelta {
  readonly brokerId: number;
  readonly tradeId: number;
  readonly commission: number;
}

export type UpdateBroker = (rows: RowWriter, delta: BrokerDelta) => Promise<void>;

const DELTAS = 'broker_delta';
const COMMISSION = 'commission';
const QUEUES = 'broker_queue';
const PENDING = 'pending';
/**
 * Rows aggregated in one transaction. Larger: fewer writes of the broker's row, and more work to
 * redo if one fails.
 */
const DELTAS_MAX = 1_000;

export async function createBrokerTables(percolator: Percolator): Promise<void> {
  await percolator.createTable(DELTAS);
  await percolator.createTable(QUEUES, { observedColumns: [PENDING] });
}

export function brokerUpdater(update: BrokerUpdate): UpdateBroker {
  switch (update) {
    case 'omit':
      return async () => {};
    case 'inline':
      return (rows, { brokerId, commission }) => addToBroker(rows, brokerId, [commission]);
    case 'side-table':
      return async ({ transaction }, delta) => {
        transaction.set(deltaCell(delta), String(delta.commission));
        transaction.notifyWeakly(queueCell(delta.brokerId));
      };
    default:
      return unreachable(update);
  }
}

/** Aggregates the rows that are present, and requests another run if there are more. */
export const brokerObserver: Observer = {
  name: 'broker-totals',
  table: QUEUES,
  column: PENDING,
  run: async (transaction, { row }) => {
    const brokerId = Number.parseInt(row, 36);
    const deltas = await readDeltas(transaction, brokerId);
    if (deltas.length === 0) return;
    const rows = new RowWriter(transaction);
    await addToBroker(
      rows,
      brokerId,
      deltas.map(({ commission }) => commission),
    );
    for (const { cell } of deltas) transaction.delete(cell);
    if (deltas.length === DELTAS_MAX) transaction.notifyWeakly(queueCell(brokerId));
  },
};

/** Whether every trade has been added to its broker. */
export async function isAggregated(percolator: Percolator): Promise<boolean> {
  await using snapshot = await percolator.snapshot();
  const scan = snapshot.scan({ table: DELTAS, columns: [COMMISSION] });
  for await (const _ of scan) return false;
  return true;
}

async function addToBroker(
  rows: RowWriter,
  brokerId: number,
  commissions: readonly number[],
): Promise<void> {
  const broker = await rows.get('broker', brokerId);
  rows.update('broker', broker, {
    b_num_trades: broker.b_num_trades + commissions.length,
    b_comm_total: commissions.reduce((sum, commission) => sum + commission, broker.b_comm_total),
  });
}

async function readDeltas(
  transaction: Transaction,
  brokerId: number,
): Promise<readonly { readonly cell: CellAddress; readonly commission: number }[]> {
  const deltas: { cell: CellAddress; commission: number }[] = [];
  const range = { table: DELTAS, ...keyRange([brokerId]), columns: [COMMISSION] };
  for await (const { row, values } of transaction.scan(range)) {
    const value = values.get(COMMISSION);
    const cell = { table: DELTAS, row, column: COMMISSION };
    if (value !== undefined) deltas.push({ cell, commission: Number(value.toString()) });
    if (deltas.length === DELTAS_MAX) break;
  }
  return deltas;
}

function deltaCell({ brokerId, tradeId }: BrokerDelta): CellAddress {
  return { table: DELTAS, row: encodeKey([brokerId, tradeId]), column: COMMISSION };
}

function queueCell(brokerId: number): CellAddress {
  return { table: QUEUES, row: encodeKey([brokerId]), column: PENDING };
}
