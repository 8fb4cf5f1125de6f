/**
 * A scan that sees the transaction's own writes: the snapshot's rows and the buffer's, merged by
 * key.
 */
import type { Context } from './context.ts';
import { type ScannedRow, type ScanRange, scanSnapshot } from './scan.ts';
import type { HeldSnapshot } from './stale.ts';
import type { Write, WriteBuffer } from './writes.ts';

export function scanWithWrites(
  context: Context,
  range: ScanRange,
  held: HeldSnapshot,
  writes: WriteBuffer,
): AsyncGenerator<ScannedRow> {
  const written = writtenRows(range, writes);
  return written.length === 0
    ? scanSnapshot(context, range, held)
    : mergeInto(context, range, held, written.toReversed());
}

/** `pending` has its first row last: `pop` moves no other row, as `shift` would. */
async function* mergeInto(
  context: Context,
  range: ScanRange,
  held: HeldSnapshot,
  pending: WrittenRow[],
): AsyncGenerator<ScannedRow> {
  for await (const scanned of scanSnapshot(context, range, held)) {
    yield* rowsBefore(scanned.row, pending);
    const own = pending.at(-1)?.row === scanned.row ? pending.pop() : undefined;
    const merged = own === undefined ? scanned : overlay(scanned, own.writes);
    if (merged.values.size > 0) yield merged;
  }
  yield* rowsBefore(undefined, pending);
}

interface WrittenRow {
  readonly row: string;
  readonly writes: readonly Write[];
}

/** The rows of the range that the transaction writes, in key order. */
function writtenRows(range: ScanRange, buffer: WriteBuffer): WrittenRow[] {
  const columns = new Set(range.columns);
  const rows = Map.groupBy(
    buffer.ofTable(range.table).filter((write) => columns.has(write.column) && isIn(range, write)),
    ({ row }) => row,
  );
  return [...rows]
    .map(([row, writes]) => ({ row, writes }))
    .toSorted((a, b) => compareRows(a.row, b.row));
}

function isIn({ start = '', end }: ScanRange, { row, operation }: Write): boolean {
  if (operation === 'touch' || compareRows(row, start) < 0) return false;
  return end === undefined || compareRows(row, end) < 0;
}

/** Takes from `pending` the rows that come before `row` and that the snapshot does not have. */
function* rowsBefore(row: string | undefined, pending: WrittenRow[]): Generator<ScannedRow> {
  for (;;) {
    const next = pending.at(-1);
    if (next === undefined) return;
    if (row !== undefined && compareRows(next.row, row) >= 0) return;
    pending.pop();
    const fresh = overlay({ row: next.row, values: new Map() }, next.writes);
    if (fresh.values.size > 0) yield fresh;
  }
}

function overlay({ row, values }: ScannedRow, writes: readonly Write[]): ScannedRow {
  const merged = new Map(values);
  for (const { column, value } of writes) {
    if (value === undefined) merged.delete(column);
    else merged.set(column, Buffer.from(value));
  }
  return { row, values: merged };
}

/** Order of the UTF-8 bytes: the storage's order, not JavaScript's. */
function compareRows(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
