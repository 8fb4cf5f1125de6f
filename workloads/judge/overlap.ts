/**
 * Pairs of overlapping writers: two transactions that wrote one key, of which neither had ended when the other
 * began. What snapshot isolation forbids mostly needs such a pair, so a history without them proves
 * little. A pair is counted once for each key that it shares.
 *
 * The pairs of a key are those of each beginning with whatever had begun and not ended by then: two sorted
 * lists and one sweep. What ends and begins at the same moment overlaps.
 */
export class OverlapCounter {
  readonly #keys = new Map<string, { readonly begins: number[]; readonly ends: number[] }>();

  /** @param end not before `begin`; the same, if all that is known is that it was running then */
  add(key: string, begin: number, end: number): void {
    const ofKey = this.#keys.get(key);
    if (ofKey === undefined) {
      this.#keys.set(key, { begins: [begin], ends: [end] });
    } else {
      ofKey.begins.push(begin);
      ofKey.ends.push(end);
    }
  }

  count(): number {
    let pairs = 0;
    for (const { begins, ends } of this.#keys.values()) {
      begins.sort((a, b) => a - b);
      ends.sort((a, b) => a - b);
      let ended = 0;
      for (const [begun, begin] of begins.entries()) {
        while ((ends[ended] ?? Infinity) < begin) ended++;
        pairs += begun - ended;
      }
    }
    return pairs;
  }
}
