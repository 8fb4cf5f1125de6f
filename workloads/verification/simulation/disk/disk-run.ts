/**
 * A simulated run of the embedded store alone, on a disk that refuses operations and loses its
 * power: whatever the disk does, every acknowledged mutation is there, none is half there, and what
 * was refused is not there (disk-truth.ts).
 *
 *     a client mutates rows ─▶ store ─▶ simulated disk ─┬─ killed or closed, and opened again
 *                                                       └─ power cut, in a copy: opened three times
 *
 * The rows are few, one of them with many cells; or they are many, with long names, and come and go
 * together, so that the leaves of the index split and merge while the hint copies them.
 *
 * In some runs the disk is full for some turns. Then the store is read and opened as ever, and
 * takes what readers wait for, whatever else it is asked to write (P78).
 */
import {
  createRandom,
  hasCode,
  type PercolatorError,
  type Random,
  systemClock,
} from '../../../../engine/base/index.ts';
import type { Bigtable, Mutation, RowMutation } from '../../../../engine/bigtable/index.ts';
import { HINT_FILE } from '../../../../engine/bigtable/embedded/hint.ts';
import {
  type DiskFailure,
  type DiskOperation,
  SimulatedDisk,
} from '../../../../engine/testing/simulated-disk.ts';
import type { Violation } from '../../judges/history.ts';
import {
  apply,
  Broken,
  claim,
  type Contents,
  copyOf,
  type Cut,
  FAMILIES,
  inTime,
  judgeCut,
  NEWEST,
  openSmall,
  possibleStates,
  read,
  type Sent,
  TABLE,
  textOf,
} from './disk-truth.ts';

export interface DiskKnobs {
  /** The disk refuses about one in this many operations, in the middle of the run. 0: none. */
  readonly failures: number;
  /** The share of turns with provisional mutations, and of those mutations in such a turn. */
  readonly provisional: number;
  /** How many rows have long names; 0: a few rows with short names instead. */
  readonly longRows: number;
  /** The power is cut before one in about this many operations. */
  readonly cutOneIn: number;
  /** Turns of the event loop that the sync of a hint takes, at most. */
  readonly hintTurnsMax: number;
  /** Whether the disk is full for some turns, in a run in which it refuses nothing else. */
  readonly isFull: boolean;
}

export interface DiskRunResult {
  readonly violations: readonly Violation[];
  readonly counts: DiskCounts;
}

export interface DiskCounts extends FullDiskCounts {
  cuts: number;
  /** Power cuts when something provisional was not yet certain. */
  provisionalCuts: number;
  /** Calls that were refused, and calls whose outcome was in doubt. */
  refused: number;
  inDoubt: number;
  /** Openings after a close, and after the end of a process that did not close. */
  closed: number;
  killed: number;
  /** Hints that were written. */
  hints: number;
}

const TURNS = 60;
/** Rows are added for so many turns, then removed for as many. */
const TIDE_TURNS = 8;
/** Sixteen rows with such names fill a leaf. */
const LONG_NAME = '.'.repeat(980);

/** @param favoured replaces knobs of the seed */
export async function simulateDisk(
  seed: number,
  favoured: Partial<DiskKnobs> = {},
): Promise<DiskRunResult> {
  const run = new DiskRun(seed, favoured);
  try {
    await run.run();
    return { violations: [], counts: run.counts };
  } catch (error) {
    const what = error instanceof Broken ? error.claim : 'store: unexpected error';
    const message = error instanceof Broken ? error.message : String((error as Error).stack);
    return { violations: [{ claim: what, message }], counts: run.counts };
  }
}

function knobsOf(random: Random): DiskKnobs {
  const isLong = random.fraction() < 0.25;
  return {
    failures: random.pick([0, 0, 10, 30]),
    provisional: random.pick([0, 0.7, 0.97]),
    longRows: isLong ? random.pick([100, 200]) : 0,
    cutOneIn: isLong ? 60 : 6,
    hintTurnsMax: random.pick([0, 0, 3]),
    isFull: random.fork('full').fraction() < 0.4,
  };
}

