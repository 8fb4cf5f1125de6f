/**
 * Connections for transactions: a pool for each level of isolation, and another try after a conflict.
 *
 * The level is a property of the connection. So a transaction that is one statement needs nothing around it, and is one
 * round trip, its commit included.
 *
 *     the specification (7.4.1)                     PostgreSQL
 *     1  no dirty reads                             READ COMMITTED
 *     2  and repeatable reads                       REPEATABLE READ, which is snapshot isolation
 *     3  and no phantoms                            SERIALIZABLE
 *
 * Whoever loses a conflict runs again at once: by then the winner has committed, as the loser waited for it.
 */
import pg from 'pg';
import { type Executed, TRANSACTIONS, type TransactionType } from '../model/index.ts';

const LEVELS = { 1: 'read committed', 2: 'repeatable read', 3: 'serializable' } as const;

/** serialization_failure and deadlock_detected. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01']);

/** Every number of the model is a safe integer, also those of eight bytes. */
export const safeIntegers: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8
      ? Number
      : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

export interface ConnectionsOptions {
  /** At each level of isolation. Fewer than clients: they wait for each other. */
  readonly connectionsMax: number;
  /** Several statements may be underway on a connection at a time. */
  readonly pipeline: boolean;
}

export class Connections implements AsyncDisposable {
  readonly #pools: Readonly<Record<1 | 2 | 3, pg.Pool>>;

  constructor(connection: pg.ClientConfig, { connectionsMax, pipeline }: ConnectionsOptions) {
    const pool = (level: 1 | 2 | 3): pg.Pool => {
      const created = new pg.Pool({
        ...connection,
        types: safeIntegers,
        pipeline,
        max: connectionsMax,
        idleTimeoutMillis: 0,
      });
      created.on('connect', (client) => {
        // It fails only with the connection, and then so does what comes next.
        client.query(`SET default_transaction_isolation TO '${LEVELS[level]}'`).catch(() => {});
      });
      created.on('error', () => {}); // An idle connection is gone: the next transaction gets another.
      return created;
    };
    this.#pools = { 1: pool(1), 2: pool(2), 3: pool(3) };
  }

  /** Runs it on a connection of the isolation that its type asks for, until it is through. */
  async execute<R>(
    type: TransactionType,
    transaction: (client: pg.PoolClient) => Promise<R>,
  ): Promise<Executed<R>> {
    const client = await this.#pools[TRANSACTIONS[type].isolation].connect();
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
      client.release(failure); // With an error it is not used again.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.end()));
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof pg.DatabaseError && CONFLICTS.has(error.code ?? '');
}
