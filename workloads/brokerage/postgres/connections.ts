/**
 * Connections for transactions: a pool for each isolation level, and a retry after a conflict.
 *
 * The level is a property of the connection. So a transaction that is one statement needs nothing
 * around it, and takes one round trip, including its commit.
 *
 *     the specification (7.4.1)                     PostgreSQL
 *     1  no dirty reads                             READ COMMITTED
 *     2  and repeatable reads                       REPEATABLE READ, which is snapshot isolation
 *     3  and no phantoms                            the same; or SERIALIZABLE
 *
 * Only Trade-Result needs level 3. Snapshot isolation is enough for it, as it is for Percolator:
 * two Trade-Results on one position both write its row of HOLDING_SUMMARY, so one fails.
 * SERIALIZABLE also detects this on its own, but reports many false conflicts besides, since it
 * tracks reads by pages of indexes.
 *
 * The loser of a conflict runs again at once. At REPEATABLE READ the winner has committed by then:
 * otherwise the loser would still wait. After a deadlock, the loser may wait for the same lock
 * again.
 */
import pg from 'pg';
import type { TableName, TableReader, TableRow } from '../model/tables.ts';
import { type Execution, TRANSACTIONS, type TransactionType } from '../transactions/index.ts';

type Isolation = 'read committed' | 'repeatable read' | 'serializable';

/** serialization_failure and deadlock_detected. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01']);

/** Every number of the model is a safe integer, including those of eight bytes. */
const safeIntegers: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8
      ? Number
      : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

export interface ConnectionsOptions {
  /**
   * Maximum number of connections at each isolation level. With more transactions, some wait for a
   * connection.
   */
  readonly connectionsMax: number;
  /** Isolation level of Trade-Result. */
  readonly level3: Exclude<Isolation, 'read committed'>;
}

export class Connections implements AsyncDisposable {
  readonly #options: ConnectionsOptions & { readonly connection: pg.ClientConfig };
  /** Created on demand. */
  readonly #pools = new Map<Isolation, pg.Pool>();

  constructor(connection: pg.ClientConfig, options: ConnectionsOptions) {
    this.#options = { connection, ...options };
  }

  /** Runs the transaction on a connection with the isolation of its type, until it commits. */
  async execute<R>(
    type: TransactionType,
    transaction: (client: pg.PoolClient) => Promise<R>,
  ): Promise<Execution<R>> {
    const client = await this.#poolFor(type).connect();
    let failure: Error | undefined;
    try {
      for (let attempts = 1; ; attempts++) {
        try {
          return { result: await transaction(client), attempts };
        } catch (error) {
          if (!isConflict(error)) throw error;
        }
      }
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      client.release(failure); // After an error the connection is not reused.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.end()));
    this.#pools.clear();
  }

  #poolFor(type: TransactionType): pg.Pool {
    const levels = { 1: 'read committed', 2: 'repeatable read', 3: this.#options.level3 } as const;
    const isolation = levels[TRANSACTIONS[type].isolation];
    const pool = this.#pools.get(isolation) ?? this.#createPool(isolation);
    this.#pools.set(isolation, pool);
    return pool;
  }

  #createPool(isolation: Isolation): pg.Pool {
    const { connection, connectionsMax: max } = this.#options;
    const types = safeIntegers;
    const pool = new pg.Pool({ ...connection, types, max, idleTimeoutMillis: 0 });
    pool.on('connect', (client) => {
      // It fails only if the connection does, and then the next statement fails, too.
      client.query(`SET default_transaction_isolation TO '${isolation}'`).catch(() => {});
    });
    // An idle connection was closed: the next transaction opens another.
    pool.on('error', () => {});
    return pool;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && CONFLICTS.has(error.code ?? '');
}

const ROWS = 5_000;

/** Reads whole tables for the checks, some thousand rows at a time. */
export function readTables(connection: pg.ClientConfig): TableReader {
  return { rows: (table) => readTable(connection, table) };
}

async function* readTable<T extends TableName>(
  connection: pg.ClientConfig,
  table: T,
): AsyncIterable<TableRow<T>> {
  const client = new pg.Client({ ...connection, types: safeIntegers });
  await client.connect();
  try {
    await client.query(`BEGIN; DECLARE reading CURSOR FOR SELECT * FROM ${table}`);
    for (;;) {
      const { rows } = await client.query<TableRow<T> & pg.QueryResultRow>(
        `FETCH ${ROWS} FROM reading`,
      );
      yield* rows;
      if (rows.length < ROWS) return;
    }
  } finally {
    await client.end();
  }
}
