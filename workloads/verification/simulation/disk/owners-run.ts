/**
 * A simulated run of the embedded store alone, whose owners lose it without knowing: another
 * process takes the store over, or another program moves the folder or replaces a file (P69, P70).
 *
 *     owner 1 ─▶ writes, reads ─▶ ... its disk stands still ...... goes on ─▶ may harm nothing
 *                     owner 2 ─▶ waits, opens, writes, reads ─▶ ... stands still ......
 *                                      owner 3 ─▶ ...
 *
 * Any write and any sync of an owner may stand still, for longer than the next owner needs for all
 * that it does. Whatever happens, every acknowledged write is there at the end, no refused one is,
 * no read misses what was acknowledged before it, and every opening finds a store in order.
 */
import {
  type Clock,
  createRandom,
  hasCode,
  type PercolatorError,
  type Random,
  systemClock,
} from '../../../../engine/base/index.ts';
import type { Bigtable, RowMutation } from '../../../../engine/bigtable/index.ts';
import { TAKE_OVER_MS } from '../../../../engine/bigtable/embedded/folder.ts';
import {
  SimulatedDisk,
  type SimulatedDiskOptions,
} from '../../../../engine/testing/simulated-disk.ts';
import type { Violation } from '../../judges/history.ts';
import { Broken, claim, FAMILIES, openSmall, read, TABLE } from './disk-truth.ts';

export interface OwnersKnobs {
  /** One in this many writes and syncs stands still. */
  readonly pauseOneIn: number;
  /** What another program does to the last owner. */
  readonly harm: 'none' | 'moved' | 'file removed' | 'file replaced';
}

export interface OwnersCounts {
  /** Owners that another process displaced. */
  displaced: number;
  acknowledged: number;
  /** Writes that an owner refused, and writes in doubt, because it was no owner any more. */
  refused: number;
  inDoubt: number;
  reads: number;
  pauses: number;
}

const TURNS = 80;
/** A new owner comes about as often. */
const TURNS_OF_AN_OWNER = 16;
const ROWS = ['a', 'b', 'c'] as const;
const [FAMILY = ''] = FAMILIES;

/** @param favoured replaces knobs of the seed */
export async function simulateOwners(
  seed: number,
  favoured: Partial<OwnersKnobs> = {},
): Promise<{ readonly violations: readonly Violation[]; readonly counts: OwnersCounts }> {
  const run = new OwnersRun(seed, favoured);
  try {
    await run.run();
    return { violations: [], counts: run.counts };
  } catch (error) {
    const what = error instanceof Broken ? error.claim : 'owners: unexpected error';
    const message = error instanceof Broken ? error.message : String((error as Error).stack);
    return { violations: [{ claim: what, message }], counts: run.counts };
  }
}

interface Owner {
  readonly disk: SimulatedDisk;
  /** Undefined until it has opened the store. */
  store: Bigtable | undefined;
  readonly opening: Promise<void>;
}

class OwnersRun {
  readonly counts: OwnersCounts = {
    displaced: 0,
    acknowledged: 0,
    refused: 0,
    inDoubt: 0,
    reads: 0,
    pauses: 0,
  };
  readonly #random: Random;
  readonly #knobs: OwnersKnobs;
  readonly #owners: Owner[] = [];
  /** What stands still, and the turn in which it goes on. */
  readonly #stopped = new Set<{ readonly turn: number; readonly goOn: () => void }>();
  readonly #calls: Promise<void>[] = [];
  /** The versions of each row that were acknowledged, and all that were refused. */
  readonly #acknowledged = new Map<string, number[]>(ROWS.map((row) => [row, []]));
  readonly #refused = new Set<number>();
  #broken: unknown;
  #nowMs = 0;
  #turn = 0;
  #version = 0;
  /** When another program did its harm. */
  #harmedMs = Infinity;
  readonly #clock: Clock = { ...systemClock, monotonicMs: () => this.#nowMs };

