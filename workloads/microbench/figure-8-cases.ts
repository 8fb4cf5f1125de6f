/**
 * The cases of figure 8, and those that explain its results.
 *
 *     raw read            newest version of one column of one row
 *     Percolator read     the same from a fresh snapshot, its start timestamp included
 *     raw write           one cell of one row, blind
 *     Percolator write    a transaction that writes one cell and commits: "the worst case
 *                         for Percolator overhead"
 *
 * and the parts of the two Percolator operations: a start timestamp, a read in an existing
 * snapshot, and the messages of a transaction, sent without the engine.
 */
import type { CellAddress, Percolator, Snapshot } from '#engine';
import type { MicroCase } from './case.ts';
import {
  cellOf,
  CELLS,
  COLUMN,
  type Data,
  type LastWrites,
  MESSAGES,
  NEWEST,
  noteRawWrite,
  RAW,
  rawWrite,
} from './data.ts';
import { type RecordedMessages, sendAs } from './recorded-messages.ts';

export const NAMES = {
  rawRead: 'raw read',
  read: 'Percolator read',
  rawWrite: 'raw write',
  write: 'Percolator write',
  timestamp: 'start timestamp',
  laterRead: 'read in an open snapshot',
  readMessage: 'message: read of lock, write and data',
  prewriteMessage: 'message: prewrite',
  commitMessage: 'message: commit',
} as const;

/** The paper's operations per second against a single tablet server, batching off. */
export const PAPER: Readonly<Record<'raw' | 'percolator', ReadAndWrite>> = {
  raw: { read: 15_513, write: 31_003 },
  percolator: { read: 14_590, write: 7_232 },
};

export interface ReadAndWrite {
  readonly read: number;
  readonly write: number;
}

export function relative(percolator: number, raw: number): number {
  return percolator / raw;
}

/** Four groups: reads, writes, and the parts of each. `written` records completed writes. */
export function figure8Cases(
  percolator: Percolator,
  data: Data,
  given: { readonly messages: RecordedMessages; readonly written: LastWrites },
): readonly (readonly MicroCase[])[] {
  const { messages, written } = given;
  return [
    ...comparedCases(percolator, data, written),
    [
      readInOpenSnapshot(percolator, data),
      readMessage(percolator, data, messages),
      startTimestampCase(percolator),
    ],
    [prewriteAndCommitMessages(percolator, data, messages)],
  ];
}

/** Only the four cases of the paper's table: reads and writes. */
export function comparedCases(
  percolator: Percolator,
  data: Data,
  written: LastWrites,
): readonly (readonly MicroCase[])[] {
  return [
    [rawRead(percolator, data), percolatorRead(percolator, data)],
    [
      rawWriteCase(percolator, data, written.raw),
      percolatorWrite(percolator, data, written.percolator),
    ],
  ];
}

function rawRead({ store }: Percolator, data: Data): MicroCase {
  return {
    name: NAMES.rawRead,
    operate: async (operation) => {
      const row = data.rowOf(operation);
      const found = await store.readRow(RAW, data.readKeys[row] ?? '', NEWEST);
      data.checkRead(row, found?.cells[0]?.value);
    },
  };
}

function percolatorRead(percolator: Percolator, data: Data): MicroCase {
  return {
    name: NAMES.read,
    operate: async (operation) => {
      const row = data.rowOf(operation);
      const snapshot = await percolator.snapshot();
      data.checkRead(row, await snapshot.get(cellOf(data.readKeys[row] ?? '')));
      await snapshot.close();
    },
  };
}

/**
 * The cost of a transaction's second read. A snapshot asks the storage for no cell twice, so no two
 * operations of a slice may read one cell: `operationsMax` (case.ts) sees to it.
 */
function readInOpenSnapshot(percolator: Percolator, data: Data): MicroCase {
  let snapshot: Snapshot | undefined;
  return {
    name: NAMES.laterRead,
    prepare: async () => {
      snapshot = await percolator.snapshot();
    },
    operate: async (operation) => {
      const row = data.rowOf(operation);
      data.checkRead(row, await snapshot?.get(cellOf(data.readKeys[row] ?? '')));
    },
    settle: async () => snapshot?.close(),
  };
}

function startTimestampCase(percolator: Percolator): MicroCase {
  return {
    name: NAMES.timestamp,
    operate: async () => {
      const snapshot = await percolator.snapshot();
      await snapshot.close();
    },
  };
}

function readMessage(
  { store }: Percolator,
  data: Data,
  { readFilters }: RecordedMessages,
): MicroCase {
  return {
    name: NAMES.readMessage,
    operate: async (operation) => {
      const row = data.rowOf(operation);
      const found = await store.readRow(CELLS, data.readKeys[row] ?? '', readFilters);
      data.checkRead(row, found?.cells.find(({ qualifier }) => qualifier.endsWith(':data'))?.value);
    },
  };
}

function rawWriteCase({ store }: Percolator, data: Data, written: Map<number, number>): MicroCase {
  return {
    name: NAMES.rawWrite,
    operate: async (operation) => {
      const row = data.rowOf(operation);
      const value = data.value({ row, operation });
      // The loaded version is at 1.
      await store.mutateRows([rawWrite(data.writeKeys[row] ?? '', value, operation + 2)]);
      noteRawWrite(written, row, operation);
    },
  };
}

function percolatorWrite(
  percolator: Percolator,
  data: Data,
  written: Map<number, number>,
): MicroCase {
  return {
    name: NAMES.write,
    operate: async (operation) => {
      const row = data.rowOf(operation);
      const value = data.value({ row, operation });
      const cell = cellOf(data.writeKeys[row] ?? '');
      await percolator.transact(async (transaction) => {
        transaction.set(cell, value);
      });
      written.set(row, operation);
    },
    settle: () => percolator.settled(),
  };
}

/** Two slices: the first locks each row, the second turns each lock into a write record. */
function prewriteAndCommitMessages(
  { store }: Percolator,
  data: Data,
  recorded: RecordedMessages,
): MicroCase {
  // After the recorded transaction, with two timestamps for each operation.
  const as = (operation: number): Parameters<typeof sendAs>[2] => {
    const startTimestamp = recorded.commitTimestamp + 1 + 2 * operation;
    const row = data.writeKeys[data.rowOf(operation)] ?? '';
    return { row, startTimestamp, commitTimestamp: startTimestamp + 1 };
  };
  return {
    name: NAMES.prewriteMessage,
    operate: async (operation) => {
      const [found] = await store.checkAndMutateRows([sendAs(recorded, 'prewrite', as(operation))]);
      if (found !== false) throw new Error(`a prewrite was answered with ${String(found)}`);
    },
    followedBy: {
      name: NAMES.commitMessage,
      operate: async (operation) => {
        const found = await store.checkAndMutateRow(sendAs(recorded, 'commit', as(operation)));
        if (!found) throw new Error('a commit found no lock');
      },
    },
  };
}

/** The cell of the recorded transaction. */
export const MESSAGE_CELL: CellAddress = {
  table: MESSAGES,
  row: 'recorded-message',
  column: COLUMN,
};