class DiskRun {
  readonly counts: DiskCounts = {
    cuts: 0,
    provisionalCuts: 0,
    refused: 0,
    inDoubt: 0,
    closed: 0,
    killed: 0,
    hints: 0,
    essential: 0,
    refusedFull: 0,
    openedFull: 0,
  };
  readonly #seed: number;
  readonly #random: Random;
  readonly #knobs: DiskKnobs;
  readonly #disk: SimulatedDisk;
  /** Undefined if the disk is never full. */
  readonly #full: FullDisk | undefined;
  readonly #cuts: Cut[] = [];
  #contents: Contents = new Map();
  #provisional: Sent[] = [];
  /** In the order sent; the answered ones at the front are removed. */
  readonly #sent: Sent[] = [];
  /** The first claim that a call has broken. */
  #broken: unknown;
  #value = 0;
  #turn = 0;
  #isFailing = false;
  #isCreated = false;

  constructor(seed: number, favoured: Partial<DiskKnobs>) {
    this.#seed = seed;
    this.#random = createRandom(seed).fork('scene'); // Streams of neighbouring seeds begin alike.
    this.#knobs = { ...knobsOf(this.#random.fork('knobs')), ...favoured };
    const turns = this.#random.fork('turns');
    this.#disk = new SimulatedDisk({
      random: this.#random.fork('disk'),
      before: (operation, name) => this.#before(operation, name),
      pause: async (moment, name) => {
        if (moment !== 'sync' || !name.startsWith(HINT_FILE)) return;
        for (let left = turns.integer(0, this.#knobs.hintTurnsMax); left > 0; left--) {
          await systemClock.yield();
        }
      },
    });
    const { isFull, failures } = this.#knobs;
    if (!isFull || failures > 0) return;
    this.#full = new FullDisk(this.#disk, this.#random.fork('full'), this.counts);
  }

  async run(): Promise<void> {
    await this.#work();
    for (const [i, cut] of this.#cuts.entries()) {
      this.counts.cuts++;
      if (cut.provisional.length > 0) this.counts.provisionalCuts++;
      await judgeCut(cut, createRandom(this.#seed).fork(`judge ${i}`));
    }
  }

  async #work(): Promise<void> {
    const random = this.#random;
    let store = await this.#open();
    await store.createTable(TABLE, { families: FAMILIES });
    this.#isCreated = true;
    await this.#full?.begin(store);
    for (; this.#turn < TURNS; this.#turn++) {
      this.#full?.turn(this.#turn);
      this.#isFailing = this.#turn > 5 && this.#turn < 45;
      const isProvisional = this.#isProvisional();
      const sent = Array.from({ length: random.integer(1, 5) }, () =>
        this.#send(store, isProvisional && this.#isProvisional()),
      );
      if (this.#full?.isFull === true) sent.push(...(await this.#stepWhileFull(store)));
      if (random.integer(0, 2) > 0) await inTime(Promise.all(sent));
      if (random.integer(0, 8) > 0) continue;
      await inTime(Promise.all(sent));
      store = await this.#reopen(store);
    }
    this.#isFailing = false;
    await inTime(store.close());
    await this.#check(await this.#open());
    this.#cut('the end');
  }

  /** Asks for what readers wait for, and meanwhile for more of the rest. */
  async #stepWhileFull(store: Bigtable): Promise<readonly Promise<void>[]> {
    const essential = this.#full?.step(store).catch((error: unknown) => (this.#broken ??= error));
    const sent: Promise<void>[] = [];
    for (let i = this.#random.integer(0, 4); i > 0; i--) {
      await systemClock.yield();
      sent.push(this.#send(store, this.#isProvisional()));
    }
    await essential;
    if (this.#broken !== undefined) throw this.#broken;
    return sent;
  }

  async #reopen(store: Bigtable): Promise<Bigtable> {
    const random = this.#random;
    this.#isFailing = false;
    if (random.integer(0, 1) === 0) await inTime(store.listTables()); // What is in doubt is settled.
    if (random.integer(0, 2) === 0) {
      await untilIdle(); // Killed: what is not synced stays so.
      this.counts.killed++;
    } else {
      await inTime(store.close());
      this.counts.closed++;
    }
    const reopened = await this.#open();
    await this.#check(reopened);
    return reopened;
  }

  #open(): Promise<Bigtable> {
    return openSmall(this.#disk, this.#full && { reserveBytes: RESERVE_BYTES });
  }

  #before(operation: DiskOperation, name: string): DiskFailure | undefined {
    if (this.#random.integer(1, this.#knobs.cutOneIn) === 1) this.#cut(`${operation} ${name}`);
    if (operation === 'rename' && name.startsWith(HINT_FILE)) this.counts.hints++;
    const { failures } = this.#knobs;
    if (!this.#isFailing || failures === 0) return undefined;
    if (this.#random.integer(0, failures) > 0) return undefined;
    return this.#random.pick(['EIO', 'ENOSPC']);
  }

  #cut(at: string): void {
    this.#cuts.push({
      files: this.#disk.afterPowerCut(this.#random.fork(`cut ${this.#cuts.length}`)),
      isCreated: this.#isCreated,
      contents: copyOf(this.#contents),
      provisional: [...this.#provisional],
      open: this.#sent.filter(({ outcome }) => outcome === 'open'),
      inDoubt: this.#sent.filter(({ outcome }) => outcome === 'in doubt'),
      at,
    });
  }

  /** Whether what is sent now may be lost, until something later is durable. */
  #isProvisional(): boolean {
    return this.#random.fraction() < this.#knobs.provisional;
  }

  /** Never rejects: what goes wrong is thrown later. */
  async #send(store: Bigtable, isProvisional: boolean): Promise<void> {
    const sent: Sent = { rows: this.#mutations(isProvisional), isProvisional, outcome: 'open' };
    this.#sent.push(sent);
    try {
      await store.mutateRows(sent.rows);
      this.#answered(sent);
    } catch (error) {
      const { code } = error as PercolatorError;
      if (code === 'STORE_IN_DOUBT') this.counts.inDoubt++;
      else if (code === 'STORE_UNAVAILABLE' || code === 'STORE_FULL') this.counts.refused++;
      else this.#broken ??= error;
      this.#full?.refused();
      sent.outcome = code === 'STORE_IN_DOUBT' ? 'in doubt' : 'refused';
    }
  }

  #answered(sent: Sent): void {
    sent.outcome = 'applied';
    // Answers come in the order sent; what was in doubt before this one does not count.
    for (const before of this.#sent.splice(0, this.#sent.indexOf(sent) + 1)) {
      claim(before.outcome !== 'open', 'answers: out of order', () => rowsOf(before));
      if (before.outcome === 'applied') this.#provisional.push(before);
    }
    if (!sent.isProvisional) this.#settle();
  }

  /** All that was answered is durable. */
  #settle(): void {
    for (const { rows } of this.#provisional) for (const row of rows) apply(this.#contents, row);
    this.#provisional = [];
  }

  /** The store was reopened: it has what was acknowledged, and perhaps what is in doubt. */
  async #check(store: Bigtable): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    const found = await read(store);
    const inDoubt = this.#sent.filter(({ outcome }) => outcome === 'in doubt');
    this.#settle(); // This opening has read what the one before it left, and made it durable.
    const contents = this.#contents;
    const possible = possibleStates({ contents, provisional: [], open: [], inDoubt });
    claim(possible.has(textOf(found)), 'opening: wrong rows', () => {
      return `${textOf(found)}\nis none of\n${[...possible].join('\n')}`;
    });
    this.#contents = found;
    this.#sent.length = 0;
    await this.#full?.opened(store);
  }

  #mutations(provisional: boolean): RowMutation[] {
    if (this.#knobs.longRows > 0) return this.#tide(provisional);
    const random = this.#random;
    return Array.from({ length: random.integer(1, 3) }, () => {
      const row = random.pick(['a', 'b', 'c', 'hot', 'hot']);
      const mutations = Array.from({ length: random.integer(1, 4) }, () => this.#mutation(row));
      return { table: TABLE, row, mutations, provisional };
    });
  }

  /** Sets, or mostly removes, some rows that are neighbours. */
  #tide(provisional: boolean): RowMutation[] {
    const random = this.#random;
    const first = random.integer(0, this.#knobs.longRows - 1);
    const isEbb = Math.floor(this.#turn / TIDE_TURNS) % 2 === 1;
    return Array.from({ length: random.integer(1, 25) }, (_, i) => {
      const row = `${String(first + i).padStart(4, '0')}${LONG_NAME}`;
      const isRemoved = random.fraction() < (isEbb ? 0.9 : 0.2);
      const column = { qualifier: '', from: 0, to: NEWEST };
      const removal = FAMILIES.map((family): Mutation => ({ kind: 'erase', family, ...column }));
      return { table: TABLE, row, mutations: isRemoved ? removal : [this.#set('')], provisional };
    });
  }

  #mutation(row: string): Mutation {
    const random = this.#random;
    const qualifier = random.pick(['', 'q', 'q2']);
    const timestamp = random.integer(0, row === 'hot' ? NEWEST : 3);
    if (random.integer(0, 3) > 0) return this.#set(qualifier, timestamp);
    const family = random.pick(FAMILIES);
    return { kind: 'erase', family, qualifier, from: random.integer(0, timestamp), to: timestamp };
  }

  #set(qualifier: string, timestamp = 0): Mutation {
    const length = this.#random.pick([0, 5, 40, 40, 600, 1_500]);
    const value = Buffer.alloc(length, `${this.#value++} `);
    return { kind: 'set', family: this.#random.pick(FAMILIES), qualifier, timestamp, value };
  }
}

function rowsOf({ rows }: Sent): string {
  return `${rows.map(({ row }) => row.slice(0, 8)).join()} was not answered before a later one`;
}

/** Waits until nothing is written in the background any more. */
async function untilIdle(): Promise<void> {
  for (let i = 0; i < 50; i++) await systemClock.yield();
}

/*
 * A disk that is full for some turns of a run, and the judge of what the store does then (P78):
 *
 *     what readers wait for        is applied, as long as the room kept for it can last
 *     reads, and openings          go on
 *     anything else                may be refused; the run knows what it was told
 */

/** Room for all that readers wait for in these turns, and for what each opening writes again. */
const RESERVE_BYTES: number = 2 ** 15;
const FULL_TURNS = 12;
/** What still fits, at most: so the disk is full in the middle of a group, or before it. */
const ROOM_BYTES_MAX = 3_000;
/** A table of its own: it is no part of what the run knows of the rows. */
const FULL_TABLE = 'essential';
const ROW = 'range';
const [FAMILY = ''] = FAMILIES;
const CELL = { family: FAMILY, qualifier: '', timestamp: 1 };

export interface FullDiskCounts {
  /** While the disk was full: what readers waited for and got, other calls refused, openings. */
  essential: number;
  refusedFull: number;
  openedFull: number;
}

class FullDisk {
  readonly #disk: SimulatedDisk;
  readonly #random: Random;
  readonly #counts: FullDiskCounts;
  readonly #from: number;
  /** The last value that was acknowledged. */
  #value = 0;

  constructor(disk: SimulatedDisk, random: Random, counts: FullDiskCounts) {
    this.#disk = disk;
    this.#random = random;
    this.#counts = counts;
    this.#from = random.integer(10, 45);
  }

  async begin(store: Bigtable): Promise<void> {
    await store.createTable(FULL_TABLE, { families: FAMILIES });
  }

  get isFull(): boolean {
    return this.#disk.roomBytes < Infinity;
  }

  /** Fills the disk, or makes room again. */
  turn(turn: number): void {
    if (turn === this.#from) {
      const used = [...this.#disk.files().values()].reduce((sum, { length }) => sum + length, 0);
      this.#disk.roomBytes = used + this.#random.integer(0, ROOM_BYTES_MAX);
    }
    if (turn === this.#from + FULL_TURNS) this.#disk.roomBytes = Infinity;
  }

  /** What readers need, next to what the run has sent and not awaited. Never in doubt. */
  async step(store: Bigtable): Promise<void> {
    if (!this.isFull) return;
    const value = Buffer.from(String(this.#value + 1));
    const row = { table: FULL_TABLE, row: ROW, essential: true };
    const mutations = [{ kind: 'set', ...CELL, value }] as const;
    const conditional = { ...row, anyOf: [{ family: FAMILY, qualifier: 'never' }] };
    const ways = [
      () => store.mutateRows([{ ...row, mutations }]),
      () => store.checkAndMutateRow({ ...conditional, ifNotFound: mutations }),
    ];
    try {
      await inTime(this.#random.pick(ways)() as Promise<unknown>);
      this.#value++;
      this.#counts.essential++;
    } catch (error) {
      if (!hasCode(error, 'STORE_FULL') && !hasCode(error, 'STORE_UNAVAILABLE')) throw error;
      claim(false, 'full disk: what readers wait for was refused', () => String(error));
    }
    await inTime(read(store));
  }

  /** The store was opened again. */
  async opened(store: Bigtable): Promise<void> {
    if (this.isFull) this.#counts.openedFull++;
    const row = await store.readRow(FULL_TABLE, ROW, [{ family: FAMILY }]);
    const found = Number(row === undefined ? 0 : Buffer.from(row.cells[0]?.value ?? []).toString());
    claim(found === this.#value, 'full disk: lost', () => `${found} instead of ${this.#value}`);
  }

  /** A call of the run was refused. */
  refused(): void {
    if (this.isFull) this.#counts.refusedFull++;
  }
}
