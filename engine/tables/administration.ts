/** The parts that creating and dropping tables work with. */
import type { Bigtable } from '../bigtable/index.ts';
import type { Context } from '../transaction/index.ts';
import type { StoredCatalog } from './catalog.ts';
import { type Definition, step, type StoredDefinition } from './definition.ts';
import type { Waiting } from './waiting.ts';

export interface Administration {
  readonly context: Context;
  /** The storage itself, without batching. */
  readonly store: Bigtable;
  readonly catalog: StoredCatalog;
  readonly waiting: Waiting;
  /** A new name for an attempt to create a table: `<liveness token>#<nonce>.<number>`. */
  nextCreator(): string;
}

/**
 * Makes a step of a definition and notes it in this process's catalog; undefined if it was not
 * made: another process made a different step first, or the request was lost.
 */
export async function stepOf(
  { store, catalog }: Administration,
  table: string,
  from: StoredDefinition | undefined,
  to: Definition,
): Promise<StoredDefinition | undefined> {
  const made = await step(store, table, { from, to, known: catalog.versionOf(table) });
  if (made !== undefined) catalog.note(table, made);
  return made;
}
