/**
 * What this process knows of the tables, and how it refreshes that.
 *
 *     caller ──▶ waiting ─┐
 *     caller ──▶ waiting ─┴▶ one read of all definitions asked for ──▶ remembered if newer
 *     caller ──▶ waiting ───▶ the next read: this one began before the call (P54)
 *
 * What is remembered may be out of date at any moment; a caller that relies on it learns of that
 * when it uses the table (transaction/bound-tables.ts). A newer definition never gives way to an
 * older one.
 *
 * With each definition goes the count of drops that this process had heard of when it sent the
 * read. As long as it has heard of no other drop, the definition may be used again (drop.ts). The
 * count at the answer would not do: a table that was dropped while the read was in flight may be
 * among those that the answer calls existing.
 */
import { answersTo } from '../bigtable/decorate.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import type { Identity } from '../oracle/index.ts';
import {
  type Incarnation,
  isTableNotFound,
  notifyTable,
  type TableCatalog,
} from '../transaction/index.ts';
import {
  readDefinition,
  readDefinitions,
  type StoredDefinition,
  canBeStored,
  companionOf,
  incarnationOf,
  storedName,
} from './definition.ts';

interface Caller {
  readonly tables: readonly string[];
  readonly resolve: (incarnations: readonly (Incarnation | undefined)[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Known {
  /** Version of the definition that was read. */
  readonly version: number;
  /** Undefined if there is no such table. */
  readonly incarnation: Incarnation | undefined;
  /** How many drops this process had heard of before the read was sent. */
  readonly drops: number;
}

/** How many drops of tables this process has heard of; only grows (oracle/oracle.ts). */
export interface HeardDrops {
  readonly drops: number;
}

export class StoredCatalog implements TableCatalog {
  readonly #store: Bigtable;
  readonly #heard: HeardDrops;
  readonly #identity: Identity | undefined;
  readonly #known = new Map<string, Known>();
  #waiting: Caller[] = [];
  /** Whether a read is in flight or about to be sent. */
  #isReading = false;

  /** @param identity of the database; absent: a store is taken for what it is */
  constructor(store: Bigtable, heard: HeardDrops, identity?: Identity) {
    this.#store = store;
    this.#heard = heard;
    this.#identity = identity;
  }

  known(table: string): Incarnation | undefined {
    return this.#known.get(table)?.incarnation;
  }

  /** The version of the definition that this process knows; 0 if it knows none. */
  versionOf(table: string): number {
    return this.#known.get(table)?.version ?? 0;
  }

  isCurrent(table: string): boolean {
    return this.#known.get(table)?.drops === this.#heard.drops;
  }

  look(tables: readonly string[]): Promise<readonly (Incarnation | undefined)[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tables, resolve, reject });
      if (this.#isReading) return;
      this.#isReading = true;
      void this.#readForAll();
    });
  }

