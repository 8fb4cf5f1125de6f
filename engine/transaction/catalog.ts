/**
 * What transactions ask about tables: which incarnation of a table there is, and what the storage calls it.
 *
 * A table that is dropped and created again is another table under the same name: another *incarnation*. The storage
 * has each incarnation under a name of its own, which is never used again, so nothing that was meant for the
 * one can reach the other (P52). The engine's own verbs, locks included, speak of tables by the names that
 * the storage has for them; users and observers speak of tables by the names that they gave them. A transaction
 * translates, once for each table (bound-tables.ts).
 *
 * Without a catalog a table is there under its own name, for ever: so it is in tests of the protocol, and in simulations.
 */
import type { Timestamp } from '../bigtable/index.ts';

export interface Incarnation {
  /** The name that users gave the table. */
  readonly table: string;
  /** What the storage calls this incarnation; of no other table, ever. */
  readonly stored: string;
  /** A timestamp handed out after the incarnation before had gone: no older snapshot may look at this one (P53). */
  readonly createdAt: Timestamp;
  readonly observedColumns: ReadonlySet<string>;
}

export interface TableCatalog {
  /** The incarnation that this process heard of last; a later one may be there. */
  known(table: string): Incarnation | undefined;
  /**
   * The incarnations that are there, of each table asked for, as read from the storage after this call; undefined
   * where there is none, or one that is being created or dropped. Calls at the same time share a read.
   */
  look(tables: readonly string[]): Promise<readonly (Incarnation | undefined)[]>;
  /**
   * Whether the incarnation that the storage calls `stored` is gone, and was gone only when every transaction that had
   * locked a cell of it, and could commit, had ended (P55). Reads the storage.
   */
  isGone(stored: string): Promise<boolean>;
}
