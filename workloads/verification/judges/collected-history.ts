/**
 * The part of a history that the storage no longer has: the write records, acknowledgments and
 * rollback markers that collectors have erased. Together with the cells still stored at the end
 * (stored-history.ts) that is all the storage ever had, so a history is judged exactly although
 * garbage was collected meanwhile.
 *
 *     collector asks to erase cells ─▶ read them ─▶ call the listener ─▶ erase them
 *
 * A process that dies after the call of the listener leaves records that are both reported and
 * stored, or reported again by the next collector. The judges accept a record that they see twice.
 * Only blind mutations are checked: no conditional mutation erases records or markers.
 */
import {
  type Bigtable,
  type CellFilter,
  decorate,
  type Mutation,
  type RowMutation,
} from '../../../engine/bigtable/index.ts';
import { CELLS, isOf, ROLLBACK, WRITE } from '../../../engine/transaction/index.ts';
import { type RecordsAndMarkers, recordedCells } from './stored-history.ts';

type Erasure = Extract<Mutation, { readonly kind: 'erase' }>;

/**
 * The same store, except that `listener` is called with the records and markers of each row before
 * they are erased. If it throws, nothing of the call's garbage is erased.
 */
export function observeCollection(
  store: Bigtable,
  listener: (collected: RecordsAndMarkers) => void,
): Bigtable {
  const collect = async (rows: readonly RowMutation[]): Promise<void> => {
    for (const collected of await Promise.all(rows.map((row) => readErased(store, row)))) {
      listener(collected);
    }
    await store.mutateRows(rows);
  };
  return decorate(store, {
    async mutateRows(rows) {
      const collecting = rows.filter((row) => erasuresOf(row).length > 0);
      if (collecting.length === 0) return store.mutateRows(rows);
      // Other rows are sent at once: a store that keeps the order of mutations must still do so.
      const others = rows.filter((row) => !collecting.includes(row));
      await Promise.all([others.length > 0 && store.mutateRows(others), collect(collecting)]);
    },
  });
}

/** The records and markers that the mutation would erase. */
async function readErased(store: Bigtable, mutation: RowMutation): Promise<RecordsAndMarkers> {
  const { table, row } = mutation;
  const erasures = erasuresOf(mutation);
  const found = await store.readRow(table, row, filtersOf(erasures));
  const erased = (found?.cells ?? []).filter(({ family, qualifier, timestamp }) =>
    erasures.some(
      ({ from, to, ...column }) =>
        column.family === family &&
        column.qualifier === qualifier &&
        from <= timestamp &&
        timestamp <= to,
    ),
  );
  return recordedCells(table, row, erased);
}

function erasuresOf({ mutations }: RowMutation): readonly Erasure[] {
  return mutations
    .filter((mutation) => mutation.kind === 'erase')
    .filter((one) => one.family === CELLS && (isOf(WRITE, one) || isOf(ROLLBACK, one)));
}

/** One filter for each column: a row may have thousands of old versions. */
function filtersOf(erasures: readonly Erasure[]): readonly CellFilter[] {
  const columns = Map.groupBy(erasures, ({ family, qualifier }) => `${family}\0${qualifier}`);
  return [...columns.values()].flatMap((ofColumn) => {
    const [first] = ofColumn;
    if (first === undefined) return [];
    const from = ofColumn.reduce((least, one) => Math.min(least, one.from), first.from);
    const to = ofColumn.reduce((most, one) => Math.max(most, one.to), first.to);
    return [{ family: first.family, qualifier: first.qualifier, from, to }];
  });
}