  constructor(seed: number, favoured: Partial<OwnersKnobs>) {
    this.#random = createRandom(seed).fork('scene');
    const knobs = this.#random.fork('knobs');
    this.#knobs = {
      pauseOneIn: knobs.pick([4, 12, 40]),
      harm: knobs.pick(['none', 'none', 'moved', 'file removed', 'file replaced']),
      ...favoured,
    };
  }

  async run(): Promise<void> {
    await this.#begin();
    const isHarmed = this.#knobs.harm !== 'none';
    for (; this.#turn < TURNS; this.#turn++) {
      this.#nowMs += this.#random.integer(0, 6);
      if (this.#random.integer(1, TURNS_OF_AN_OWNER) === 1 && !isHarmed) this.#takeOver();
      if (isHarmed && this.#turn === TURNS / 2) this.#harm();
      for (const { store } of this.#owners) if (store !== undefined) this.#work(store);
      this.#goOn(({ turn }) => turn <= this.#turn);
      for (let i = this.#random.integer(0, 5); i > 0; i--) await systemClock.yield();
      if (this.#broken !== undefined) throw this.#broken;
    }
    await this.#end();
  }

  async #begin(): Promise<void> {
    const disk = new SimulatedDisk(this.#diskOptions());
    const store = await openSmall(disk, { clock: this.#clock });
    await store.createTable(TABLE, { families: FAMILIES });
    this.#owners.push({ disk, store, opening: Promise.resolve() });
  }

  /** Everything that stands still goes on, and one more process opens what is there. */
  async #end(): Promise<void> {
    this.#turn = Infinity;
    const isOver = { value: false };
    const ended = this.#all().finally(() => (isOver.value = true));
    while (!isOver.value) {
      this.#nowMs += 1;
      this.#goOn(() => true);
      await systemClock.yield();
    }
    await ended;
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#knobs.harm.startsWith('file')) return; // What was in the file is gone.
    const last = this.#owners.at(-1) as Owner;
    const store = await openSmall(last.disk.takeOver(this.#diskOptions()), { clock: this.#clock });
    const found = await read(store);
    const versions = [...found.values()].flatMap((cells) =>
      Array.from(cells.keys(), (name) => Number(name.split('@')[1])),
    );
    const there = new Set(versions);
    const missing = [...this.#acknowledged.values()].flat().filter((one) => !there.has(one));
    const extra = versions.filter((version) => this.#refused.has(version));
    claim(missing.length === 0, 'owners: acknowledged, and lost', () => missing.join());
    claim(extra.length === 0, 'owners: refused, and there', () => extra.join());
  }

  async #all(): Promise<void> {
    await Promise.all(this.#owners.map(({ opening }) => opening));
    await Promise.all(this.#calls);
    for (const { store } of this.#owners) await store?.close();
  }

  #takeOver(): void {
    const before = this.#owners.at(-1) as Owner;
    this.counts.displaced++;
    const disk = before.disk.takeOver(this.#diskOptions());
    const untilMs = this.#nowMs + TAKE_OVER_MS;
    const open = async (): Promise<void> => {
      while (this.#nowMs < untilMs && this.#broken === undefined) await systemClock.yield();
      owner.store = await openSmall(disk, { clock: this.#clock });
    };
    const note = (error: unknown): void => {
      const isDisplaced = this.#owners.at(-1) !== owner;
      if (!isDisplaced || !hasCode(error, 'STORE_CLOSED')) this.#broken ??= error;
    };
    const opening = systemClock.yield().then(open).catch(note);
    const owner: Owner = { disk, store: undefined, opening };
    this.#owners.push(owner);
  }

  #harm(): void {
    const { disk } = this.#owners.at(-1) as Owner;
    this.#harmedMs = this.#nowMs;
    const newest = disk.names().findLast((name) => name.endsWith('.log')) as string;
    const bytes = disk.files().get(newest);
    if (this.#knobs.harm === 'moved') disk.move();
    else disk.replace(newest, this.#knobs.harm === 'file removed' ? undefined : bytes);
  }

  #work(store: Bigtable): void {
    for (let i = this.#random.integer(0, 2); i > 0; i--) this.#calls.push(this.#write(store));
    if (this.#random.integer(0, 1) === 0) this.#calls.push(this.#read(store));
  }

  /** Never rejects: what goes wrong is thrown later. */
  async #write(store: Bigtable): Promise<void> {
    const version = ++this.#version;
    const sentMs = this.#nowMs;
    const row = this.#random.pick(ROWS);
    try {
      await store.mutateRows([this.#mutation(row, version)]);
      this.#acknowledged.get(row)?.push(version);
      this.counts.acknowledged++;
      const late = sentMs - this.#harmedMs;
      claim(!(late >= TAKE_OVER_MS), 'owners: served after the harm', () => `${late} ms`);
    } catch (error) {
      const { code } = error as PercolatorError;
      if (code === 'STORE_IN_DOUBT') this.counts.inDoubt++;
      else if (code === 'STORE_CLOSED' || code === 'STORE_UNAVAILABLE') {
        this.#refused.add(version);
        this.counts.refused++;
      } else this.#broken ??= error;
    }
  }

  #mutation(row: string, version: number): RowMutation {
    const length = this.#random.pick([5, 40, 600, 1_500]);
    const value = Buffer.alloc(length, `${version} `);
    const provisional = this.#random.integer(0, 3) === 0;
    const cell = { family: FAMILY, qualifier: '', timestamp: version };
    return { table: TABLE, row, mutations: [{ kind: 'set', ...cell, value }], provisional };
  }

  /** Sees at least what was acknowledged before it was asked for. */
  async #read(store: Bigtable): Promise<void> {
    const row = this.#random.pick(ROWS);
    const known = [...(this.#acknowledged.get(row) ?? [])];
    try {
      const found = await store.readRow(TABLE, row, [{ family: FAMILY }]);
      this.counts.reads++;
      const seen = new Set(found?.cells.map(({ timestamp }) => timestamp));
      const missed = known.filter((version) => !seen.has(version));
      claim(missed.length === 0, 'owners: a read of the past', () => `${row}: ${missed.join()}`);
    } catch (error) {
      if (!hasCode(error, 'STORE_CLOSED') && !hasCode(error, 'STORE_UNAVAILABLE')) {
        this.#broken ??= error;
      }
    }
  }

  #goOn(isTime: (stopped: { readonly turn: number }) => boolean): void {
    for (const stopped of this.#stopped) {
      if (!isTime(stopped)) continue;
      this.#stopped.delete(stopped);
      stopped.goOn();
    }
  }

  #diskOptions(): SimulatedDiskOptions {
    const chance = this.#random.fork(`disk ${this.#owners.length}`);
    const pause = async (): Promise<void> => {
      const isRunning = this.#owners.length > 0 && this.#turn < TURNS;
      if (!isRunning || chance.integer(1, this.#knobs.pauseOneIn) > 1) return;
      this.counts.pauses++;
      const over = Promise.withResolvers<void>();
      this.#stopped.add({ turn: this.#turn + chance.integer(1, 40), goOn: over.resolve });
      await over.promise;
    };
    return { random: chance.fork('system'), pause };
  }
}
