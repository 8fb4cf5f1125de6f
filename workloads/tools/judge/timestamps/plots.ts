/**
 * Names the anomaly of a violation, and explains why no snapshot allows it.
 *
 * The judge of snapshot isolation knows three kinds of wrong reads. For a missed version, the
 * reader's other reads decide which of the field's names fits: the reader saw another part of the
 * transaction that it missed (fractured read), a newer version of another key (read skew), another
 * version of the same key (non-repeatable read), or an old snapshot as a whole (stale read). If it
 * found nothing, a later deletion may be what it saw (future read).
 */
import type { HistoricValue, TimestampProof } from '../../../verification/judges/index.ts';
import type { AnomalyName } from '../anomalies.ts';
import { type CellName, OWN, type OwnContradiction } from './cells.ts';
import { type KnownHistory, type KnownVersion, shown, shownValue } from './known-history.ts';

/** A story without the texts of its transactions. */
export interface Plot {
  readonly anomaly: AnomalyName;
  /** The keys involved. */
  readonly cells: readonly CellName[];
  /** Indexes of the transactions. */
  readonly transactions: readonly number[];
  readonly why: readonly string[];
}

/** @param claim the claim of the judge, without the judge's name */
export function plotOf(claim: string, proof: TimestampProof, history: KnownHistory): Plot {
  const [first = 0, second = first] = proof.transactions.map((one) => history.indexOf(one));
  const { cell = '', value } = proof;
  switch (claim) {
    case 'stale read':
      return staleRead(first, { cell, value }, history);
    case 'read of the future':
      return futureRead(first, { cell, value }, history.versionOf({ cell, value }), history);
    case 'read of an uncommitted value':
      return uncommittedRead(first, { cell, value }, history);
    case 'overlapping writers':
      return overlappingWriters([first, second], cell, history);
    case 'real time':
      return staleSnapshot([first, second], history);
    default:
      return commitBeforeStart(first, cell, history);
  }
}

export function ownPlot(own: OwnContradiction, history: KnownHistory): Plot {
  const { claim, transaction, cell } = own;
  const name = history.name(transaction);
  const why =
    claim === 'row returned twice'
      ? `A scan of ${name} returned the row ${cell} more than once. A snapshot has each key once.`
      : `${name} ${wrongOwnRead(own)}`;
  return { anomaly: claim, cells: [cell], transactions: [transaction], why: [why] };
}

function wrongOwnRead({ cell, value, before }: OwnContradiction): string {
  if (before === undefined || value === OWN) {
    return `read a write of its own to ${cell}, and had made none that it could read.`;
  }
  const wrote =
    before.value === undefined
      ? `deleted ${cell}`
      : `wrote ${before.value === '' ? cell : shown(before)}`;
  return `${wrote}, and then read ${shown({ cell, value })}. A transaction reads its own writes.`;
}

function staleRead(reader: number, read: HistoricValue, history: KnownHistory): Plot {
  const { cell } = read;
  const { startTimestamp, reads } = history.draft(reader);
  const missed = history.visible(cell, startTimestamp);
  const name = history.name(reader);
  if (missed === undefined) return neverWritten(reader, read, history);
  const older = read.value === undefined ? undefined : history.versionOf(read);
  const told = missedSentence(reader, { read, missed, older }, history);
  const base = { cells: [cell], transactions: involved(reader, missed, older) };
  const again = reads.find((other) => other.cell === cell && other.value !== read.value);
  if (again !== undefined) {
    const twice = `${name} read ${cell} as ${shownValue(read.value)} and also as ${shownValue(again.value)}. `;
    const rule = 'In one snapshot a key has one value.';
    return { ...base, anomaly: 'non-repeatable read', why: [`${twice}${rule}`, told] };
  }
  if (history.isOfScan(reader, cell) && (read.value === undefined || missed.value === undefined)) {
    const what = read.value === undefined ? 'did not return the row' : 'returned the deleted row';
    return { ...base, anomaly: 'phantom', why: [`A scan of ${name} ${what} ${cell}.`, told] };
  }
  const other = newerRead(reader, missed, history);
  if (other === undefined) {
    const rule = 'A snapshot contains every commit at or below its start timestamp.';
    return { ...base, anomaly: 'stale read', why: [told, rule] };
  }
  const deletion = laterDeletion(reader, { read, from: other.version.commit }, history);
  if (deletion !== undefined) return futureRead(reader, read, deletion, history);
  const { writer } = other.version;
  const isPart = writer === missed.writer;
  const contrast = isPart
    ? `${name} also read ${shown(other.read)}, which ${history.name(writer)} wrote in the same transaction. ` +
      'A snapshot contains all writes of a transaction or none.'
    : `${name} also read ${shown(other.read)}, which ${history.name(writer)} committed` +
      `${history.whenCommitted(writer)}, when ${shownValue(read.value)} was no longer there. No snapshot contains both.`;
  return {
    anomaly: isPart ? 'fractured read' : 'read skew',
    cells: [...new Set([cell, other.read.cell])],
    transactions: [...base.transactions, writer],
    why: [told, contrast],
  };
}

