/**
 * Records what a client does in a transaction and what it is told: the clients' side of a history.
 * Reads of own writes are judged at once: each must return the last write. So is what a client
 * hears when it does once more what was refused: it must be refused again.
 */
import { type Clock, hasCode } from '../../../engine/base/index.ts';
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type {
  CellAddress,
  Reader,
  ScannedRow,
  ScanRange,
  Transaction,
} from '../../../engine/transaction/index.ts';
import {
  addressOf,
  historicCell,
  type HistoricScan,
  type HistoricTransaction,
  type HistoricValue,
  type ObserverRun,
} from '../judges/history.ts';
import { insideOf } from '../judges/versions.ts';
import type { RunNames } from './names.ts';
import { type PlannedOperation, SCANNED } from './plan.ts';

/** A transaction in progress: a `HistoricTransaction` whose outcome may still change. */
export interface TransactionRecording extends HistoricTransaction {
  outcome: HistoricTransaction['outcome'];
  commitTimestamp?: Timestamp | undefined;
  endedAt?: number | undefined;
  /** The number of values made up so far; numbers them. */
  values: number;
  readonly reads: HistoricValue[];
  readonly scans: HistoricScan[];
  readonly writes: HistoricValue[];
  readonly locks: string[];
  readonly shared: string[];
  readonly weak: string[];
  past?: boolean | undefined;
  run?: ObserverRun | undefined;
}

/** The dependencies of a client's recording. */
export interface RecordingOptions {
  readonly clock: Clock;
  readonly names: RunNames;
  /** Reports a violation. */
  find(claim: string, message: string): void;
  /**
   * Called when a read of the snapshot begins; the returned function is called when the read was
   * answered without an error.
   */
  reading?(startTimestamp: Timestamp): (isUsed: boolean) => void;
}

export function startRecording(
  process: string,
  startTimestamp: Timestamp,
  beganAt: number,
): TransactionRecording {
  return {
    process,
    startTimestamp,
    outcome: 'failed', // Until its commit is asked for.
    beganAt,
    values: 0,
    reads: [],
    scans: [],
    writes: [],
    locks: [],
    shared: [],
    weak: [],
  };
}

/** Performs operations in a transaction, and records them. */
export async function perform(
  scribe: RecordingOptions,
  transaction: Transaction,
  operations: readonly PlannedOperation[],
  recording: TransactionRecording,
): Promise<void> {
  for (const operation of operations) await performOne(scribe, transaction, operation, recording);
}

async function performOne(
  scribe: RecordingOptions,
  transaction: Transaction,
  operation: PlannedOperation,
  recording: TransactionRecording,
): Promise<void> {
  const { names } = scribe;
  const { startTimestamp, locks, shared, weak } = recording;
  switch (operation.do) {
    case 'get':
      await read(scribe, transaction, operation.cell, recording);
      return;
    case 'set': {
      // Unique, even if the transaction writes the cell twice.
      const value = `${startTimestamp}.${recording.values++}`;
      write(scribe, transaction, { cell: operation.cell, value }, recording);
      return;
    }
    case 'delete':
      write(scribe, transaction, { cell: operation.cell }, recording);
      return;
    case 'lock': {
      await transaction.lock(names.address(operation.cell));
      const cell = names.historic(operation.cell);
      if (ownWrite(recording, cell) === undefined) locks.push(cell);
      remove(shared, cell);
      return;
    }
    case 'share': {
      await transaction.lock(names.address(operation.cell), { shared: true });
      const cell = names.historic(operation.cell);
      const isKnown = locks.includes(cell) || shared.includes(cell);
      if (ownWrite(recording, cell) === undefined && !isKnown) shared.push(cell);
      return;
    }
    case 'append': {
      const before = await read(scribe, transaction, operation.cell, recording);
      const list = before === undefined ? '' : `${before},`;
      const value = `${list}${startTimestamp}.${recording.values++}`;
      write(scribe, transaction, { cell: operation.cell, value }, recording);
      return;
    }
    case 'weak':
      transaction.notifyWeakly(names.address(operation.cell));
      weak.push(names.historic(operation.cell));
      return;
    case 'think':
      await scribe.clock.sleep(operation.ms);
      return;
    case 'getMany':
    case 'scan':
      await readOnly(scribe, transaction, operation, recording);
  }
}

/** Performs an operation that only reads, also in a snapshot. */
export async function readOnly(
  scribe: RecordingOptions,
  reader: Reader,
  operation: PlannedOperation,
  recording: TransactionRecording,
): Promise<void> {
  const { names } = scribe;
  if (operation.do === 'getMany') {
    const cells = operation.cells.map((cell) => names.address(cell));
    const values = await ask(scribe, recording, () => reader.getMany(cells));
    operation.cells.forEach((cell, i) => {
      note(scribe, recording, { cell: names.historic(cell), value: values[i]?.toString() });
    });
  } else if (operation.do === 'scan') {
    await scan(scribe, reader, rangeOf(operation, names), recording);
  }
}

/** A part of a table lies between two rows, given in either order. */
function rangeOf(
  { table, part, reverse, limit }: PlannedOperation & { do: 'scan' },
  names: RunNames,
): ScanRange {
  const columns = SCANNED.map((one) => names.column(one));
  const range = { table: names.table(table), columns, reverse, limit };
  if (part === undefined) return range;
  const [start, end] = part
    .map((row) => names.address(`${table}/${row}:`).row)
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return { ...range, start, end };
}

