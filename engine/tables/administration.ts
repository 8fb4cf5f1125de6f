/** The parts that creating and dropping tables work with. */
import type { Bigtable } from '../bigtable/index.ts';
import { backoffMs, type Context } from '../transaction/index.ts';
import type { StoredCatalog } from './catalog.ts';
import { type Definition, step, type StoredDefinition } from './definition.ts';

export interface Administration {
  readonly context: Context;
  /** The storage itself, without batching. */
  readonly store: Bigtable;
  readonly catalog: StoredCatalog;
  readonly waiting: CreatorWatch;
  /** A new name for an attempt to create a table: `<liveness token>#<nonce>.<number>`. */
  nextCreator(): string;
}

/**
 * Makes a step of a definition and notes it in this process's catalog; undefined if it was not
 * made: another process made a different step first, or the request was lost.
 */
export async function stepOf(
  { store, catalog }: Administration,
  table: string,
  from: StoredDefinition | undefined,
  to: Definition,
): Promise<StoredDefinition | undefined> {
  const made = await step(store, table, { from, to, known: catalog.versionOf(table) });
  if (made !== undefined) catalog.note(table, made);
  return made;
}

/*
 * Waiting for another process to create a table, until that process counts as dead.
 *
 * The time waited is remembered for as long as this process has the database open, not for one
 * call. A call that fails meanwhile, because a read of the definition was lost, is made again by
 * its caller, and would otherwise start the wait from zero each time.
 */

/** A definition in state `creating`, and when this process saw it first. */
interface Seen {
  readonly version: number;
  readonly sinceMs: number;
  /** Milliseconds without a change after which the creator counts as dead. */
  readonly patienceMs: number;
  /** How often this process has waited for it: each wait may be longer. */
  waits: number;
  /** Whether this process gave the creator up as too slow: the next gets twice the time. */
  isTooLong: boolean;
}

/**
 * The patience with a table's first creator. If that one has taken too long, the next is given
 * twice the time. Making a table and its companion usually takes seconds, but may take longer than
 * any fixed time that a caller wants to wait for a dead creator: HBase's client gives the master
 * ten minutes for each. With a fixed time, processes that create the table at the same time would
 * give up each other's attempts forever.
 */
const PATIENCE_MS_MIN = 120_000;

/**
 * By liveness: the attempts of all databases that share it, as with commits (P29, own dead
 * attempts).
 */
const creatingOf = new WeakMap<Context['liveness'], Set<string>>();

export class CreatorWatch {
  /** Names of attempts to create a table that have not ended, in databases with our liveness. */
  readonly creating: Set<string>;
  readonly #context: Context;
  readonly #seen = new Map<string, Seen>();

  constructor(context: Context) {
    this.#context = context;
    this.creating = creatingOf.get(context.liveness) ?? new Set<string>();
    creatingOf.set(context.liveness, this.creating);
  }

  /**
   * Whether waiting is in vain: the creator is known to be dead, its attempt has ended, or it has
   * taken too long. If not, waits a moment before it resolves.
   */
  async isInVain(table: string, { version, creator = '' }: StoredDefinition): Promise<boolean> {
    const { clock, closing, liveness } = this.#context;
    const seen = this.#see(table, version);
    // `<liveness token>#<nonce>.<number>`; the token may contain # itself.
    const owner = creator.slice(0, creator.lastIndexOf('#'));
    const isOver =
      owner === liveness.self
        ? !this.creating.has(creator)
        : liveness.isDead(owner) || this.#isTooLong(seen);
    if (!isOver) await closing.sleep(clock, backoffMs(this.#context, ++seen.waits));
    return isOver;
  }

  #see(table: string, version: number): Seen {
    const known = this.#seen.get(table);
    if (known?.version === version) return known;
    const sinceMs = this.#context.clock.monotonicMs();
    const { patienceMs = PATIENCE_MS_MIN, isTooLong = false } = known ?? {};
    const seen: Seen = {
      version,
      sinceMs,
      patienceMs: isTooLong ? 2 * patienceMs : patienceMs,
      waits: 0,
      isTooLong: false,
    };
    this.#seen.set(table, seen);
    return seen;
  }

  #isTooLong(seen: Seen): boolean {
    seen.isTooLong ||= this.#context.clock.monotonicMs() - seen.sinceMs > seen.patienceMs;
    return seen.isTooLong;
  }
}
