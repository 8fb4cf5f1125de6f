/**
 * When a round has seen enough: after a number of pairs of overlapping writers (pairs.ts) and a
 * number of committed runs of observers, or when its seconds are over.
 *
 * The parent counts: it reads the growing history files a few times a second, and the processes do
 * nothing for it. Its count lacks what it has not read yet, and transactions whose end was not
 * recorded before their process was killed, so a round usually ends with more than its minimum. The
 * exact numbers come from the whole history afterwards.
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';
import type { RecordedTransaction } from '../invariants/index.ts';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import { parseLines } from './history-file.ts';
import { type RoundMinimums, LONG_PAUSE_MS } from './plan.ts';
import { PairCounter, writerOf } from './pairs.ts';

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

  isReached(): boolean {
    this.#history.readOn();
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
      if (began.run === undefined) this.#add({ ...began, ...line.ending });
      else if (outcome === 'committed') this.#runs++;
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
