/**
 * The judge of what a reader of changes was told. A reader that goes on from its cursor, also in
 * another process, goes on with its section; one whose place was lost, because changes were
 * collected or the table was created again, begins a new section at the present.
 *
 *     section   from 17: x@20 y@20 x@31, resolved 40; z@44 ...     STALE_SNAPSHOT
 *     section   from 93: ...
 *
 * It compares each section with all records that the storage ever held, and claims:
 *
 *   1. Between its first timestamp and the last place that was reported, it has each change once,
 *      in order, and none is missing.
 *   2. No change was added at or below a resolved timestamp that it was told before.
 *   3. Each value is the one that the transaction wrote; and a value before, that of the cell's
 *      record before.
 */
import { compareTexts } from '../../../engine/base/index.ts';
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import { isOfEngine } from '../../../engine/transaction/index.ts';
import {
  addressOf,
  type HistoricCell,
  type HistoricRecord,
  historicTable,
  type History,
  JudgeFindings,
  type Violation,
} from './history.ts';

/** What a reader was told from one timestamp on. */
export interface FollowedSection {
  /** The storage's name of the table. */
  readonly stored: string;
  readonly from: Timestamp;
  /** The last resolved timestamp; at first `from`. */
  readonly resolved: Timestamp;
  readonly changes: readonly FollowedChange[];
}

export interface FollowedChange {
  readonly cell: HistoricCell;
  readonly startTimestamp: Timestamp;
  readonly commitTimestamp: Timestamp;
  /** Absent: a delete. */
  readonly value?: string | undefined;
  /** Absent: it was not asked for. */
  readonly before?: { readonly value?: string | undefined } | undefined;
  /** The last timestamp that was resolved before. */
  readonly after: Timestamp;
}

type Records = Pick<History, 'records' | 'transactions'>;
type WritersByStart = ReadonlyMap<Timestamp, History['transactions']>;
type Recorded = Pick<FollowedChange, 'cell' | 'commitTimestamp'>;

export function judgeChanges(
  sections: readonly FollowedSection[],
  { records, transactions }: Records,
): readonly Violation[] {
  const findings = new JudgeFindings('changes');
  const present = transactions.filter(({ past }) => past !== true);
  const writers = Map.groupBy(present, ({ startTimestamp }) => startTimestamp);
  const tables = Map.groupBy(records.filter(isChange), ({ cell }) => cell.split('/', 1)[0]);
  const ordered = new Map([...tables].map(([table, all]) => [table, inOrder(all)]));
  for (const section of sections) {
    const all = ordered.get(historicTable(section.stored)) ?? [];
    judgeOrder(section, all, findings);
    const late = section.changes.find(({ commitTimestamp, after }) => commitTimestamp <= after);
    if (late !== undefined) {
      findings.add('added late', `${nameOf(late)} was added when ${late.after} was resolved`);
    }
    const wrong = section.changes.find((change) => isOtherValue(change, writers));
    if (wrong !== undefined) {
      const message = `${nameOf(wrong)} is reported as ${wrong.value}, which was not written`;
      findings.add('wrong value', message);
    }
    judgeBefore(section, { ordered: all, writers }, findings);
  }
  return findings.violations;
}

function isChange({ cell, operation }: HistoricRecord): boolean {
  return operation !== 'touch' && !isOfEngine(addressOf(cell).column);
}

/** Each once: what a collector was about to erase may be there twice. */
function inOrder(records: readonly HistoricRecord[]): readonly HistoricRecord[] {
  const once = new Map(records.map((record) => [nameOf(record), record]));
  return [...once.values()].toSorted(compareRecorded);
}

function judgeOrder(
  { from, resolved, changes, stored }: FollowedSection,
  records: readonly Recorded[],
  findings: JudgeFindings,
): void {
  const last = changes.at(-1);
  const expected = records.filter((record) => {
    if (record.commitTimestamp <= from) return false;
    const isReported = last !== undefined && compareRecorded(record, last) <= 0;
    return isReported || record.commitTimestamp <= resolved;
  });
  const missing = expected.find((record, i) => !isSame(record, changes[i]));
  const added = changes.find((change, i) => !isSame(change, expected[i]));
  if (missing === undefined && added === undefined) return;
  const what = `expected ${nameOf(missing)}, reported ${nameOf(added)}`;
  const message = `the section of ${stored} from ${from} to ${resolved}: ${what}`;
  findings.add('not each once, in order', message);
}

/** Of transactions whose clients have told what they wrote. */
function judgeBefore(
  { changes }: FollowedSection,
  {
    ordered,
    writers,
  }: { readonly ordered: readonly HistoricRecord[]; readonly writers: WritersByStart },
  findings: JudgeFindings,
): void {
  const asked = new Map(
    changes.flatMap((change) => (change.before ? [[nameOf(change), change.before]] : [])),
  );
  if (asked.size === 0) return;
  const last = new Map<HistoricCell, HistoricRecord>();
  for (const record of ordered) {
    const said = asked.get(nameOf(record));
    const right = said && valueAfter(last.get(record.cell), writers);
    last.set(record.cell, record);
    if (right === undefined || right.value === said?.value) continue;
    const message = `${nameOf(record)} is said to have replaced ${said?.value}, not ${right.value}`;
    findings.add('wrong value before', message);
  }
}

/** What the cell had then; undefined if that is not known. */
function valueAfter(
  record: HistoricRecord | undefined,
  writers: WritersByStart,
): { readonly value?: string | undefined } | undefined {
  if (record === undefined || record.operation === 'delete') return {};
  const told = writers.get(record.startTimestamp) ?? [];
  return told.flatMap(({ writes }) => writes).find(({ cell }) => cell === record.cell);
}

function isSame(a: Recorded, b: Recorded | undefined): boolean {
  return b !== undefined && a.cell === b.cell && a.commitTimestamp === b.commitTimestamp;
}

function nameOf(one: Recorded | undefined): string {
  return one === undefined ? 'no more' : `${one.cell}@${one.commitTimestamp}`;
}

function compareRecorded(a: Recorded, b: Recorded): number {
  if (a.commitTimestamp !== b.commitTimestamp) return a.commitTimestamp - b.commitTimestamp;
  const [one, other] = [addressOf(a.cell), addressOf(b.cell)];
  return compareTexts(one.row, other.row) || compareTexts(one.column, other.column);
}

/** A client that was killed may not have told what it wrote. */
function isOtherValue(
  { cell, startTimestamp, value }: FollowedChange,
  writers: WritersByStart,
): boolean {
  return (writers.get(startTimestamp) ?? []).some(({ writes }) => {
    const written = writes.find((one) => one.cell === cell);
    return written !== undefined && written.value !== value;
  });
}
