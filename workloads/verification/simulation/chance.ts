/**
 * Chance without a stream: the seed and the purpose decide every draw, not the number of earlier
 * draws.
 *
 * A stream of random numbers would do for a single run. But when a failing run is shrunk, a
 * transaction is taken out and everything else should happen as before; with a stream, every draw
 * after the gap would change. Here the 17th message of client 3 has the same fate in both runs.
 */

/**
 * A number in [0, 1), the same for the same arguments.
 * @param id of the process, or of a series of events
 * @param number of the message or event among those of the same `id`; of a run of an observer, its
 *   start timestamp
 * @param purpose tells the draws about one message, event or run apart
 */
export function chance(seed: number, id: number, number: number, purpose: number): number {
  return hash(seed, id, number, purpose) / 2 ** 32;
}

/** A whole number from `min` to `max`, both included. */
export function chooseBetween(min: number, max: number, fraction: number): number {
  return min + Math.floor(fraction * (max - min + 1));
}

/** Four numbers mixed into 32 bits, with the multipliers of MurmurHash3. */
function hash(a: number, b: number, c: number, d: number): number {
  let h = stir(0x2f6e2b1, a);
  h = stir(h, b);
  h = stir(h, c);
  h = stir(h, d);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function stir(h: number, x: number): number {
  let k = Math.imul(x | 0, 0xcc9e2d51);
  k = (k << 15) | (k >>> 17);
  h ^= Math.imul(k, 0x1b873593);
  h = (h << 13) | (h >>> 19);
  return (Math.imul(h, 5) + 0xe6546b64) | 0;
}
