/**
 * Transactions without a known commit timestamp: those of unknown outcome, and those known to have
 * committed at a time that the history does not give. The reads of other transactions decide.
 *
 *   1. A transaction of unknown outcome has committed if a value that only it wrote was read;
 *      otherwise it is ignored.
 *   2. Its commit timestamp is the latest possible one. That is below the start of
 *        - each reader that has seen it,
 *        - the next committed writer of each of its keys, which did not overlap it,
 *        - if real time counts, every transaction that began after it had ended, or after a reader
 *          that has seen it had ended.
 *      Nor does it lie between two snapshots that real time demands to be equal: if one transaction
 *      ended before another with an older snapshot began, it is below both snapshots.
 *
 * The latest one is sufficient. Readers and writers demand an earlier time, which step 2 obeys;
 * readers that have not seen it demand a later one. If these contradict the latest possible time,
 * they contradict every earlier one too.
 *
 * Some reads do not show whether they saw such a transaction: those of a value that it and another
 * transaction wrote to the key, of nothing if it deleted the key, or, on a key that it wrote, of a
 * version that no line of the file gives. They are skipped and counted.
 */
import { type CellName, type Draft, isWriter } from './cells.ts';
import type { RawTimestamp } from './transaction.ts';

export interface DecidedOutcomes {
  /**
   * The position of each transaction's commit; 0 for those that have not committed, or wrote
   * nothing.
   */
  readonly commits: Float64Array;
  readonly unknownSeen: number;
  readonly readsNotJudged: number;
}

interface DecideOptions {
  readonly positions: Positions;
  /** Whether real time counts. */
  readonly strict: boolean;
  /** Whether values are versions; if so, those of committed transactions are known. */
  readonly versions: boolean;
}

export function decideUnknown(drafts: readonly Draft[], given: DecideOptions): DecidedOutcomes {
  const { positions } = given;
  const commits = new Float64Array(drafts.length);
  const open: number[] = [];
  for (const [i, draft] of drafts.entries()) {
    if (!isWriter(draft) || draft.outcome === 'failed') continue;
    const told = positions.commits[i] ?? 0;
    if (draft.outcome === 'committed' && told > 0) commits[i] = told;
    else open.push(i);
  }
  if (open.length === 0) return { commits, unknownSeen: 0, readsNotJudged: 0 };
  const { seenFrom, seenUntil, readsNotJudged } = lookForReaders(drafts, open, given);
  const isCommitted = (i: number): boolean => seenFrom.has(i) || drafts[i]?.outcome === 'committed';
  const committed = open.filter(isCommitted);
  const bounds = new Bounds(drafts, { ...given, committed, commits });
  for (const [nth, i] of committed.entries()) {
    const told = positions.commits[i] ?? 0;
    const start = positions.starts[i] ?? 0;
    const latest = bounds.of(i, { seenFrom: seenFrom.get(i), seenUntil: seenUntil.get(i) });
    // Commits between two positions differ, whether they are counted from below or from above.
    const fraction = (nth + 1) / (2 * (open.length + 1));
    if (told > 0) commits[i] = told;
    else commits[i] = latest > start ? latest - fraction : start + fraction;
  }
  const unknownSeen = committed.filter((i) => drafts[i]?.outcome === 'unknown').length;
  return { commits, unknownSeen, readsNotJudged };
}

/** Written by several transactions, or a value that does not identify its writer. */
const SEVERAL = -1;
/** Written by a transaction whose commit timestamp is known. */
const KNOWN = -2;
type Writers = Map<CellName, Map<string | undefined, number>>;

/**
 * By transaction: the position of the first reader that saw it, and the time when the first of its
 * readers had ended. Removes the reads that cannot be judged.
 */
function lookForReaders(
  drafts: readonly Draft[],
  open: readonly number[],
  { positions, versions }: DecideOptions,
): {
  readonly seenFrom: ReadonlyMap<number, number>;
  readonly seenUntil: ReadonlyMap<number, number>;
  readonly readsNotJudged: number;
} {
  const writers = writersOf(drafts, open, versions);
  const seenFrom = new Map<number, number>();
  const seenUntil = new Map<number, number>();
  let readsNotJudged = 0;
  for (const [i, draft] of drafts.entries()) {
    const start = positions.starts[i] ?? 0;
    const end = endOf(draft);
    const judged = draft.reads.filter(({ cell, value }) => {
      const ofCell = writers.get(cell);
      if (ofCell === undefined) return true;
      const writer = ofCell.get(value);
      if (writer === undefined) return !versions || value === undefined;
      if (writer >= 0) {
        seenFrom.set(writer, Math.min(start, seenFrom.get(writer) ?? Infinity));
        seenUntil.set(writer, Math.min(end, seenUntil.get(writer) ?? Infinity));
      }
      return writer !== SEVERAL;
    });
    readsNotJudged += draft.reads.length - judged.length;
    if (judged.length < draft.reads.length) draft.reads = judged;
  }
  return { seenFrom, seenUntil, readsNotJudged };
}

