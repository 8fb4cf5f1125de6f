/**
 * The history of one life of one process, as a file with one JSON object per line, each written at
 * once by one system call. `kill -9` cannot undo a completed write, and tears at most the last
 * line, which then does not count.
 */
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pid } from 'node:process';
import { type Counters, type Timestamp, unreachable, type WorkerCounters } from '#engine';
import type { Ending, RecordedTransaction, Sink } from '../invariants/index.ts';
import type {
  FollowedChange,
  HistoricRecord,
  HistoricRollback,
  RecordsAndRollbacks,
  Violation,
} from '../judges/index.ts';
import type { Refusal, Witnessed } from './cut-judges.ts';

export type HistoryLine =
  | { readonly kind: 'opened'; readonly pid: number }
  | { readonly kind: 'began'; readonly transaction: RecordedTransaction }
  | { readonly kind: 'ended'; readonly ending: Ending }
  | { readonly kind: 'violation'; readonly violation: Violation }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'witnessed'; readonly witnessed: Witnessed }
  /** Cells that collectors of the process were about to erase. */
  | { readonly kind: 'collected'; readonly collected: RecordsAndRollbacks }
  /** Counts since the process opened the store; only the last such line of a file counts. */
  | { readonly kind: 'counts'; readonly counts: Counts }
  | { readonly kind: 'followed'; readonly followed: Followed };

/** What a reader of changes was told, and the cursor with it. */
export type Followed = { readonly table: string; readonly cursor: string } & (
  | { readonly change: Omit<FollowedChange, 'after'> }
  /** It begins a section (judges/changes.ts) if the place before it was lost. */
  | { readonly resolved: Timestamp; readonly begins: boolean }
);

export interface Counts {
  readonly engine: Readonly<Counters>;
  readonly worker: Readonly<WorkerCounters>;
}

export interface HistoryFile extends Sink, Disposable {
  violation(violation: Violation): void;
  refused(refusal: Refusal): void;
  witnessed(witnessed: Witnessed): void;
  readonly collected: (collected: RecordsAndRollbacks) => void;
  counts(counts: Counts): void;
  followed(followed: Followed): void;
}

/** Appends to `<folder>/<process>.jsonl`. */
export function openHistoryFile(folder: string, process: string): HistoryFile {
  const file = openSync(path.join(folder, `${process}.jsonl`), 'a');
  const append = (line: HistoryLine): void => {
    writeSync(file, `${JSON.stringify(line)}\n`);
  };
  append({ kind: 'opened', pid });
  return {
    began: (transaction) => append({ kind: 'began', transaction }),
    ended: (ending) => append({ kind: 'ended', ending }),
    violation: (violation) => append({ kind: 'violation', violation }),
    refused: (refusal) => append({ kind: 'refused', refusal }),
    witnessed: (witnessed) => append({ kind: 'witnessed', witnessed }),
    collected: (collected) => append({ kind: 'collected', collected }),
    counts: (counts) => append({ kind: 'counts', counts }),
    followed: (followed) => append({ kind: 'followed', followed }),
    [Symbol.dispose]: () => closeSync(file),
  };
}

export interface RecordedHistory {
  readonly transactions: readonly RecordedTransaction[];
  readonly violations: readonly Violation[];
  readonly refusals: readonly Refusal[];
  /** What oracles have answered to witnesses. */
  readonly witnessed: readonly Witnessed[];
  /** Some of these cells may still be in the store, and some may be listed twice. */
  readonly collected: RecordsAndRollbacks;
  /** The last counts of each life. What the life did after them is not counted. */
  readonly counts: readonly Counts[];
  /** Of each table in the order in which it was heard. */
  readonly followed: readonly Followed[];
}

/** Everything that the processes of a round have recorded. */
export function readHistory(folder: string): RecordedHistory {
  const collected = { records: [], rollbacks: [] };
  const cuts = { refusals: [], witnessed: [] };
  const recorded = {
    transactions: [],
    violations: [],
    ...cuts,
    collected,
    counts: [],
    followed: [],
  };
  for (const name of readdirSync(folder).toSorted(byLife)) {
    if (name.endsWith('.jsonl')) readLife(path.join(folder, name), recorded);
  }
  return recorded;
}

/** Of a slot, life 2 is before life 10. The parent, which reads on to the end, is after them. */
export const byLife: (name: string, other: string) => number = new Intl.Collator('en', {
  numeric: true,
}).compare;

function readLife(
  file: string,
  recorded: {
    readonly transactions: RecordedTransaction[];
    readonly violations: Violation[];
    readonly refusals: Refusal[];
    readonly witnessed: Witnessed[];
    readonly collected: {
      readonly records: HistoricRecord[];
      readonly rollbacks: HistoricRollback[];
    };
    readonly counts: Counts[];
    readonly followed: Followed[];
  },
): void {
  const transactions = new Map<Timestamp, RecordedTransaction>();
  let counts: Counts | undefined;
  for (const line of parseLines(readFileSync(file, 'utf8'))) {
    switch (line.kind) {
      case 'opened':
        break;
      case 'began':
        // The timestamp of a past snapshot may also be the start timestamp of a transaction.
        if (line.transaction.past === true) recorded.transactions.push(line.transaction);
        else {
          const { startTimestamp } = line.transaction;
          const other = transactions.get(startTimestamp); // The judge must see both.
          if (other !== undefined) recorded.transactions.push(other);
          transactions.set(startTimestamp, line.transaction);
        }
        break;
      case 'ended': {
        const { startTimestamp } = line.ending;
        const began = transactions.get(startTimestamp);
        if (began !== undefined) transactions.set(startTimestamp, { ...began, ...line.ending });
        break;
      }
      case 'violation':
        recorded.violations.push(line.violation);
        break;
      case 'refused':
        recorded.refusals.push(line.refusal);
        break;
      case 'witnessed':
        recorded.witnessed.push(line.witnessed);
        break;
      case 'collected':
        for (const one of line.collected.records) recorded.collected.records.push(one);
        for (const one of line.collected.rollbacks) recorded.collected.rollbacks.push(one);
        break;
      case 'counts':
        ({ counts } = line);
        break;
      case 'followed':
        recorded.followed.push(line.followed);
        break;
      default:
        unreachable(line);
    }
  }
  for (const transaction of transactions.values()) recorded.transactions.push(transaction);
  if (counts !== undefined) recorded.counts.push(counts);
}

/** Skips the text after the last line end: the process was killed while it wrote this line. */
export function* parseLines(text: string): Generator<HistoryLine> {
  for (const line of text.split('\n').slice(0, -1)) yield JSON.parse(line) as HistoryLine;
}

/** The counts of no worker at all. */
export const NO_RUNS: WorkerCounters = { runs: 0, clean: 0, failures: 0, parked: 0, meetings: 0 };

/** Sums field by field. The list must not be empty. */
export function sumEach<T extends { readonly [K in keyof T]: number }>(all: readonly T[]): T {
  const sums = new Map<string, number>();
  for (const one of all) {
    for (const [name, number] of Object.entries<number>(one)) {
      sums.set(name, (sums.get(name) ?? 0) + number);
    }
  }
  return Object.fromEntries(sums) as unknown as T;
}
