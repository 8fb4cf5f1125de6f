/**
 * When a round has seen enough: after a number of pairs of overlapping writers and a
 * number of committed runs of observers, or when its seconds are over.
 *
 * The parent counts: it reads the growing history files a few times a second, and the processes do
 * nothing for it. Its count lacks what it has not read yet, and transactions whose end was not
 * recorded before their process was killed, so a round usually ends with more than its minimum. The
 * exact numbers come from the whole history afterwards.
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import type { RecordedTransaction } from '../invariants/index.ts';
import { parseLines } from './history-file.ts';
import { LONG_PAUSE_MS, type RoundMinimums } from './plan.ts';

export class Goal {
  readonly #minimums: Pick<RoundMinimums, 'pairs' | 'runs'>;
  readonly #untilMs: number;
  readonly #history: LiveHistory;

  constructor(
    minimums: Pick<RoundMinimums, 'pairs' | 'runs'>,
    seconds: number,
    historyFolder: string,
  ) {
    this.#minimums = minimums;
    this.#untilMs = monotonicMs() + seconds * 1_000;
    this.#history = new LiveHistory(historyFolder);
  }

  /** At least this many pairs existed at the last check. */
  get pairs(): number {
    return this.#history.pairs;
  }

  /** Counts what was recorded since. */
  readOn(): void {
    this.#history.readOn();
  }

  /** When the last transaction of this slot that has committed began; -Infinity without one. */
  lastBegan(slot: string): number {
    return this.#history.lastBegan.get(slot) ?? -Infinity;
  }

  isReached(): boolean {
    this.readOn();
    const { pairs, runs } = this.#history;
    const isEnough = pairs >= this.#minimums.pairs && runs >= this.#minimums.runs;
    return isEnough || this.isLate;
  }

  /** Whether the seconds of the round are over. */
  get isLate(): boolean {
    return monotonicMs() >= this.#untilMs;
  }
}

/** Counts what the processes record while they record it. */
class LiveHistory {
  readonly #folder: string;
  readonly #files = new Map<string, LiveFile>();
  /** A pause delays the line with the end of a writer; twice the longest pause is slack enough. */
  readonly #counter = new PairCounter(2 * LONG_PAUSE_MS[1]);
  /** By slot: when the last committed transaction of a client began. */
  readonly lastBegan = new Map<string, number>();
  #runs = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get pairs(): number {
    return this.#counter.pairs;
  }

  get runs(): number {
    return this.#runs;
  }

  readOn(): void {
    for (const name of readdirSync(this.#folder)) {
      if (!name.endsWith('.jsonl')) continue;
      const file = this.#files.get(name) ?? new LiveFile(path.join(this.#folder, name));
      this.#files.set(name, file);
      this.#take(file);
    }
  }

  #take(file: LiveFile): void {
    for (const line of parseLines(file.readOn())) {
      if (line.kind === 'began') this.#begin(file, line.transaction);
      if (line.kind !== 'ended') continue;
      const { startTimestamp, outcome } = line.ending;
      const began = file.begun.get(startTimestamp);
      if (began === undefined) continue;
      file.begun.delete(startTimestamp);
      if (began.run === undefined) {
        this.#add({ ...began, ...line.ending });
        if (outcome === 'committed') this.#noteProgress(began);
      } else if (outcome === 'committed') this.#runs++;
    }
  }

  /**
   * The end of a run that loses is never recorded, so every run counts as ended when it asked for
   * its commit.
   */
  #begin(file: LiveFile, transaction: RecordedTransaction): void {
    if (transaction.past === true) return;
    file.begun.set(transaction.startTimestamp, transaction);
    if (transaction.run !== undefined) this.#add(transaction);
  }

  #noteProgress({ process, beganAt }: RecordedTransaction): void {
    const [slot = ''] = process.split('.', 1);
    this.lastBegan.set(slot, Math.max(beganAt, this.lastBegan.get(slot) ?? -Infinity));
  }

  #add(transaction: RecordedTransaction): void {
    const writer = writerOf(transaction);
    if (writer !== undefined) this.#counter.add(writer);
  }
}

