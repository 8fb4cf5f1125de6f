/**
 * When a round has seen enough: after so many pairs of overlapping writers (pairs.ts) and so many
 * committed runs of observers, or when its seconds are over.
 *
 * Who does the counting? The parent, which reads the growing history files a few times a second;
 * the processes do nothing for it. What it has not read yet, and transactions whose process was
 * killed, are missing from its number, so a round has rather more than its floor when it ends. The
 * exact numbers are taken from the whole history afterwards.
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import path from 'node:path';
import type { RecordedTransaction } from '../invariants/index.ts';
import { nowMs } from './clock.ts';
import { parseLines } from './history-file.ts';
import { type Floors, LONG_PAUSE_MS } from './plan.ts';
import { PairCounter, writerOf } from './pairs.ts';

export class Goal {
  readonly #floors: Floors;
  readonly #untilMs: number;
  readonly #history: LiveHistory;

  constructor(floors: Floors, seconds: number, historyFolder: string) {
    this.#floors = floors;
    this.#untilMs = nowMs() + seconds * 1_000;
    this.#history = new LiveHistory(historyFolder);
  }

  /** At least so many pairs were there when it was last asked whether it is reached. */
  get pairs(): number {
    return this.#history.pairs;
  }

  isReached(): boolean {
    this.#history.readOn();
    const { pairs, runs } = this.#history;
    const isEnough = pairs >= this.#floors.pairs && runs >= this.#floors.runs;
    return isEnough || this.isLate;
  }

  /** Its seconds are over. */
  get isLate(): boolean {
    return nowMs() >= this.#untilMs;
  }
}

/** Counts what the processes write down, as they do it. */
class LiveHistory {
  readonly #folder: string;
  readonly #files = new Map<string, LiveFile>();
  /** A writer that is stopped is added late. */
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

  /** A run that loses never ends, so every run is counted as if it had ended when it asked for its commit. */
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

/** The file of one life, as far as it has been read. */
class LiveFile {
  /** By start timestamp: of these no end has been read yet. */
  readonly begun = new Map<number, RecordedTransaction>();
  readonly #path: string;
  #offset = 0;
  /** The beginning of a line whose end is still to come. */
  #rest = '';

  constructor(file: string) {
    this.#path = file;
  }

  /** The lines that were ended since the last time. */
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