function missedSentence(
  reader: number,
  read: {
    readonly read: HistoricValue;
    readonly missed: KnownVersion;
    readonly older: KnownVersion | undefined;
  },
  history: KnownHistory,
): string {
  const { cell, value } = read.read;
  const { writer, value: should } = read.missed;
  const wrote = should === undefined ? `the deletion of ${cell}` : shown({ cell, value: should });
  const from =
    read.older === undefined
      ? ''
      : `, which ${history.name(read.older.writer)} had committed${history.whenCommitted(read.older.writer)}`;
  return (
    `${history.name(writer)} committed ${wrote}${history.whenCommitted(writer)}, before ` +
    `${history.name(reader)} took its snapshot at ${history.start(reader)}. ` +
    `${history.name(reader)} read ${shown({ cell, value })}${from}.`
  );
}

interface NewerRead {
  readonly read: HistoricValue;
  readonly version: KnownVersion;
}

/**
 * Another read of the transaction which shows that its snapshot is not older than the missed
 * version.
 */
function newerRead(
  reader: number,
  missed: KnownVersion,
  history: KnownHistory,
): NewerRead | undefined {
  const { reads } = history.draft(reader);
  const seen = reads.flatMap((read) => {
    const version = read.value === undefined ? undefined : history.versionOf(read);
    return version === undefined || version.commit < missed.commit ? [] : [{ read, version }];
  });
  return seen.find(({ version }) => version.writer === missed.writer) ?? seen[0];
}

/**
 * If the transaction found no value: the deletion, later than its snapshot, after which all its
 * other reads were right too. Then it saw the future, and a story of a missed version would
 * contradict itself.
 */
function laterDeletion(
  reader: number,
  { read, from }: { readonly read: HistoricValue; readonly from: number },
  history: KnownHistory,
): KnownVersion | undefined {
  if (read.value !== undefined) return undefined;
  const { startTimestamp, reads } = history.draft(reader);
  const later = Math.max(startTimestamp, from);
  const deletion = history.deletionAfter(read.cell, later);
  if (deletion === undefined || deletion.writer === reader) return undefined;
  const at = Math.max(later, deletion.commit);
  const isRight = ({ cell, value }: HistoricValue): boolean =>
    history.visible(cell, at)?.value === value;
  return reads.every(isRight) ? deletion : undefined;
}

function futureRead(
  reader: number,
  read: HistoricValue,
  version: KnownVersion | undefined,
  history: KnownHistory,
): Plot {
  if (version === undefined) return neverWritten(reader, read, history);
  const { writer } = version;
  const [name, other] = [reader, writer].map((i) => history.name(i));
  const start = history.start(reader);
  const isOwn = writer === reader;
  const that = read.value === undefined ? 'the deletion' : 'that';
  const what = isOwn
    ? `${name} read ${shown(read)} before it wrote it.`
    : `${name} took its snapshot at ${start} and read ${shown(read)}. ${other} committed ${that} later${history.whenCommitted(writer)}.`;
  const began =
    history.commit(writer) === undefined && !isOwn
      ? [`${other} had begun only at ${history.start(writer)}.`]
      : [];
  const rule = 'A snapshot contains no commit after its start timestamp.';
  return {
    anomaly: 'future read',
    cells: [read.cell],
    transactions: [reader, writer],
    why: [what, ...began, rule],
  };
}

function uncommittedRead(reader: number, read: HistoricValue, history: KnownHistory): Plot {
  const failed = history.failedWriter(read);
  if (failed !== undefined) return abortedRead(reader, failed, { read, history });
  const writer = history.replacedBy(read);
  if (writer === undefined) return neverWritten(reader, read, history);
  if (history.draft(writer).outcome === 'failed') {
    return abortedRead(reader, writer, { read, history });
  }
  const last = history.draft(writer).writes.find(({ cell }) => cell === read.cell);
  const then =
    last?.value === undefined ? 'deleted it' : `replaced it by ${shownValue(last.value)}`;
  const what = `${history.name(reader)} read ${shown(read)}. ${history.name(writer)} wrote that first and then ${then}.`;
  const why = [what, 'Of the writes of a transaction to one key, only the last may be seen.'];
  const cells = [read.cell];
  return { anomaly: 'intermediate read', cells, transactions: [reader, writer], why };
}

