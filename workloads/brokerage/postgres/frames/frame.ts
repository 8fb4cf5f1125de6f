/**
 * What a transaction on this side has of its connection: statements, which are prepared once for each connection.
 *
 * Statements that do not wait for each other's answers are sent together (`pg`, `pipeline`), and so is what begins and
 * ends the transaction: BEGIN with the first statement, COMMIT with the last ones.
 */
import type pg from 'pg';
import { assert } from '#engine';

export interface Statement {
  /** Unique: the server keeps its plan under this name. */
  readonly name: string;
  readonly text: string;
}

/** Thrown through `inTransaction` to roll back: what the transaction returns then. */
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
  /** The first there was. What was sent behind it fails too, for no reason of its own. */
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

  /** Resolves with how many rows were changed. */
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
      await this.#client.query('ROLLBACK').catch(() => {}); // Then the connection is gone, as the error says.
      if (this.#failure !== undefined) throw this.#failure;
      if (error instanceof RollBack) return error.result as R;
      throw error;
    }
  }

  #query(statement: Statement, values: readonly unknown[]): Promise<pg.QueryResult> {
    return this.#observed(this.#client.query({ ...statement, values: [...values] }));
  }

  /** Answers come in the order of statements. Somebody waits for each, but perhaps not yet. */
  #observed<T>(answer: Promise<T>): Promise<T> {
    answer.catch((error: unknown) => {
      this.#failure ??= error;
    });
    return answer;
  }
}
