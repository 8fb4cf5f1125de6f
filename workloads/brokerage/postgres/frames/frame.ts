/**
 * A transaction's view of its connection: statements, which are prepared once for each connection.
 * All frames of the specification's transaction run through one of these.
 *
 * Statements that do not need each other's answers are sent together (`pg`, `pipeline`). So are
 * those that begin and end the transaction: BEGIN with the first statement, COMMIT with the last
 * ones.
 */
import type pg from 'pg';
import { assert } from '#engine';

export interface Statement {
  /** Unique: the server keeps its plan under this name. */
  readonly name: string;
  readonly text: string;
}

/**
 * Thrown through `inTransaction` to roll back; it carries the result that the transaction returns.
 */
export class RollBack<R> extends Error {
  readonly result: R;

  constructor(result: R) {
    super('rolled back on purpose');
    this.result = result;
  }
}

export class Frame {
  readonly #client: pg.PoolClient;
  readonly #unanswered: Promise<unknown>[] = [];
  /** The first failure. Statements sent after it fail too, for no reason of their own. */
  #failure: unknown;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async rows<R>(statement: Statement, values: readonly unknown[]): Promise<readonly R[]> {
    const { rows } = await this.#query(statement, values);
    return rows as readonly R[];
  }

  async row<R>(statement: Statement, values: readonly unknown[]): Promise<R> {
    const row = await this.rowIfAny<R>(statement, values);
    assert(row !== undefined, `${statement.name} finds a row`);
    return row;
  }

  async rowIfAny<R>(statement: Statement, values: readonly unknown[]): Promise<R | undefined> {
    const [row] = await this.rows<R>(statement, values);
    return row;
  }

  /** Resolves with the number of changed rows. */
  async change(statement: Statement, values: readonly unknown[]): Promise<number> {
    const { rowCount } = await this.#query(statement, values);
    return rowCount ?? 0;
  }

  /** Sends a change whose answer only the commit waits for. */
  send(statement: Statement, values: readonly unknown[]): void {
    this.#unanswered.push(this.#query(statement, values));
  }

  /** Commits if `transaction` resolves, and rolls back if it rejects. */
  async inTransaction<R>(transaction: () => Promise<R>): Promise<R> {
    this.#unanswered.push(this.#observed(this.#client.query('BEGIN')));
    try {
      const result = await transaction();
      this.#unanswered.push(this.#observed(this.#client.query('COMMIT')));
      await Promise.all(this.#unanswered);
      return result;
    } catch (error) {
      // If this fails too, the connection is gone, as the first failure says.
      await this.#client.query('ROLLBACK').catch(() => {});
      if (this.#failure !== undefined) throw this.#failure;
      if (error instanceof RollBack) return error.result as R;
      throw error;
    }
  }

  #query(statement: Statement, values: readonly unknown[]): Promise<pg.QueryResult> {
    return this.#observed(this.#client.query({ ...statement, values: [...values] }));
  }

  /**
   * Notes the first failure: answers come in the order of statements. A caller waits for each
   * answer, but perhaps not yet, and a rejection without a handler would end the process.
   */
  #observed<T>(answer: Promise<T>): Promise<T> {
    answer.catch((error: unknown) => {
      this.#failure ??= error;
    });
    return answer;
  }
}
