/**
 * Writes down what a client does in a transaction and what it is told: the clients' side of a history.
 */
import type { Clock } from '../../base/index.ts';
import type { Timestamp } from '../../bigtable/index.ts';
import type { CellAddress, Reader, Transaction } from '../../transaction/index.ts';
import type { HistoricTransaction, HistoricValue, ObserverRun } from '../history.ts';
import { cellsOf, type Operation, SCANNED } from './plan.ts';
import type { SimulatedProcess } from './process.ts';

/** A transaction in the making; a `HistoricTransaction` whose end may still change. */
export interface Recording extends HistoricTransaction {
  outcome: HistoricTransaction['outcome'];
  commitTimestamp?: Timestamp | undefined;
  endedAt?: number | undefined;
  /** Values made up so far: numbers them. */
  values: number;
  readonly reads: HistoricValue[];
  readonly writes: HistoricValue[];
  readonly locks: string[];
  readonly weak: string[];
  past?: boolean | undefined;
  run?: ObserverRun | undefined;
}

export function startRecording(
  process: SimulatedProcess,
  startTimestamp: Timestamp,
  beganAt: number,
): Recording {
  return {
    process: process.name,
    startTimestamp,
    outcome: 'failed', // Until its commit is asked for.
    beganAt,
    values: 0,
    reads: [],
    writes: [],
    locks: [],
    weak: [],
  };
}

/** `table/row:column`. */
export function addressOf(cell: string): CellAddress {
  const known = ADDRESSES.get(cell);
  if (known !== undefined) return known;
  const slash = cell.indexOf('/');
  const colon = cell.indexOf(':', slash);
  const address = {
    table: cell.slice(0, slash),
    row: cell.slice(slash + 1, colon),
    column: cell.slice(colon + 1),
  };
  ADDRESSES.set(cell, address);
  return address;
}

const ADDRESSES = new Map<string, CellAddress>();

/** Performs operations in a transaction, and records them. */
export async function perform(
  clock: Clock,
  transaction: Transaction,
  operations: readonly Operation[],
  recording: Recording,
): Promise<void> {
  for (const operation of operations) await performOne(clock, transaction, operation, recording);
}

async function performOne(
  clock: Clock,
  transaction: Transaction,
  operation: Operation,
  recording: Recording,
): Promise<void> {
  const { startTimestamp, locks, weak } = recording;
  switch (operation.do) {
    case 'get':
      await read(transaction, operation.cell, recording);
      return;
    case 'set':
      // Unique, also if the transaction writes the cell twice.
      write(transaction, operation.cell, `${startTimestamp}.${recording.values++}`, recording);
      return;
    case 'delete':
      write(transaction, operation.cell, undefined, recording);
      return;
    case 'lock':
      await transaction.lock(addressOf(operation.cell));
      if (!isWritten(recording, operation.cell)) locks.push(operation.cell);
      return;
    case 'append': {
      const before = await read(transaction, operation.cell, recording);
      const list = before === undefined ? '' : `${before},`;
      write(
        transaction,
        operation.cell,
        `${list}${startTimestamp}.${recording.values++}`,
        recording,
      );
      return;
    }
    case 'weak':
      transaction.notifyWeakly(addressOf(operation.cell));
      weak.push(operation.cell);
      return;
    case 'think':
      await clock.sleep(operation.ms);
      return;
    case 'getMany':
    case 'scan':
      await readOnly(transaction, operation, recording);
  }
}

/** Reads by themselves, for snapshots too. */
export async function readOnly(
  reader: Reader,
  operation: Operation,
  recording: Recording,
): Promise<void> {
  if (operation.do === 'getMany') {
    const values = await reader.getMany(operation.cells.map(addressOf));
    operation.cells.forEach((cell, i) => {
      note(recording, cell, values[i]?.toString());
    });
  } else if (operation.do === 'scan') {
    await scan(reader, operation.table, recording);
  }
}

/** Records also which cells the scan did not find. */
async function scan(reader: Reader, table: string, recording: Recording): Promise<void> {
  const found = new Map<string, string>();
  for await (const { row, values } of reader.scan({ table, columns: SCANNED, batchRows: 3 })) {
    for (const [column, value] of values) found.set(`${table}/${row}:${column}`, value.toString());
  }
  for (const cell of new Set([...cellsOf(table), ...found.keys()])) {
    note(recording, cell, found.get(cell));
  }
}

/** Reads a cell and, unless it is the transaction's own write, records what was seen. */
export async function read(
  transaction: Transaction,
  cell: string,
  recording: Recording,
): Promise<string | undefined> {
  const value = (await transaction.get(addressOf(cell)))?.toString();
  note(recording, cell, value);
  return value;
}

export function write(
  transaction: Transaction,
  cell: string,
  value: string | undefined,
  { writes, locks }: Recording,
): void {
  if (value === undefined) transaction.delete(addressOf(cell));
  else transaction.set(addressOf(cell), value);
  const before = writes.findIndex((one) => one.cell === cell);
  if (before >= 0) writes.splice(before, 1);
  writes.push({ cell, value });
  const locked = locks.indexOf(cell);
  if (locked >= 0) locks.splice(locked, 1);
}

function note(recording: Recording, cell: string, value: string | undefined): void {
  if (!isWritten(recording, cell)) recording.reads.push({ cell, value });
}

function isWritten({ writes }: Recording, cell: string): boolean {
  return writes.some((one) => one.cell === cell);
}
