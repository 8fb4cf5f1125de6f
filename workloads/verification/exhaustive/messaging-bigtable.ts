/**
 * A Bigtable that turns every call into messages, one for each row, and waits for their answers.
 */
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Row,
  RowMutation,
} from '../../../engine/bigtable/index.ts';
import { answersTo } from '../../../engine/bigtable/answers.ts';
import type { Answer, Request } from './messages.ts';

type Send = (request: Request) => Promise<Answer['value']>;

export class MessagingBigtable implements Bigtable {
  readonly manifest: Manifest = {
    name: 'exhaustive',
    conditionalBatch: false,
    ordered: false,
    splits: true,
    durability: 'nothing survives the search',
  };
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async readRow(
    table: string,
    row: string,
    filters: readonly CellFilter[],
  ): Promise<Row | undefined> {
    return (await this.#send({ kind: 'read', table, row, filters })) as Row | undefined;
  }

  readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    return Promise.all(rows.map((row) => this.readRow(table, row, filters)));
  }

  async checkAndMutateRow(conditional: ConditionalRowMutation): Promise<boolean> {
    return (await this.#send({ kind: 'check', ...conditional })) === true;
  }

  checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]> {
    return answersTo(conditionals.map((conditional) => this.checkAndMutateRow(conditional)));
  }

  async mutateRows(rows: readonly RowMutation[]): Promise<void> {
    const answers = await Promise.allSettled(
      rows.map((mutation) => this.#send({ kind: 'mutate', ...mutation })),
    );
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  }

  // A range is read row by row, because scenarios name their rows; tables exist and stay.
  readRange(): Promise<readonly Row[]> {
    return refuse();
  }

  sampleRowKeys(): Promise<readonly string[]> {
    return refuse();
  }

  createTable(): Promise<void> {
    return refuse();
  }

  listTables(): Promise<readonly string[]> {
    return refuse();
  }

  dropTable(): Promise<void> {
    return refuse();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function refuse(): never {
  throw new Error('a scenario reads and writes only rows that it names');
}
