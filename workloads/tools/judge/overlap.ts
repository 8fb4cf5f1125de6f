/**
 * Counts pairs of overlapping writers: two transactions that wrote one key, neither of which had
 * ended when the other began. Most violations of snapshot isolation need such a pair, so a history
 * without them proves little. A pair is counted once for each key that it shares.
 *
 *   1. Sort the writes by key: count those of each key, and put each write into the section of its
 *      key.
 *   2. For each beginning, count the writes of the key that had begun and not ended by then: two
 *      sorted lists and one sweep. An end and a beginning at the same moment overlap.
 *
 * It uses flat arrays of numbers, for millions of keys.
 */
export class OverlapCounter {
  /** The number of each key. */
  readonly #numbers = new Map<string, number>();
  /** For each write: the number of its key, and when its transaction began and ended. */
  readonly #keys: number[] = [];
  readonly #begins: number[] = [];
  readonly #ends: number[] = [];

  /**
   * @param end not before `begin`; equal to it if the transaction is only known to have run then
   */
  add(key: string, begin: number, end: number): void {
    const known = this.#numbers.get(key);
    const number = known ?? this.#numbers.size;
    if (known === undefined) this.#numbers.set(key, number);
    this.#keys.push(number);
    this.#begins.push(begin);
    this.#ends.push(end);
  }

  count(): number {
    const sections = this.#sections();
    const begins = sortedIntoSections(this.#begins, this.#keys, sections);
    const ends = sortedIntoSections(this.#ends, this.#keys, sections);
    let pairs = 0;
    for (let key = 0; key + 1 < sections.length; key++) {
      const [from = 0, to = 0] = [sections[key], sections[key + 1]];
      let ended = from;
      for (let begun = from; begun < to; begun++) {
        while (ended < to && (ends[ended] ?? 0) < (begins[begun] ?? 0)) ended++;
        pairs += begun - ended;
      }
    }
    return pairs;
  }

  /** The start of the section of each key; the last entry is the end of all. */
  #sections(): Uint32Array {
    const sections = new Uint32Array(this.#numbers.size + 1);
    for (const key of this.#keys) sections[key + 1] = (sections[key + 1] ?? 0) + 1;
    for (let key = 1; key < sections.length; key++) {
      sections[key] = (sections[key] ?? 0) + (sections[key - 1] ?? 0);
    }
    return sections;
  }
}

function sortedIntoSections(
  times: readonly number[],
  keys: readonly number[],
  sections: Uint32Array,
): Float64Array {
  const next = sections.slice();
  const sorted = new Float64Array(times.length);
  for (const [i, key] of keys.entries()) {
    const place = next[key] ?? 0;
    sorted[place] = times[i] ?? 0;
    next[key] = place + 1;
  }
  for (let key = 0; key + 1 < sections.length; key++) {
    if ((sections[key + 1] ?? 0) - (sections[key] ?? 0) > 1) {
      sorted.subarray(sections[key], sections[key + 1]).sort();
    }
  }
  return sorted;
}
