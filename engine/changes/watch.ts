/**
 * Watch: the value of one cell, and each value that is committed to it from then on.
 *
 *     for await (const { value } of percolator.watch(cell)) show(value);
 *
 *     snapshot at S ──▶ its value ──▶ the changes of the cell after S ──▶ each value, in order
 *
 * No value is left out between the first and the next one, because the snapshot and the changes
 * meet at S. A caller that takes long finds all that came meanwhile, one after the other.
 */
import { check, checkOptions, type OptionRules } from '../base/options.ts';
import { keyAfter, type Timestamp } from '../bigtable/index.ts';
import {
  CELL,
  type CellAddress,
  checkUserColumn,
  type Context,
  snapshotAt,
} from '../transaction/index.ts';
import { changes, CHANGES_RULES, type ChangesOptions } from './changes.ts';

/** As those of `changes`. */
export type WatchOptions = Pick<ChangesOptions, 'restMsMax' | 'signal'>;

/** What a cell had from a moment on. */
export interface WatchedValue {
  /** Undefined if it had none. */
  readonly value: Uint8Array | undefined;
  /** When it was committed; of the first one, when it was read. */
  readonly timestamp: Timestamp;
}

const { restMsMax, signal } = CHANGES_RULES;
const RULES: OptionRules<WatchOptions> = { restMsMax, signal };

/** @throws INVALID_ARGUMENT at once; what `changes` throws, while it is read */
export function watch(
  context: Context,
  cell: CellAddress,
  options: WatchOptions = {},
): AsyncGenerator<WatchedValue, void, undefined> {
  check('the cell to watch', cell, CELL);
  checkUserColumn(cell.column);
  checkOptions('watch', options, RULES);
  return valuesOf(context, { ...cell }, options);
}

async function* valuesOf(
  context: Context,
  cell: CellAddress,
  options: WatchOptions,
): AsyncGenerator<WatchedValue, void, undefined> {
  const { table, row, column } = cell;
  const snapshot = await snapshotAt(context);
  const { startTimestamp: from } = snapshot;
  const columns = [column];
  const wanted = { ...options, from, follow: true, start: row, end: keyAfter(row), columns };
  const later = changes(context, table, wanted);
  try {
    yield { value: await snapshot.get(cell), timestamp: from };
    const first = await later.next(); // From here on, the changes hold their own place.
    await snapshot.close();
    for (let next = first; next.done !== true; next = await later.next()) {
      const event = next.value;
      if (event.kind === 'resolved') continue;
      yield { value: event.value, timestamp: event.commitTimestamp };
    }
  } finally {
    await snapshot.close();
    await later.return();
  }
}
