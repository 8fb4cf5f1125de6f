/**
 * The only door through which chance enters the engine.
 *
 * A seed decides every draw, so that a run can be repeated. `fork` gives an independent stream for
 * each name, so an extra draw of one worker does not affect workers with other names. The generator
 * is xoroshiro128+ from pure-rand.
 */
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

export interface Random {
  /** The seed that started this stream. Print it to make the run repeatable. */
  readonly seed: number;
  /** A whole number from `min` to `max`, both included; all are equally likely. */
  integer(min: number, max: number): number;
  /** A number in [0, 1). */
  fraction(): number;
  /** One of `items`, which must not be empty. */
  pick<T>(items: readonly T[]): T;
  /**
   * An independent stream, decided by this seed and `name` alone, not by earlier draws. Across
   * seeds, names that differ only in their first character can have the same stream: seed 0 gives
   * the name `1` the stream that seed 1 gives `0`. So write `client 1`, not `1`.
   */
  fork(name: string): Random;
}

/** A random stream decided by `seed` (any whole number; its low 32 bits count). */
export function createRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed | 0);
  return {
    seed,
    integer: (min, max) => uniformInt(generator, min, max),
    fraction: () => uniformFloat64(generator),
    pick: <T>(items: readonly T[]): T => items[uniformInt(generator, 0, items.length - 1)] as T,
    fork: (name) => createRandom(hashText(name, seed)),
  };
}

/** A seed from the operating system, for callers that name none. */
export function entropySeed(): number {
  const [drawn = 0] = crypto.getRandomValues(new Uint32Array(1));
  return drawn >>> 1;
}

/**
 * A name that no other process has, from the operating system. Its 13 characters are always as
 * many, so that two runs of one seed move as many bytes.
 */
export function entropyName(): string {
  const half = (): string => entropySeed().toString(36).padStart(6, '0');
  return `${half()}-${half()}`;
}

/** FNV-1a over UTF-16 units, begun with the seed: cheap, and two texts seldom have one hash. */
export function hashText(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}
