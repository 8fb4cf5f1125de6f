/**
 * The identity of a database: a random name in its oracle's row, written once, by the first process
 * that opens the database or its oracle.
 *
 *     store ──▶ its oracle's row ──▶ identity ◀── compared ──▶ the database that was opened (P74)
 *                                       ▲
 *                                       └──────── compared ──▶ every answer of its oracle (P73)
 *
 * Addresses are not enough to tell databases apart: a line of a configuration is swapped, another
 * server listens at a port that was free, a store comes back empty. Nothing fails then.
 * The timestamps of two oracles have no order in common, so updates are lost; and a table that is
 * missing looks like one that was dropped.
 *
 * The comparison costs no call: the row is read anyway, and the oracle answers anyway. What asks no
 * oracle asks for the identity explicitly, before it acts.
 */
import { hasCode, PercolatorError } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { findIdentity, type OracleRow, readIdentity, readOracleRow } from './oracle-row.ts';

/** The database that was opened, and a look whether its store still has it. */
export interface Identity {
  readonly name: string;
  /** @throws WRONG_DATABASE if the store came back empty, or has another database now */
  check(): Promise<void>;
  /**
   * The error, or WRONG_DATABASE if a table is missing because the store is no longer that of the
   * database.
   */
  causeOf(error: unknown): Promise<unknown>;
}

/** The identity of the database in `store`, which gets one if it has none. */
export async function identify(store: Bigtable): Promise<Identity> {
  return identityIn(store, await findIdentity(store));
}

/** The same, if its name is known. */
export function identityIn(store: Bigtable, name: string): Identity {
  const check = async (): Promise<void> => checkStored(name, await readIdentity(store));
  const causeOf = async (error: unknown): Promise<unknown> => {
    if (!hasCode(error, 'TABLE_NOT_FOUND')) return error;
    return check().then(
      () => error,
      (cause: unknown) => (hasCode(cause, 'WRONG_DATABASE') ? cause : error),
    );
  };
  return { name, check, causeOf };
}

/** All columns of the oracle's row of this database. @throws WRONG_DATABASE as `Identity.check` */
export async function readRowOf(identity: string, store: Bigtable): Promise<OracleRow> {
  try {
    const row = await readOracleRow(store);
    checkStored(identity, row.identity);
    return row;
  } catch (error) {
    if (hasCode(error, 'TABLE_NOT_FOUND')) checkStored(identity, undefined);
    throw error;
  }
}

function checkStored(identity: string, found: string | undefined): void {
  if (found === identity) return;
  const now = found === undefined ? 'it came back empty' : `it has the database ${found} now`;
  throw new PercolatorError(
    'WRONG_DATABASE',
    `the store is no longer that of the database ${identity}, which was opened: ${now}; ` +
      'bring the store back, or open the database anew',
  );
}

/** @throws WRONG_DATABASE unless an oracle of the database `found` may serve the one `wanted` */
export function checkOracle(wanted: string, found: string | undefined): void {
  if (found === wanted) return;
  const what = found ? `belongs to the database ${found}` : 'names no database';
  throw new PercolatorError(
    'WRONG_DATABASE',
    `it ${what}, not to the database ${wanted}: connect to an oracle of the same store`,
  );
}
