/**
 * Pairs of overlapping writers: two transactions that wrote or locked one cell, where neither had
 * ended when the other began. Whether they committed does not matter. Only such a pair can do what
 * snapshot isolation forbids, so the number of pairs says how much a round has tested.
 *
 * A pair counts once, however many cells the two share. A transaction lasts from its beginning to
 * the moment when its client heard the outcome, all on the clock that the processes share. If the
 * client never heard it, the moment when it asked for the commit is used instead, which is too
 * early. So the number is never too large.
 */
import type { RecordedTransaction } from '../invariants/index.ts';

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