const PART = Buffer.alloc(1 << 20);

/** The history file of one life of a process, read up to some position. */
class LiveFile {
  /** Transactions without an end so far, by start timestamp. */
  readonly begun = new Map<number, RecordedTransaction>();
  readonly #path: string;
  #offset = 0;
  /** The beginning of a line that is not complete yet. */
  #rest = '';

  constructor(file: string) {
    this.#path = file;
  }

  /** The lines that were completed since the last call. */
  readOn(): string {
    const file = openSync(this.#path, 'r');
    try {
      for (let parts = this.#rest; ;) {
        const length = readSync(file, PART, 0, PART.length, this.#offset);
        this.#offset += length;
        parts += PART.toString('latin1', 0, length); // A part may end within a character.
        if (length === PART.length) continue;
        const end = parts.lastIndexOf('\n') + 1;
        this.#rest = parts.slice(end);
        return Buffer.from(parts.slice(0, end), 'latin1').toString();
      }
    } finally {
      closeSync(file);
    }
  }
}

/*
 * Pairs of overlapping writers: two transactions that wrote or locked one cell, where neither had
 * ended when the other began. Whether they committed does not matter. Only such a pair can do what
 * snapshot isolation forbids, so the number of pairs says how much a round has tested.
 *
 * A pair counts once, however many cells the two share. A transaction lasts from its beginning to
 * the moment when its client heard the outcome, all on the clock that the processes share. If the
 * client never heard it, the moment when it asked for the commit is used instead, which is too
 * early. So the number is never too large.
 */

export interface Writer {
  readonly fromMs: number;
  readonly untilMs: number;
  /** The cells that it wrote or locked. */
  readonly cells: readonly string[];
}

/** Undefined if the transaction wrote nothing, or failed before it asked for its commit. */
export function writerOf(transaction: RecordedTransaction): Writer | undefined {
  const { beganAt, ranAt, sentAt, endedAt, writes, locks, run } = transaction;
  if (sentAt === undefined) return undefined;
  const cells = [...writes.map(({ cell }) => cell), ...locks];
  if (run?.weak === false) cells.push(`${run.cell} acknowledged by ${run.observer}`);
  if (cells.length === 0) return undefined;
  return { fromMs: ranAt ?? beganAt, untilMs: endedAt ?? sentAt, cells };
}

/** All pairs of a history. */
export function countPairs(transactions: readonly RecordedTransaction[]): number {
  const writers = transactions.map(writerOf).filter((writer) => writer !== undefined);
  const counter = new PairCounter();
  for (const writer of writers.toSorted((a, b) => a.fromMs - b.fromMs)) counter.add(writer);
  return counter.pairs;
}

export class PairCounter {
  readonly #slackMs: number;
  /** The writers of each cell that a later writer may overlap. */
  readonly #recent = new Map<string, Writer[]>();
  #pairs = 0;

  /**
   * @param slackMs how much earlier a writer may have begun than one that was added before it. The
   * count is exact if this is large enough; 0 is enough for writers in the order of their
   * beginnings. A larger value costs time and memory.
   */
  constructor(slackMs = 0) {
    this.#slackMs = slackMs;
  }

  get pairs(): number {
    return this.#pairs;
  }

  add(writer: Writer): void {
    const met = new Set<Writer>();
    for (const cell of writer.cells) {
      const recent = (this.#recent.get(cell) ?? []).filter(
        ({ untilMs }) => untilMs >= writer.fromMs - this.#slackMs,
      );
      for (const other of recent) if (overlaps(writer, other)) met.add(other);
      recent.push(writer);
      this.#recent.set(cell, recent);
    }
    met.delete(writer); // It may list one cell twice.
    this.#pairs += met.size;
  }
}

function overlaps(a: Writer, b: Writer): boolean {
  return a.fromMs < b.untilMs && b.fromMs < a.untilMs;
}
