/**
 * A load of small calls on a storage whose connections are disturbed, and the judge of what its
 * callers were told. Each call has rows of its own, so its effect can be told from all others:
 *
 *     the caller heard             the storage has its cell, once the connections are calm
 *     it was applied               yes
 *     refused                      no, and never will
 *     in doubt                     yes or no
 *     the condition did not hold   only its own effect can be there: it was sent twice
 *
 * And no call waits forever, no read misses what was acknowledged before it, and no mutation is
 * taken by the storage after its deadline, nor after a fence of which its caller has been told
 * something before, if the storage promises that. If it promises an order, some calls are made in
 * one turn, as the marks of a commit and the commit are (P61).
 */
import { hasCode, PercolatorError, type Random, systemClock } from '../../../engine/base/index.ts';
import type { Bigtable, CellFilter, Row } from '../../../engine/bigtable/index.ts';
import type { Violation } from '../judges/index.ts';

export const TABLE = 't';
export const FAMILY = 'data';
const FILTERS: readonly CellFilter[] = [{ family: FAMILY, qualifier: 'q' }];
/** Far longer than a call takes on any machine. */
const HANG_MS = 60_000;

export interface SocketLoadOptions {
  readonly random: Random;
  /** Callers of one client, each of which waits for its last call before the next. */
  readonly callers: number;
  readonly calls: number;
  /** Whether calls of one turn are taken in the order made. Default false. */
  readonly ordered?: boolean | undefined;
}

type Heard = 'applied' | 'refused' | 'in doubt' | 'met';

interface Told {
  readonly row: string;
  readonly kind: 'conditional' | 'blind';
  readonly heard: Heard;
  readonly message: string;
  /** On the clock of `nowMs`: when the call had been made, and when its caller was told. */
  readonly askedMs: number;
  readonly heardMs: number;
}

export class SocketLoad {
  readonly told: Told[] = [];
  readonly violations: Violation[] = [];
  readonly #nowMs: () => number;
  /** Rows of two calls of one turn. */
  readonly #pairs: (readonly [first: string, second: string])[] = [];
  #rows = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Runs the callers of one client until each has made its calls. */
  async run(
    store: Bigtable,
    { random, callers, calls, ordered }: SocketLoadOptions,
  ): Promise<void> {
    await Promise.all(
      Array.from({ length: callers }, async (_, i) => {
        const own = random.fork(`caller ${i}`);
        const pairs = own.fork('pairs');
        const acknowledged: string[] = [];
        for (let call = 0; call < calls; call++) {
          await this.#step(store, own, acknowledged);
          if (ordered === true && pairs.fraction() < 0.3) await this.#pair(store, pairs);
          await systemClock.sleep(own.integer(0, 20));
        }
      }),
    );
  }

  async #step(store: Bigtable, random: Random, acknowledged: string[]): Promise<void> {
    const kind = random.fraction();
    if (kind < 0.35 && acknowledged.length > 0) {
      await this.#read(store, random.pick(acknowledged), random.pick(['one', 'many', 'range']));
      return;
    }
    const rows = Array.from(
      { length: kind < 0.5 ? 3 : 1 },
      () => `row-${this.#rows++}-${random.seed}`,
    );
    acknowledged.push(...(await (kind < 0.75 ? this.#check(store, rows) : this.#set(store, rows))));
  }

  /** Two calls of one turn: whatever becomes of them, the second is not there without the first. */
  async #pair(store: Bigtable, random: Random): Promise<void> {
    const row = `row-${this.#rows++}-${random.seed}`;
    const [first, second] = [`${row}-marks`, `${row}-commit`];
    this.#pairs.push([first, second]);
    await Promise.all([this.#set(store, [first]), this.#check(store, [second])]);
  }

  /** Sets each row's cell unless it is there. Resolves with the rows that were acknowledged. */
  async #check(store: Bigtable, rows: readonly string[]): Promise<readonly string[]> {
    const conditionals = rows.map((row) => ({
      table: TABLE,
      row,
      anyOf: FILTERS,
      ifNotFound: mutationsOf(row),
    }));
    const asking = store.checkAndMutateRows(conditionals);
    const askedMs = this.#nowMs();
    const answers = await this.#settled('checkAndMutateRows', asking);
    const heardMs = this.#nowMs();
    return rows.filter((row, i) => {
      const answer = answers instanceof Error ? answers : answers[i];
      const error = answer instanceof Error ? answer : undefined;
      const heard =
        error === undefined ? (answer === false ? 'applied' : 'met') : this.#heardOf(error);
      this.told.push({
        row,
        kind: 'conditional',
        heard,
        message: String(error ?? answer),
        askedMs,
        heardMs,
      });
      return heard === 'applied';
    });
  }

  async #set(store: Bigtable, rows: readonly string[]): Promise<readonly string[]> {
    const asking = store.mutateRows(
      rows.map((row) => ({ table: TABLE, row, mutations: mutationsOf(row) })),
    );
    const askedMs = this.#nowMs();
    const error = await this.#settled('mutateRows', asking);
    const heardMs = this.#nowMs();
    // A failure of several rows may be one row's alone: the others are in doubt.
    const isShared = error instanceof Error && rows.length > 1;
    const heard = !(error instanceof Error)
      ? 'applied'
      : isShared
        ? (this.#heardOf(error), 'in doubt')
        : this.#heardOf(error);
    for (const row of rows) {
      this.told.push({ row, kind: 'blind', heard, message: String(error), askedMs, heardMs });
    }
    return heard === 'applied' ? rows : [];
  }

  async #read(store: Bigtable, row: string, how: 'one' | 'many' | 'range'): Promise<void> {
    const end = `${row}~`;
    const reads: Record<typeof how, () => Promise<readonly (Row | undefined)[]>> = {
      one: async () => [await store.readRow(TABLE, row, FILTERS)],
      many: async () => (await store.readRows(TABLE, ['absent', row], FILTERS)).slice(1),
      range: () => store.readRange(TABLE, { start: row, end, limit: 1 }, FILTERS),
    };
    const found = await this.#settled(`a read (${how})`, reads[how]());
    if (found instanceof Error) {
      if (!hasCode(found, 'STORE_UNAVAILABLE')) this.#unexpected(found);
      return;
    }
    const value = textOf(found[0]);
    if (value === row) return;
    this.#violation(
      'reads: what was acknowledged is seen',
      `${how}: ${row} reads ${String(value)}`,
    );
  }

