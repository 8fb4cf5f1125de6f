/**
 * A process's way to storage and oracle. What it asks of the tables of users, and of the oracle,
 * becomes messages. What it asks of the engine's own tables (definitions of tables, leases,
 * identity) is answered at once: it is not what the explorer shows.
 */
import { answersTo } from '../../../../engine/bigtable/decorate.ts';
import {
  type Bigtable,
  decorate,
  type Row,
  type Timestamp,
} from '../../../../engine/bigtable/index.ts';
import {
  batchTimestamps,
  openAllocator,
  type TimestampOracle,
} from '../../../../engine/oracle/index.ts';
import { ORACLE_TABLE } from '../../../../engine/oracle/oracle-row.ts';
import type { ExplorerAnswer, ExplorerRequest } from './message.ts';
import type { ExplorerProcess } from './process.ts';

/** Sends a message; settles as it is answered, or never. */
export type Send = (request: ExplorerRequest) => Promise<ExplorerAnswer>;

/** What the oracle says along with each answer. */
export interface OracleNews {
  readonly horizon: Timestamp;
  readonly drops: number;
}

export function isOwnTable(table: string): boolean {
  return table.startsWith('percolator-') || table === ORACLE_TABLE;
}

/** @param ownRanges whether the oracle's table is asked by messages, too */
export function doorTo(store: Bigtable, send: Send, ownRanges: boolean = false): Bigtable {
  const isAside = (table: string): boolean =>
    isOwnTable(table) && !(ownRanges && table === ORACLE_TABLE);
  const readRow: Bigtable['readRow'] = async (table, row, filters) => {
    if (isAside(table)) return store.readRow(table, row, filters);
    return (await send({ kind: 'read', table, row, filters })) as Row | undefined;
  };
  const checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) => {
    if (isAside(conditional.table)) return store.checkAndMutateRow(conditional);
    return (await send({ kind: 'check', ...conditional })) === true;
  };
  const door = decorate(store, {
    readRow,
    readRows: (table, rows, filters) =>
      Promise.all(rows.map((row) => readRow(table, row, filters))),
    readRange: async (table, range, filters) => {
      if (isAside(table)) return store.readRange(table, range, filters);
      return (await send({ kind: 'range', table, range, filters })) as readonly Row[];
    },
    checkAndMutateRow,
    checkAndMutateRows: (conditionals) => answersTo(conditionals.map(checkAndMutateRow)),
    mutateRows: async (rows) => {
      const answers = await Promise.allSettled(
        rows.map((row) =>
          isAside(row.table) ? store.mutateRows([row]) : send({ kind: 'mutate', ...row }),
        ),
      );
      for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
    },
    close: () => Promise.resolve(),
  });
  // Messages overtake one another, so nothing is applied in the order sent.
  return { ...door, manifest: { ...store.manifest, name: 'explorer', ordered: false } };
}

/** @param news what the oracle has said to this process; changes as it hears more */
export function oracleFor(send: Send, news: () => OracleNews): TimestampOracle {
  return {
    next: async () => (await send({ kind: 'timestamp' })) as Timestamp,
    get horizon() {
      return news().horizon;
    },
    readHorizon: async () => (await send({ kind: 'horizon' })) as Timestamp,
    raiseHorizon: async (horizon) => (await send({ kind: 'raise horizon', horizon })) as Timestamp,
    get drops() {
      return news().drops;
    },
    announceDrop: async () => (await send({ kind: 'announce drop' })) as number,
    belongTo: () => Promise.resolve(),
  };
}

/** So small that a story sees the next one being taken. */
const RANGE_SIZE = 5;

/** @param process its name in this life, and its clock */
export async function rangesFor(
  store: Bigtable,
  { name: owner, clock }: Pick<ExplorerProcess, 'name' | 'clock'>,
): Promise<TimestampOracle> {
  return batchTimestamps(await openAllocator(store, { owner, clock, rangeSize: RANGE_SIZE }));
}
