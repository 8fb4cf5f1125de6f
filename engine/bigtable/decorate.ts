/**
 * A storage with some of its members replaced: for wrappers that change only a few of them.
 *
 *     caller ──▶ decorated ──▶ replaced ──▶ store
 *                       └──────────────────▶ store
 *
 * A member that is not replaced forwards to `store`, with `store` as `this`. Disposing of the
 * result calls its `close`, even if that was replaced.
 */
import type { Bigtable } from './bigtable.ts';

/**
 * @param replaced the members to use instead. To pass a call on, they call `store`, which itself
 *   never calls a replaced member
 */
export function decorate(
  store: Bigtable,
  replaced: Partial<Omit<Bigtable, typeof Symbol.asyncDispose>>,
): Bigtable {
  return {
    manifest: store.manifest,
    onChange: store.onChange?.bind(store),
    fence: store.fence?.bind(store),
    damage: store.damage,
    readRow: (...given) => store.readRow(...given),
    readRows: (...given) => store.readRows(...given),
    readRange: (...given) => store.readRange(...given),
    checkAndMutateRow: (conditional) => store.checkAndMutateRow(conditional),
    checkAndMutateRows: (conditionals) => store.checkAndMutateRows(conditionals),
    mutateRows: (rows) => store.mutateRows(rows),
    sampleRowKeys: (table) => store.sampleRowKeys(table),
    createTable: (table, schema) => store.createTable(table, schema),
    listTables: () => store.listTables(),
    dropTable: (table) => store.dropTable(table),
    close: () => store.close(),
    ...replaced,
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}

/**
 * The answers to conditional mutations in flight, in their order. Never rejects: the answer to a
 * failed mutation is its error.
 */
export async function answersTo(
  sent: readonly Promise<boolean>[],
): Promise<readonly (boolean | Error)[]> {
  const answers = await Promise.allSettled(sent);
  return answers.map((answer) => {
    if (answer.status === 'fulfilled') return answer.value;
    return answer.reason instanceof Error ? answer.reason : new Error(String(answer.reason));
  });
}
