/**
 * A store with snapshot isolation that is too simple to be wrong, and ways to make it wrong. Random
 * clients run transactions on it, a step at a time, and their operations are recorded in the format
 * with timestamps of docs/judge.md. Every value is written once.
 */
import { createRandom, type Random } from '#engine/base';

/** Mistakes that the judge must find in most histories. */
export const MISTAKES = [
  'commits in spite of a conflict',
  'reads the newest version',
  'reads an old snapshot',
  'commits by halves',
  'commits what has failed',
  'loses commits',
  'forgets own writes',
  'misses rows in scans',
] as const;
export type Mistake = (typeof MISTAKES)[number];

interface StoredVersion {
  readonly commit: number;
  readonly value: number | null;
}

interface OpenTransaction {
  readonly process: number;
  readonly start: number;
  readonly begin: number;
  readonly ops: Record<string, unknown>[];
  readonly writes: Map<string, number | null>;
  readonly locks: Set<string>;
  steps: number;
}

export interface StoreOptions {
  readonly transactions: number;
  readonly mistake?: Mistake;
  /** Added to each timestamp. */
  readonly offset?: bigint;
  /**
   * Whether some clients die before they learn the outcome, and some do not learn the commit
   * timestamp.
   */
  readonly deaths?: boolean;
}

/** A history with one line per transaction. */
export function timestampHistory(seed: number, options: StoreOptions): readonly string[] {
  return new JudgedStore(createRandom(seed), options).run();
}

const KEYS = ['a', 'b', 'c', 'd', 'e'];
const CLIENTS = 4;

class JudgedStore {
  readonly #random: Random;
  readonly #options: StoreOptions;
  readonly #versions = new Map<string, StoredVersion[]>();
  readonly #lockedAt = new Map<string, number>();
  readonly #lines: string[] = [];
  #now = 0;
  #values = 0;

  constructor(random: Random, options: StoreOptions) {
    this.#random = random;
    this.#options = options;
  }

  run(): readonly string[] {
    const open: OpenTransaction[] = [];
    for (let begun = 0; begun < this.#options.transactions || open.length > 0;) {
      if (open.length < CLIENTS && begun < this.#options.transactions) {
        open.push(this.#begin(++begun));
        continue;
      }
      const one = this.#random.pick(open);
      if (one.steps-- > 0) this.#step(one);
      else this.#end(open.splice(open.indexOf(one), 1)[0] ?? one);
    }
    return this.#lines;
  }

  #begin(process: number): OpenTransaction {
    const begin = ++this.#now;
    const start = ++this.#now;
    const steps = this.#random.integer(1, 5);
    return { process, start, begin, ops: [], writes: new Map(), locks: new Set(), steps };
  }

  #step({ start, ops, writes, locks }: OpenTransaction): void {
    const key = this.#random.pick(KEYS);
    const what = this.#random.fraction();
    if (what < 0.45) {
      ops.push({ read: key, value: this.#read(key, start, writes) });
    } else if (what < 0.55) {
      ops.push(this.#scan(start, writes));
    } else if (what < 0.6) {
      locks.add(key);
      ops.push({ lock: key });
    } else if (what < 0.68) {
      writes.set(key, null);
      ops.push({ delete: key });
    } else {
      writes.set(key, ++this.#values);
      ops.push({ write: key, value: this.#values });
    }
  }

  #read(key: string, start: number, writes: ReadonlyMap<string, number | null>): number | null {
    const own = writes.get(key);
    if (own !== undefined && !this.#errs('forgets own writes')) return own;
    const versions = this.#versions.get(key) ?? [];
    if (this.#errs('reads the newest version')) return versions.at(-1)?.value ?? null;
    const snapshot = this.#errs('reads an old snapshot') ? start - 40 : start;
    return versions.findLast(({ commit }) => commit <= snapshot)?.value ?? null;
  }

  #scan(start: number, writes: ReadonlyMap<string, number | null>): Record<string, unknown> {
    const [from = '', to = ''] = [
      this.#random.pick(KEYS),
      this.#random.pick([...KEYS, 'f']),
    ].toSorted();
    const limit = this.#random.fraction() < 0.3 ? this.#random.integer(1, 2) : undefined;
    const rows = KEYS.filter((key) => key >= from && key < to)
      .map((key) => ({ key, value: this.#read(key, start, writes) }))
      .filter(({ value }) => value !== null)
      .filter(() => !this.#errs('misses rows in scans'));
    return { scan: { from, to, ...(limit && { limit }) }, rows: rows.slice(0, limit) };
  }

  #end({ process, start, begin, ops, writes, locks }: OpenTransaction): void {
    const written = [...writes.keys(), ...locks];
    const newest = (key: string): number =>
      Math.max(this.#versions.get(key)?.at(-1)?.commit ?? 0, this.#lockedAt.get(key) ?? 0);
    const isLate =
      written.some((key) => newest(key) > start) && !this.#errs('commits in spite of a conflict');
    const isWriter = written.length > 0;
    const commit = isWriter ? ++this.#now : undefined;
    if (commit !== undefined && (!isLate || this.#errs('commits what has failed'))) {
      this.#apply(commit, writes);
      for (const key of locks) this.#lockedAt.set(key, commit);
    }
    const died = this.#options.deaths === true && this.#random.fraction() < 0.1;
    const outcome = isLate ? 'fail' : 'ok';
    const isSecret = died || (this.#options.deaths === true && this.#random.fraction() < 0.1);
    const told = commit === undefined || isLate || isSecret ? {} : { commit: this.#shown(commit) };
    const end = died ? {} : { end: ++this.#now };
    const line = {
      process: process % CLIENTS,
      start: this.#shown(start),
      ...told,
      outcome: died ? 'info' : outcome,
      begin,
      ...end,
      ops,
    };
    this.#lines.push(JSON.stringify(line));
  }

  #apply(commit: number, writes: ReadonlyMap<string, number | null>): void {
    if (this.#errs('loses commits')) return;
    const half = this.#errs('commits by halves') ? 1 : writes.size;
    for (const [key, value] of [...writes].slice(0, half)) {
      const versions = this.#versions.get(key) ?? [];
      versions.push({ commit, value });
      this.#versions.set(key, versions);
    }
  }

  /** True from time to time, if that is the store's mistake. */
  #errs(mistake: Mistake): boolean {
    return this.#options.mistake === mistake && this.#random.fraction() < 0.5;
  }

  #shown(timestamp: number): number | string {
    const { offset } = this.#options;
    return offset === undefined ? timestamp : `${offset + BigInt(timestamp)}`;
  }
}