/** Real time promises nothing about a transaction that has not committed. */
function endOf({ outcome, endedAt = Infinity }: Draft): number {
  return outcome === 'committed' ? endedAt : Infinity;
}

/** For the keys that `open` transactions wrote: the writer of each value. */
function writersOf(drafts: readonly Draft[], open: readonly number[], versions: boolean): Writers {
  const writers: Writers = new Map();
  for (const i of open) {
    for (const { cell, value } of drafts[i]?.writes ?? []) {
      const ofCell = writers.get(cell) ?? new Map<string | undefined, number>();
      writers.set(cell, ofCell);
      ofCell.set(value, value === undefined || ofCell.has(value) ? SEVERAL : i);
    }
  }
  const isOpen = new Set(open);
  for (const [i, { writes }] of drafts.entries()) {
    if (isOpen.has(i)) continue;
    for (const { cell, value } of writes) {
      const ofCell = writers.get(cell);
      if (ofCell === undefined) continue;
      if (ofCell.has(value) && ofCell.get(value) !== KNOWN) ofCell.set(value, SEVERAL);
      else if (versions) ofCell.set(value, KNOWN);
    }
  }
  return writers;
}

/** Upper bounds for the position of a transaction's commit, from the transactions after it. */
class Bounds {
  readonly #drafts: readonly Draft[];
  readonly #starts: Float64Array;
  /** By key: the starts of its committed writers, in order. */
  readonly #writers = new Map<CellName, number[]>();
  /**
   * If real time counts: the beginnings of the transactions in order, and the least start from each
   * on.
   */
  readonly #begun: Float64Array;
  readonly #least: Float64Array;
  /** By bound: the largest one up to it that lies between no two snapshots that must be equal. */
  readonly #outside: Float64Array;

