/**
 * Pairs of overlapping writers: two transactions that wrote or locked one cell, of which neither had
 * ended when the other began. Whether they committed does not matter. What snapshot isolation
 * forbids can only happen to such a pair, so their number says how much a round has tested.
 *
 * A pair counts once, in however many cells the two met. A transaction lasts from its beginning to
 * the moment when its client heard the outcome, all on the clock that the processes share. A client
 * that never heard it leaves the moment when it asked for the commit, which is too early. So the
 * number is never too large.
 */
import type { RecordedTransaction } from '../invariants/index.ts';

export interface Writer {
  readonly fromMs: number;
  readonly untilMs: number;
  /** That it wrote or locked. */
  readonly cells: readonly string[];
}

/** Undefined if it wrote nothing, or failed before it asked for its commit. */
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
  /** The writers of each cell that one which is still to come may overlap. */
  readonly #recent = new Map<string, Writer[]>();
  #pairs = 0;

  /**
   * @param slackMs how much later than one that began after it a writer may be added. Exact if it is
   * large enough; 0 is, for writers in the order of their beginnings. Larger costs time and memory.
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
    met.delete(writer); // It may have one cell twice.
    this.#pairs += met.size;
  }
}

function overlaps(a: Writer, b: Writer): boolean {
  return a.fromMs < b.untilMs && b.fromMs < a.untilMs;
}