async function scan(
  scribe: RecordingOptions,
  reader: Reader,
  asked: ScanRange,
  recording: TransactionRecording,
): Promise<void> {
  const rows = await ask(scribe, recording, () => rowsIn(reader, asked));
  if (!isInOrder(rows, asked)) {
    const keys = rows.map(({ row }) => row).join(', ');
    scribe.find('reads: rows out of order', `of ${recording.startTimestamp}: ${keys}`);
  }
  const range = coveredBy(rows, asked);
  const { table } = range;
  const found = cellsOf(rows, table);
  for (const [cell, value] of found) note(scribe, recording, { cell, value });
  // Its own writes hide what the snapshot has there: the judge (scans.ts) must not ask for it.
  const own = recording.writes.map(({ cell }) => cell);
  recording.scans.push({ ...range, returned: [...found.keys(), ...own] });
  const isInside = insideOf(range);
  for (const { cell, value } of recording.writes) {
    if (value === undefined || found.has(cell)) continue;
    const { table: of, row, column } = addressOf(cell);
    if (of === table && isInside({ row, column })) {
      misread(scribe, recording, { cell, value: undefined });
    }
  }
}

async function rowsIn(reader: Reader, range: ScanRange): Promise<readonly ScannedRow[]> {
  const rows: ScannedRow[] = [];
  for await (const row of reader.scan({ ...range, batchRows: 3 })) rows.push(row);
  return rows;
}

function isInOrder(rows: readonly ScannedRow[], { reverse = false }: ScanRange): boolean {
  return rows.every(({ row }, i) => {
    const before = rows[i - 1];
    if (before === undefined) return true;
    const order = Buffer.compare(Buffer.from(before.row), Buffer.from(row));
    return reverse ? order > 0 : order < 0;
  });
}

/** The part of the range about which these rows say everything: a limit may have ended the scan. */
function coveredBy(
  rows: readonly ScannedRow[],
  { limit = Infinity, reverse = false, ...range }: ScanRange,
): ScanRange {
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return range;
  return reverse ? { ...range, start: last.row } : { ...range, end: `${last.row}\0` };
}

function cellsOf(rows: readonly ScannedRow[], table: string): ReadonlyMap<string, string> {
  return new Map(
    rows.flatMap(({ row, values }) =>
      [...values].map(([column, value]) => [
        historicCell({ table, row, column }),
        value.toString(),
      ]),
    ),
  );
}

/** Reads, and if the snapshot is stale, reads once more. */
async function ask<T>(
  scribe: RecordingOptions,
  { startTimestamp }: TransactionRecording,
  doRead: () => Promise<T>,
): Promise<T> {
  const ended = scribe.reading?.(startTimestamp);
  try {
    const answer = await doRead();
    ended?.(true);
    return answer;
  } catch (error) {
    if (hasCode(error, 'STALE_SNAPSHOT')) await expectRefused(scribe, startTimestamp, doRead);
    ended?.(false);
    throw error;
  }
}

/** Does once more what was refused for good. */
export async function expectRefused(
  scribe: RecordingOptions,
  startTimestamp: Timestamp,
  again: () => Promise<unknown>,
): Promise<void> {
  try {
    await again();
  } catch {
    return;
  }
  const message = `the transaction of ${startTimestamp} was answered after a refusal`;
  scribe.find('refusals: not for good', message);
}

/** Reads a cell and records the value. */
export async function read(
  scribe: RecordingOptions,
  transaction: Transaction,
  cell: string,
  recording: TransactionRecording,
): Promise<string | undefined> {
  const address = scribe.names.address(cell);
  const value = (await ask(scribe, recording, () => transaction.get(address)))?.toString();
  note(scribe, recording, { cell: scribe.names.historic(cell), value });
  return value;
}

/** Sets the cell, or deletes it if there is no value. */
export function write(
  { names }: RecordingOptions,
  transaction: Transaction,
  { cell, value }: { readonly cell: string; readonly value?: string | undefined },
  { writes, locks, shared }: TransactionRecording,
): void {
  if (value === undefined) transaction.delete(names.address(cell));
  else setAndReuse(transaction, names.address(cell), value);
  const name = names.historic(cell);
  const before = writes.findIndex((one) => one.cell === name);
  if (before >= 0) writes.splice(before, 1);
  writes.push({ cell: name, value });
  remove(locks, name);
  remove(shared, name);
}

function remove(cells: string[], cell: string): void {
  const found = cells.indexOf(cell);
  if (found >= 0) cells.splice(found, 1);
}

/** As a caller with one buffer for all its values (P76). */
function setAndReuse(transaction: Transaction, cell: CellAddress, value: string): void {
  const bytes = Buffer.from(value);
  transaction.set(cell, bytes);
  bytes.fill('x');
}

function note(
  scribe: RecordingOptions,
  recording: TransactionRecording,
  seen: HistoricValue,
): void {
  const own = ownWrite(recording, seen.cell);
  if (own === undefined) recording.reads.push(seen);
  else if (own.value !== seen.value) misread(scribe, recording, seen);
}

function misread(
  scribe: RecordingOptions,
  recording: TransactionRecording,
  { cell, value }: HistoricValue,
): void {
  const wrote = ownWrite(recording, cell)?.value;
  const who = `the transaction of ${recording.startTimestamp}`;
  const message = `${who} wrote ${wrote ?? 'nothing'} to ${cell} and then read ${value ?? 'nothing'}`;
  scribe.find('transactions: own write not read', message);
}

function ownWrite({ writes }: TransactionRecording, cell: string): HistoricValue | undefined {
  return writes.find((one) => one.cell === cell);
}