  constructor(
    drafts: readonly Draft[],
    {
      positions: { starts, last },
      strict,
      committed,
      commits,
    }: DecideOptions & { readonly committed: readonly number[]; readonly commits: Float64Array },
  ) {
    this.#drafts = drafts;
    this.#starts = starts;
    for (const i of committed) {
      for (const cell of cellsOf(drafts[i])) this.#writers.set(cell, []);
    }
    const isOpen = new Set(committed);
    for (const [i, draft] of drafts.entries()) {
      if (commits[i] === 0 && !isOpen.has(i)) continue;
      for (const cell of cellsOf(draft)) this.#writers.get(cell)?.push(starts[i] ?? 0);
    }
    for (const ofCell of this.#writers.values()) ofCell.sort((a, b) => a - b);
    const order = strict
      ? [...drafts.entries()].toSorted(([, a], [, b]) => a.beganAt - b.beganAt)
      : [];
    this.#begun = Float64Array.from(order, ([, { beganAt }]) => beganAt);
    this.#least = Float64Array.from(order, ([i]) => starts[i] ?? 0);
    for (let i = order.length - 2; i >= 0; i--) {
      this.#least[i] = Math.min(this.#least[i] ?? Infinity, this.#least[i + 1] ?? Infinity);
    }
    this.#outside = this.#outsideOfSnapshots(last + 1);
  }

  /**
   * @param seenFrom the first snapshot that contains it
   * @param seenUntil when the first reader that had seen it ended
   */
  of(
    transaction: number,
    {
      seenFrom = Infinity,
      seenUntil = Infinity,
    }: Readonly<Record<'seenFrom' | 'seenUntil', number | undefined>>,
  ): number {
    const start = this.#starts[transaction] ?? 0;
    const draft = this.#drafts[transaction];
    let bound = seenFrom;
    for (const cell of cellsOf(draft)) {
      const ofCell = this.#writers.get(cell) ?? [];
      bound = Math.min(bound, ofCell[firstAbove(ofCell, start)] ?? Infinity);
    }
    const end = Math.min(seenUntil, draft === undefined ? Infinity : endOf(draft));
    bound = Math.min(bound, this.#leastAfter(end), this.#outside.length - 1);
    return this.#outside[bound] ?? bound;
  }

  /** The oldest snapshot of the transactions that began after the time. */
  #leastAfter(end: number): number {
    return this.#least[firstAbove(this.#begun, end)] ?? Infinity;
  }

  #outsideOfSnapshots(boundMax: number): Float64Array {
    const outside = new Float64Array(boundMax + 1).fill(Infinity);
    for (const [i, draft] of this.#drafts.entries()) {
      outside[this.#starts[i] ?? 0] = this.#leastAfter(endOf(draft));
    }
    // First, for each bound, the oldest snapshot of those that began after a transaction with a
    // snapshot from the bound on had ended. If it is below the bound, it is the next bound to try.
    for (let bound = boundMax - 1; bound >= 0; bound--) {
      outside[bound] = Math.min(outside[bound] ?? Infinity, outside[bound + 1] ?? Infinity);
    }
    for (const [bound, oldest] of outside.entries()) {
      outside[bound] = oldest < bound ? (outside[oldest] ?? 0) : bound;
    }
    return outside;
  }
}

function cellsOf(draft: Draft | undefined): readonly CellName[] {
  if (draft === undefined) return [];
  return [...draft.writes.map(({ cell }) => cell), ...draft.locks];
}

/** The index of the first number above `limit`. */
export function firstAbove(sorted: ArrayLike<number>, limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/*
 * Replaces timestamps by positions: the whole numbers 1, 2, ... in the order of the timestamps.
 *
 * The judge of snapshot isolation takes unique numbers as timestamps. Those of a foreign store may
 * be larger than 2^53, and may be shared: FoundationDB gives one read version to many transactions,
 * and one commit version to a batch. The order of equal timestamps is chosen so that no correct
 * history becomes a violation:
 *
 *   1. A commit comes before a start: a snapshot contains what is committed at its timestamp.
 *   2. Of two starts, that of the transaction that began first comes first, to respect real time.
 */

export interface Positions {
  /** The position of the start of each transaction. */
  readonly starts: Float64Array;
  /** The position of its commit; 0 if it has no commit timestamp. */
  readonly commits: Float64Array;
  /** The largest position. */
  readonly last: number;
}

/** @param begins real times, which may be missing */
export function positionsOf(
  starts: readonly RawTimestamp[],
  commits: readonly (RawTimestamp | undefined)[],
  begins: (index: number) => number | undefined,
): Positions {
  const count = starts.length;
  // Event i is the commit of transaction i, and event count + i is its start.
  const times = asNumbers([...commits, ...starts]);
  const events = new Uint32Array(2 * count).map((_, event) => event);
  const order = events.filter((event) => event >= count || commits[event] !== undefined);
  const beginOf = (event: number): number =>
    event < count ? -Infinity : (begins(event - count) ?? 0);
  order.sort((a, b) => {
    const earlier = (times[a] ?? 0) - (times[b] ?? 0);
    if (earlier !== 0) return earlier;
    const [one, other] = [beginOf(a), beginOf(b)];
    return one < other ? -1 : Number(one > other);
  });
  const positions = new Float64Array(2 * count);
  order.forEach((event, i) => (positions[event] = i + 1));
  return {
    commits: positions.subarray(0, count),
    starts: positions.subarray(count),
    last: order.length,
  };
}

/**
 * Numbers in the same order: the distance from the smallest timestamp or, if that is too large for
 * a double, the rank.
 */
function asNumbers(timestamps: readonly (RawTimestamp | undefined)[]): Float64Array {
  let smallest: RawTimestamp = Infinity;
  let largest: RawTimestamp = 0;
  for (const timestamp of timestamps) {
    if (timestamp === undefined) continue;
    if (timestamp < smallest) smallest = timestamp;
    if (timestamp > largest) largest = timestamp;
  }
  if (largest <= Number.MAX_SAFE_INTEGER) return Float64Array.from(timestamps, Number);
  const base = BigInt(smallest);
  if (BigInt(largest) - base <= Number.MAX_SAFE_INTEGER) {
    return Float64Array.from(timestamps, (one = base) => Number(BigInt(one) - base));
  }
  const distinct = [...new Set(timestamps.filter((one) => one !== undefined))];
  distinct.sort((a, b) => (a < b ? -1 : 1));
  const ranks = new Map(distinct.map((timestamp, rank) => [timestamp, rank]));
  return Float64Array.from(timestamps, (one) => (one === undefined ? 0 : (ranks.get(one) ?? 0)));
}