  async isGone(stored: string): Promise<boolean> {
    if (!canBeStored(stored)) return false; // A lock may name anything.
    const own = await readDefinition(this.#store, stored);
    const { table, incarnation } = incarnationOf(stored);
    // A table may have a name like an incarnation's, from before such names were refused.
    if (own !== undefined && (table === stored || !isOver(own, 1))) return isOver(own, 1);
    const definition = await readDefinition(this.#store, table);
    // If there is none, the table was dropped before definitions were kept.
    if (definition === undefined || isOver(definition, incarnation)) return true;
    // Once that table was dropped, older versions of the engine gave its name to an incarnation.
    return own !== undefined && definition.incarnation !== incarnation;
  }

  /**
   * Notes the definition of the table. `drops` is how many drops this process had heard of before
   * it sent the read. Default 0, which is never wrong: if there has been a drop, the definition is
   * read again before a commit relies on it. Returns the incarnation that this process now knows.
   */
  note(
    table: string,
    definition: StoredDefinition | undefined,
    drops = 0,
  ): Incarnation | undefined {
    const known = this.#known.get(table);
    // Not remembered: callers may ask for any number of names that never existed.
    if (definition === undefined) return known?.incarnation;
    const { version } = definition;
    if (known !== undefined && known.version > version) return known.incarnation;
    const isNews = known?.version !== version;
    const incarnation = isNews ? present(table, definition) : known.incarnation;
    this.#known.set(table, { version, incarnation, drops: Math.max(drops, known?.drops ?? 0) });
    return incarnation;
  }

  async #readForAll(): Promise<void> {
    await Promise.resolve(); // Callers of the same turn of the event loop share the first read.
    while (this.#waiting.length > 0) {
      const callers = this.#waiting;
      this.#waiting = [];
      await this.#answer(callers);
    }
    this.#isReading = false;
  }

  async #answer(callers: readonly Caller[]): Promise<void> {
    try {
      // Impossible names are not asked for: the storage would refuse them, and the others with
      // them.
      const tables = [...new Set(callers.flatMap((caller) => caller.tables))].filter(canBeStored);
      const { drops } = this.#heard; // Before the read is sent.
      const definitions = await readDefinitions(this.#store, tables);
      const seen = new Map(
        tables.map((table, i) => [table, this.note(table, definitions[i], drops)]),
      );
      for (const caller of callers) caller.resolve(caller.tables.map((table) => seen.get(table)));
    } catch (error) {
      // A database always has a table of definitions: a store without one is not that of it (P74,
      // another store in place).
      const cause = await (this.#identity?.causeOf(error) ?? error);
      for (const { reject } of callers) reject(cause);
    }
  }
}

function isOver({ state, incarnation: newest }: StoredDefinition, incarnation: number): boolean {
  if (newest !== incarnation) return newest > incarnation;
  return state === 'settled' || state === 'gone';
}

function present(table: string, definition: StoredDefinition): Incarnation | undefined {
  const { state, incarnation, createdAt, observedColumns, sharedColumns = [] } = definition;
  if (state !== 'there') return undefined;
  const stored = storedName(table, incarnation);
  const [observed, shared] = [new Set(observedColumns), new Set(sharedColumns)];
  return { table, stored, createdAt, observedColumns: observed, sharedColumns: shared };
}

/*
 * The storage with tables by the users' names: used to scan, park and clear notifications, to list
 * and replay parked cells, and to read a write record (observer/run-observer.ts).
 *
 *     t, t.notify ──▶ the current incarnation ──▶ the storage
 *                       ▲                          │ no such table
 *                       └──────── look again ◀─────┘
 *
 * Each call goes to the incarnation that this process knows, even if that one is already being
 * dropped; only if it knows none, or the storage has no such table, is the present one looked up.
 * For notifications any incarnation will do: a notification's timestamp tells which one it is meant
 * for, because the notifications of an incarnation are younger than all notifications of the
 * previous one. A cell is parked only where its notification is (observer/failures.ts).
 * Transactions must not use this storage: they bind each table to one incarnation
 * (transaction/bound-tables.ts).
 */

export function bigtableByUserName(store: Bigtable, catalog: TableCatalog): Bigtable {
  const at = createLookup(catalog);
  const checkAndMutateRow: Bigtable['checkAndMutateRow'] = (conditional) =>
    at(conditional.table, (table) => store.checkAndMutateRow({ ...conditional, table }));
  return decorate(store, {
    checkAndMutateRow,
    checkAndMutateRows: (conditionals) => answersTo(conditionals.map(checkAndMutateRow)),
    readRow: (name, row, filters) => at(name, (table) => store.readRow(table, row, filters)),
    readRows: (name, rows, filters) => at(name, (table) => store.readRows(table, rows, filters)),
    readRange: (name, range, filters) =>
      at(name, (table) => store.readRange(table, range, filters)),
    sampleRowKeys: (name) => at(name, (table) => store.sampleRowKeys(table)),
    async mutateRows(rows) {
      await Promise.all(
        [...Map.groupBy(rows, ({ table }) => table)].map(([name, group]) =>
          at(name, (table) => store.mutateRows(group.map((row) => ({ ...row, table })))),
        ),
      );
    },
  });
}

/**
 * Runs `call` with the storage's name of the table that users call `name`, or, if `name` is that of
 * a companion, with the storage's name of the companion.
 */
type At = <T>(name: string, call: (stored: string) => Promise<T>) => Promise<T>;

function createLookup(catalog: TableCatalog): At {
  /**
   * A call that the storage refuses because the table is missing was not applied, and may be
   * repeated.
   */
  const withTable: At = async (table, call) => {
    const known = catalog.known(table) ?? (await catalog.look([table]))[0];
    try {
      return await call(known?.stored ?? table);
    } catch (error) {
      if (!isTableNotFound(error)) throw error;
      const [now] = await catalog.look([table]);
      if (now === undefined || now.stored === known?.stored) throw error;
      return call(now.stored);
    }
  };
  return async (name, call) => {
    const table = companionOf(name);
    if (table === undefined) return withTable(name, call);
    return withTable(table, (stored) => call(notifyTable(stored)));
  };
}
