/**
 * Whether all workers of a column have the same observers (P72). If they have not, each clears
 * marks of changes that the other's observers have not seen, and nothing else would ever tell.
 *
 * A process writes the names of its workers' observers next to its lease, with the renewals that it
 * sends anyway. Each worker reads the leases every ten seconds, and compares:
 *
 *     lease of A, renewed since we last looked:   [[t, seen, x]]     A's worker lacks y
 *     lease of B, not renewed since:              [[t, seen, z]]     B may have ended: not counted
 *     this worker:                                [[t, seen, y]]     lacks x
 *
 * So what a process says counts only after it has been seen to renew its lease: a process that has
 * died says nothing, and workers that replace stopped ones are not told of those. And until the
 * time to live has passed without a renewal.
 */
import { type Clock, PercolatorError, type Troubles } from '../base/index.ts';
import type { Context } from '../transaction/index.ts';
import type { Observer } from './observer.ts';
import { columnKey } from './worker-options.ts';

/** Milliseconds between two looks. Smaller: more reads. Larger: reported later. */
const LOOK_MS = 10_000;
/** Missing observers that one sentence names. */
const NAMED_MAX = 5;

/** The names of observers, by column. */
type Names = ReadonlyMap<string, ReadonlySet<string>>;

/** What one process says of its workers. */
interface Sighting {
  readonly counter: number;
  /** When this counter was first seen. */
  readonly sinceMs: number;
  /** Undefined until it was seen to renew its lease. */
  readonly workers: readonly Names[] | undefined;
}

export class Peers {
  readonly #leases: Context['leases'];
  readonly #clock: Clock;
  readonly #troubles: Troubles;
  readonly #columns: ReadonlyMap<string, Observer>;
  readonly #own: Names;
  /** What this worker says; it also tells it apart from others of its process. */
  readonly #saying: readonly (readonly string[])[];
  #sightings: ReadonlyMap<string, Sighting> = new Map();
  #lookedMs = -Infinity;

  constructor({ leases, clock }: Context, observers: readonly Observer[], troubles: Troubles) {
    this.#leases = leases;
    this.#clock = clock;
    this.#troubles = troubles;
    this.#columns = new Map(observers.map((one) => [columnKey(one.table, one.column), one]));
    this.#saying = observers.map(({ table, column, name }) => [table, column, name]);
    this.#own = namesIn(this.#saying);
    leases.say(this.#saying);
  }

  /** The worker runs no observers any more. */
  stop(): void {
    this.#leases.unsay(this.#saying);
  }

  /** Looks if it is time to. If the storage refuses, what was seen before counts. */
  async check(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    try {
      (await this.#leases.enter()).release(); // A process that only waits has no lease yet.
      await this.#look();
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
    for (const [key, { table, column }] of this.#columns) this.#compare(key, table, column);
  }

  async #look(): Promise<void> {
    const leases = await this.#leases.others();
    const nowMs = this.#clock.monotonicMs();
    const sightings = [...leases].map(([token, { counter, ttlMs, says }]) => {
      const before = this.#sightings.get(token);
      const isRenewed = before !== undefined && before.counter !== counter;
      if (before === undefined || isRenewed) {
        const workers = isRenewed ? says.map(namesIn) : undefined;
        return [token, { counter, sinceMs: nowMs, workers }] as const;
      }
      const isOver = nowMs - before.sinceMs > ttlMs;
      return [token, isOver ? { ...before, workers: undefined } : before] as const;
    });
    this.#sightings = new Map(sightings);
  }

  #compare(key: string, table: string, column: string): void {
    const missing = new Set<string>();
    for (const [where, workers] of this.#others()) {
      for (const names of workers) {
        const theirs = names.get(key);
        if (theirs === undefined) continue; // It does not observe the column.
        const own = this.#own.get(key) ?? new Set<string>();
        for (const name of theirs.difference(own)) missing.add(`${name} is missing in this one`);
        for (const name of own.difference(theirs)) missing.add(`${name} is missing in ${where}`);
      }
    }
    const trouble = `observers of ${key}`;
    if (missing.size === 0) {
      this.#troubles.end(trouble);
      return;
    }
    const sentence = `the workers of column ${column} of table ${table} have different observers, which therefore miss changes: ${list(missing)}`;
    this.#troubles.begin(trouble, { kind: 'observers', sentence, table, column });
  }

  #others(): readonly (readonly [where: string, workers: readonly Names[]])[] {
    const here = this.#leases.said.filter((saying) => saying !== this.#saying).map(namesIn);
    const elsewhere = [...this.#sightings].map(
      ([token, { workers = [] }]) => [`process ${token}`, workers] as const,
    );
    return [['another one of this process', here], ...elsewhere];
  }
}

/** What a worker said; nothing, if it is not what this engine writes. */
function namesIn(saying: unknown): Names {
  const names = new Map<string, Set<string>>();
  for (const one of Array.isArray(saying) ? (saying as readonly unknown[]) : []) {
    const [table, column, name] = Array.isArray(one) ? (one as readonly unknown[]) : [];
    const key = columnKey(String(table), String(column));
    names.set(key, (names.get(key) ?? new Set()).add(String(name)));
  }
  return names;
}

function list(all: ReadonlySet<string>): string {
  const named = [...all].toSorted().slice(0, NAMED_MAX);
  const more = all.size - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