  /** The result or the error, of which a call that never ends has none. */
  async #settled<T>(what: string, call: Promise<T>): Promise<T | Error> {
    const ended = new AbortController();
    const late = systemClock.sleep(HANG_MS, ended.signal).then(() => {
      if (!ended.signal.aborted) this.#violation('calls: none waits forever', what);
      return new PercolatorError('STORE_IN_DOUBT', 'it hangs');
    });
    const settled = call.catch((error: unknown) => error as Error);
    const first = await Promise.race([settled, late]);
    ended.abort();
    return first;
  }

  #heardOf(error: Error): Heard {
    if (hasCode(error, 'STORE_IN_DOUBT')) return 'in doubt';
    if (!hasCode(error, 'STORE_UNAVAILABLE')) this.#unexpected(error);
    return 'refused';
  }

  #unexpected(error: Error): void {
    this.#violation('errors: only those of a storage that is away', String(error.stack ?? error));
  }

  #violation(claim: string, message: string): void {
    this.violations.push({ claim, message });
  }

  /** Compares what the callers heard with what is there, read by a client without faults. */
  async judge(store: Bigtable): Promise<void> {
    const rows = this.told.map(({ row }) => row);
    const found = await store.readRows(TABLE, rows, FILTERS);
    for (const [i, { row, kind, heard, message }] of this.told.entries()) {
      const isThere = found[i] !== undefined;
      const said = `${kind} ${row}: ${message}`;
      if (heard === 'applied' && !isThere) {
        this.#violation('answers: what was acknowledged is there', said);
      }
      if (heard === 'refused' && isThere) {
        this.#violation('answers: what was refused is not there', said);
      }
      if (heard === 'met') {
        this.#violation('answers: a conditional mutation does not meet itself', said);
      }
    }
  }

  /** @param order the rows of mutations, in the order in which the storage took them */
  judgeOrder(order: readonly string[]): void {
    for (const [first, second] of this.#pairs) {
      const at = order.indexOf(second);
      if (at === -1 || order.slice(0, at).includes(first)) continue;
      this.#violation('order: nothing is taken without what was sent before it', second);
    }
  }

  /** No connection was disturbed, and no process stood still: every call must have been served. */
  judgeServed(): void {
    for (const { row, kind, heard, message } of this.told) {
      if (heard === 'applied') continue;
      this.#violation('others: they are served as ever', `${kind} ${row}: ${message}`);
    }
  }

  /** @param takenMs when the storage took the mutation of a row, each time that it did */
  judgeTimes(takenMs: ReadonlyMap<string, readonly number[]>, deadlineMs: number): void {
    for (const { row, kind, askedMs, heard } of this.told) {
      const times = takenMs.get(row) ?? [];
      const late = times.find((ms) => ms > askedMs + deadlineMs);
      if (late !== undefined) {
        const message = `${kind} ${row}: ${Math.round(late - askedMs)} ms after it was asked`;
        this.#violation('deadlines: no mutation is taken after them', message);
      }
      if (kind === 'conditional' && times.length > 1) {
        const after = times.map((ms) => Math.round(ms - askedMs)).join(' and ');
        const message = `${row}: taken ${after} ms after it was asked; its caller heard "${heard}"`;
        this.#violation('answers: no conditional mutation is sent twice', message);
      }
    }
  }

  /**
   * @param fencesMs when fences were set, in order
   * @param takenMs as for `judgeTimes`
   */
  judgeFences(takenMs: ReadonlyMap<string, readonly number[]>, fencesMs: readonly number[]): void {
    for (const { row, kind, heardMs } of this.told) {
      const fenceMs = fencesMs.find((ms) => ms > heardMs) ?? Infinity;
      if (!(takenMs.get(row) ?? []).some((ms) => ms > fenceMs)) continue;
      this.#violation(
        'fences: nothing that was left in flight is taken after them',
        `${kind} ${row}`,
      );
    }
  }
}

function mutationsOf(
  row: string,
): readonly [{ kind: 'set'; family: string; qualifier: string; timestamp: number; value: Buffer }] {
  return [{ kind: 'set', family: FAMILY, qualifier: 'q', timestamp: 1, value: Buffer.from(row) }];
}

function textOf(row: Row | undefined): string | undefined {
  const value = row?.cells[0]?.value;
  return value && Buffer.from(value).toString();
}
