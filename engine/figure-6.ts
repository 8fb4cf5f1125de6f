/**
 * Figure 6 of the paper, line by line, on any Bigtable. To learn Percolator, start here.
 *
 *     begin ─▶ get, set ─▶ prewrite the primary ─▶ prewrite the others ─▶ commit timestamp
 *                                           ─▶ commit the primary: THE COMMIT POINT ─▶ the others
 *
 * This is what the paper prints, with the clean-up that it describes in prose, and nothing more. It
 * holds as long as every process lives and every message arrives once. The comments P1, P2, ...
 * mark where it breaks otherwise: protocol.md tells each race, figure-6.test.ts runs five of them,
 * and transaction/ is this file with all of them closed. Nothing but that test uses it.
 *
 * Left out, as in the figure: deletes (P17), garbage collection (P30, P31), observers (P40).
 */
import type { Bigtable, Mutation, Timestamp } from './bigtable/index.ts';

export interface Figure6Services {
  /** Its table has the families `data`, `lock` and `write`: "Percolator's columns" (Figure 5). */
  readonly store: Bigtable;
  readonly table: string;
  readonly oracle: { next(): Promise<Timestamp> };
  /** Whether the owner of a lock is suspected to be dead. P24, P26: it may live. */
  readonly isSuspect: (startTimestamp: Timestamp) => boolean;
  readonly backOff: () => Promise<void>;
}

interface Figure6Write {
  readonly row: string;
  readonly column: string;
  readonly value: string;
}

interface Figure6Lock {
  readonly startTimestamp: Timestamp;
  readonly primary: { readonly row: string; readonly column: string };
}

export class Figure6Transaction {
  readonly startTimestamp: Timestamp;
  readonly #services: Figure6Services;
  readonly #writes: Figure6Write[] = [];

  static async begin(services: Figure6Services): Promise<Figure6Transaction> {
    return new Figure6Transaction(services, await services.oracle.next());
  }

  private constructor(services: Figure6Services, startTimestamp: Timestamp) {
    this.#services = services;
    this.startTimestamp = startTimestamp;
  }

  /** "Calls to Set() are buffered ... until commit time." P16: a cell may be in the list twice. */
  set(row: string, column: string, value: string): void {
    this.#writes.push({ row, column, value });
  }

  async get(row: string, column: string): Promise<string | undefined> {
    const { store, table, backOff, isSuspect } = this.#services;
    for (;;) {
      const upToUs = { from: 0, to: this.startTimestamp, versions: 1 };
      // One read, as in the figure's row transaction (P20, reads of different moments).
      const found = await store.readRow(table, row, [
        { ...cell('lock', column), ...upToUs }, // "Check for locks that signal concurrent writes."
        { ...cell('write', column), ...upToUs }, // "Find the latest write below our start_timestamp."
      ]);
      const lock = found?.cells.find(({ family }) => family === 'lock');
      if (lock === undefined) {
        const record = found?.cells.find(({ family }) => family === 'write');
        return record && this.#data(row, column, Number(textOf(record)));
      }
      // "There is a pending lock; try to clean it and wait." P80: the next lock makes it wait anew.
      const primary = JSON.parse(textOf(lock)) as Figure6Lock['primary'];
      if (!isSuspect(lock.timestamp)) await backOff();
      else await this.#cleanUp(row, column, { startTimestamp: lock.timestamp, primary });
    }
  }

  async commit(): Promise<boolean> {
    const { store, table, oracle } = this.#services;
    const [primary, ...secondaries] = this.#writes;
    if (primary === undefined) return true;
    if (!(await this.#prewrite(primary, primary))) return false;
    for (const write of secondaries) {
      // P7: what was locked stays locked. P21: and the lock that was in the way stays, too.
      if (!(await this.#prewrite(write, primary))) return false;
    }
    const commitTimestamp = await oracle.next(); // P10: only with all locks held.
    // "Commit primary first." P11: if its answer is lost, has it committed?
    const committed = await store.checkAndMutateRow({
      table,
      row: primary.row,
      anyOf: [at('lock', primary.column, this.startTimestamp)],
      ifFound: commitMutations(primary.column, this.startTimestamp, commitTimestamp),
    });
    if (!committed) return false; // "Aborted while working." P12: or committed by an earlier copy.
    // "Second phase: write out write records for secondary cells." P9: it may come an hour late.
    for (const { row, column } of secondaries) {
      const mutations = commitMutations(column, this.startTimestamp, commitTimestamp);
      await store.mutateRows([{ table, row, mutations }]);
    }
    return true;
  }

  /** "Prewrite tries to lock cell w, returning false in case of conflict." P1, P12: a copy. */
  async #prewrite({ row, column, value }: Figure6Write, primary: Figure6Write): Promise<boolean> {
    const { store, table } = this.#services;
    const lock = JSON.stringify({ row: primary.row, column: primary.column });
    const found = await store.checkAndMutateRow({
      table,
      row,
      anyOf: [
        { ...cell('write', column), from: this.startTimestamp }, // "Abort on writes after our start"
        cell('lock', column), // "or locks at any timestamp."
      ],
      ifNotFound: [
        put('data', column, this.startTimestamp, value),
        put('lock', column, this.startTimestamp, lock),
      ],
    });
    return !found;
  }

  /**
   * "Performing either a cleanup or commit operation requires modifying the primary lock": the
   * paper has no code for it. P1, P2: nothing keeps a late prewrite from locking the primary again.
   */
  async #cleanUp(row: string, column: string, lock: Figure6Lock): Promise<void> {
    const { store, table } = this.#services;
    const { primary, startTimestamp } = lock;
    const isRolledBack = await store.checkAndMutateRow({
      table,
      row: primary.row,
      anyOf: [at('lock', primary.column, startTimestamp)],
      ifFound: [{ kind: 'erase', ...at('lock', primary.column, startTimestamp) }],
    });
    const found = await store.readRow(table, primary.row, [cell('write', primary.column)]);
    const record = found?.cells.find((one) => textOf(one) === String(startTimestamp));
    const mutations =
      isRolledBack || record === undefined
        ? [{ kind: 'erase', ...at('lock', column, startTimestamp) } as const]
        : commitMutations(column, startTimestamp, record.timestamp);
    await store.mutateRows([{ table, row, mutations }]);
  }

  async #data(row: string, column: string, timestamp: Timestamp): Promise<string | undefined> {
    const { store, table } = this.#services;
    const found = await store.readRow(table, row, [at('data', column, timestamp)]);
    return found?.cells[0] && textOf(found.cells[0]);
  }
}

function commitMutations(column: string, startTimestamp: Timestamp, commitTimestamp: Timestamp) {
  const pointer = String(startTimestamp); // "Pointer to data written at start_ts_."
  return [
    put('write', column, commitTimestamp, pointer),
    { kind: 'erase', ...cell('lock', column), from: 0, to: commitTimestamp } as const,
  ];
}

/** Figure 5: the columns of c, here each in a family of its own. */
function cell(family: string, qualifier: string): { family: string; qualifier: string } {
  return { family, qualifier };
}

function at(family: string, qualifier: string, timestamp: Timestamp) {
  return { family, qualifier, from: timestamp, to: timestamp };
}

function put(family: string, qualifier: string, timestamp: Timestamp, text: string): Mutation {
  return { kind: 'set', family, qualifier, timestamp, value: Buffer.from(text) };
}

function textOf({ value }: { readonly value: Uint8Array }): string {
  return Buffer.from(value).toString();
}