function abortedRead(
  reader: number,
  failed: number,
  { read, history }: { readonly read: HistoricValue; readonly history: KnownHistory },
): Plot {
  const [name, writer] = [reader, failed].map((i) => history.name(i));
  const what = `${name} read ${shown(read)}, which only ${writer} wrote, and ${writer} failed.`;
  const why = [what, 'No transaction may see a write of a failed one.'];
  return { anomaly: 'aborted read', cells: [read.cell], transactions: [reader, failed], why };
}

function neverWritten(reader: number, read: HistoricValue, history: KnownHistory): Plot {
  const what = `${history.name(reader)} read ${shown(read)}, and no transaction of the history wrote it.`;
  const hint =
    'If it existed before the history began, the history must begin with a transaction that writes it.';
  return {
    anomaly: 'read of a value that was never written',
    cells: [read.cell],
    transactions: [reader],
    why: [what, hint],
  };
}

/** @param writers the first committer comes first */
function overlappingWriters(
  [first, second]: readonly [number, number],
  cell: CellName,
  history: KnownHistory,
): Plot {
  const [one, other] = [first, second].map((i) => history.name(i));
  const [written, alsoWritten] = [first, second].map((i) =>
    history.draft(i).writes.find((write) => write.cell === cell),
  );
  const did = alsoWritten === undefined ? `locked ${cell}` : `wrote ${cell}`;
  const too = (written === undefined) === (alsoWritten === undefined) ? ' too' : '';
  const what =
    `${one} committed a ${written === undefined ? 'lock' : 'write'} of ${cell}${history.whenCommitted(first)}. ` +
    `${other} had begun before, at ${history.start(second)}, ${did}${too}, and committed${history.whenCommitted(second)}.`;
  const rule = `The first committer wins: after ${one} had committed, ${other} had to fail.`;
  const [read, ...others] = history.draft(second).reads.filter((each) => each.cell === cell);
  const isLost =
    written !== undefined &&
    alsoWritten !== undefined &&
    read !== undefined &&
    [read, ...others].every((each) => isOlder(each, { writer: first, written, history }));
  const base = { cells: [cell], transactions: [first, second] };
  if (!isLost) return { ...base, anomaly: 'overlapping writers', why: [what, rule] };
  const lost = `The write of ${other} depends on ${shown(read)}, which it had read, and not on the write of ${one}: that update is lost.`;
  return { ...base, anomaly: 'lost update', why: [what, lost, rule] };
}

/** Whether the reader saw what was there before the writer committed `written`. */
function isOlder(
  read: HistoricValue,
  by: { readonly writer: number; readonly written: HistoricValue; readonly history: KnownHistory },
): boolean {
  const { writer, written, history } = by;
  if (read.value === undefined) return written.value !== undefined;
  const seen = history.versionOf(read)?.commit ?? Infinity;
  return seen < (history.collected.commits[writer] ?? 0);
}

function staleSnapshot([before, after]: readonly [number, number], history: KnownHistory): Plot {
  const [one, other] = [before, after].map((i) => history.name(i));
  const { endedAt } = history.draft(before);
  const { beganAt } = history.draft(after);
  const at = history.commit(before) ?? history.start(before);
  return {
    anomaly: 'stale snapshot',
    cells: [],
    transactions: [before, after],
    why: [
      `${one} had ended at the time ${endedAt}, with the timestamp ${at}. ${other} began after that, at the time ` +
        `${beganAt}, and its snapshot is of ${history.start(after)}: it lacks writes that ${one} committed or saw.`,
      'Snapshot isolation alone allows that; strong snapshot isolation, in which real time counts, does not.',
    ],
  };
}

function commitBeforeStart(writer: number, cell: CellName, history: KnownHistory): Plot {
  const what = `${history.name(writer)} began at ${history.start(writer)} and committed${history.whenCommitted(writer)}.`;
  const rule = 'A commit timestamp must be above the start timestamp.';
  return {
    anomaly: 'commit before its start',
    cells: [cell],
    transactions: [writer],
    why: [what, rule],
  };
}

function involved(
  reader: number,
  ...versions: readonly (KnownVersion | undefined)[]
): readonly number[] {
  return [
    reader,
    ...versions.flatMap((version) => (version === undefined ? [] : [version.writer])),
  ];
}
