/**
 * A Bigtable that turns every call about rows into messages, one for each row, and waits for their
 * answers.
 */
import type { Bigtable, Row } from '../../../engine/bigtable/index.ts';
import { answersTo } from '../../../engine/bigtable/answers.ts';
import type { Answer, Request } from './messages.ts';

export function messagingBigtable(send: (request: Request) => Promise<Answer['value']>): Bigtable {
  const readRow: Bigtable['readRow'] = async (table, row, filters) =>
    (await send({ kind: 'read', table, row, filters })) as Row | undefined;
  const checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) =>
    (await send({ kind: 'check', ...conditional })) === true;
  return {
    manifest: {
      name: 'exhaustive',
      conditionalBatch: false,
      ordered: false,
      splits: true,
      durability: 'nothing survives the search',
    },
    readRow,
    readRows: (table, rows, filters) =>
      Promise.all(rows.map((row) => readRow(table, row, filters))),
    checkAndMutateRow,
    checkAndMutateRows: (conditionals) => answersTo(conditionals.map(checkAndMutateRow)),
    async mutateRows(rows) {
      const answers = await Promise.allSettled(
        rows.map((mutation) => send({ kind: 'mutate', ...mutation })),
      );
      for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
    },
    // Ranges are refused: scenarios read only rows that they name. Tables exist and stay.
    readRange: refuse,
    sampleRowKeys: refuse,
    createTable: refuse,
    listTables: refuse,
    dropTable: refuse,
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function refuse(): never {
  throw new Error('a scenario reads and writes only rows that it names');
}
