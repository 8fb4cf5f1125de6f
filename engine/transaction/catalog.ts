/**
 * What transactions ask about tables: which incarnation of a table exists, and what the storage
 * calls it.
 *
 * A table that is dropped and created again is a different table with the same name: another
 * *incarnation*. The storage keeps each incarnation under a name of its own, which is never used
 * again, so nothing that was meant for one can reach the other (P52). The engine's own code, locks
 * included, names tables as the storage does; users and observers use the names that users gave the
 * tables. A transaction translates, once per table (bound-tables.ts).
 *
 * Without a catalog every table exists for ever, under its own name. Tests of the protocol and
 * the exhaustive search work that way.
 */
import type { Timestamp } from '../bigtable/index.ts';

export interface Incarnation {
  /** The name that users gave the table. */
  readonly table: string;
  /** The storage's name of this incarnation, which no other table ever has. */
  readonly stored: string;
  /**
   * A timestamp handed out after the previous incarnation was gone:
   * no older snapshot may read this one (P53).
   */
  readonly createdAt: Timestamp;
  readonly observedColumns: ReadonlySet<string>;
}

export interface TableCatalog {
  /** The newest incarnation that this process has learned of; there may be a newer one. */
  known(table: string): Incarnation | undefined;
  /**
   * Whether no drop of any table has been announced, as far as this process has heard, since it
   * asked the storage for what `known` returns (P54). Costs nothing.
   */
  isCurrent(table: string): boolean;
  /**
   * Reads from the storage, after this call, the existing incarnation of each table; undefined
   * where there is none, or where it is being created or dropped. Concurrent calls share a read.
   */
  look(tables: readonly string[]): Promise<readonly (Incarnation | undefined)[]>;
  /**
   * Whether the incarnation that the storage calls `stored` is gone, and went only after every
   * transaction that had locked a cell of it and could commit had ended (P55). Reads the storage.
   */
  isGone(stored: string): Promise<boolean>;
}
