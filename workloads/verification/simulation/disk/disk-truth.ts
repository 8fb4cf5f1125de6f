/**
 * What a store on a simulated disk may hold: the judge of what an opening finds.
 *
 *     answered as durable     there, in every later state of the disk
 *     answered, provisional   there, or lost from the end, with all that came after it
 *     sent, not answered      there or not, from the first one on, in the order sent
 *     in doubt                the same; of several that failed only the last can count
 *     refused                 never there
 */
import { isDeepStrictEqual } from 'node:util';
import { type Clock, type Random, systemClock } from '../../../../engine/base/index.ts';
import type { Bigtable, RowMutation } from '../../../../engine/bigtable/index.ts';
import { openOnDisk } from '../../../../engine/bigtable/embedded/open-embedded.ts';
import { SIZES } from '../../../../engine/bigtable/embedded/log.ts';
import { SimulatedDisk } from '../../../../engine/testing/simulated-disk.ts';

export const TABLE = 't';
export const FAMILIES: readonly string[] = ['f', 'g'];
/** Above every timestamp of a run. */
export const NEWEST = 60;
const ROWS_MAX = 1_000;
const NO_TABLE = 'no table';
/** Files, garbage and hints of some kilobytes, so that every part of the store is used. */
const SMALL = {
  ...SIZES,
  fileBytes: 6_000,
  garbageBytes: 8_000,
  hintBytes: 5_000,
  hintLeaves: 1,
  files: 12,
};
/** No honest call takes as many turns of the event loop. */
const WAIT_TURNS_MAX = 5_000;

/** What was sent, in order. */
export interface Sent {
  readonly rows: readonly RowMutation[];
  readonly isProvisional: boolean;
  outcome: 'open' | 'applied' | 'refused' | 'in doubt';
}

/** The cells of each row, with short forms of their values. */
export type Contents = Map<string, Map<string, string>>;

/** What is known at one moment of what was sent. */
interface Known {
  readonly contents: Contents;
  /** Provisional mutations that were answered since the last answer to a durable one. */
  readonly provisional: readonly Sent[];
  /** Sent and not answered. */
  readonly open: readonly Sent[];
  readonly inDoubt: readonly Sent[];
}

/** The disk at one moment, and what is known then. */
export interface Cut extends Known {
  readonly files: Map<string, Buffer>;
  /** Whether making the table was acknowledged. */
  readonly isCreated: boolean;
  readonly at: string;
}

export class Broken extends Error {
  readonly claim: string;

  constructor(broken: string, message: string) {
    super(message);
    this.claim = broken;
  }
}

/** @throws Broken if the claim does not hold */
export function claim(holds: boolean, what: string, message: () => string): asserts holds {
  if (!holds) throw new Broken(what, message());
}

export function openSmall(
  disk: SimulatedDisk,
  settings: {
    readonly readOnly?: boolean;
    readonly clock?: Clock;
    readonly reserveBytes?: number;
  } = {},
): Promise<Bigtable> {
  return inTime(openOnDisk(disk, { fsync: true, readOnly: false, sizes: SMALL, ...settings }));
}

/** Awaits work that ends in some turns of the event loop, unless it hangs. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  const progress = { isOver: false };
  const end = (): void => {
    progress.isOver = true;
  };
  work.then(end, end);
  for (let turn = 0; !progress.isOver; turn++) {
    claim(turn < WAIT_TURNS_MAX, 'progress: stuck', () => 'a call of the store does not end');
    await systemClock.yield();
  }
  return work;
}

/**
 * A read-only opening finds what it should, and so do the two writing ones after it. All of them
 * find the same, even if the power is cut again during or after one of them.
 */
export async function judgeCut(cut: Cut, random: Random): Promise<void> {
  const possible = possibleStates(cut);
  if (!cut.isCreated) possible.add(NO_TABLE);
  const disk = new SimulatedDisk({ random }, cut.files);
  let found: string | undefined;
  const judged: Map<string, Buffer>[] = []; // Most cuts leave the files of another one.
  for (const readOnly of [true, false, false]) {
    const names = disk.names();
    const cutAgain: Map<string, Buffer>[] = [];
    disk.before = () => {
      if (random.integer(0, 3) === 0) cutAgain.push(disk.afterPowerCut(random));
      return undefined;
    };
    const store = await tryToOpen(disk, cut, readOnly);
    if (store === undefined) continue;
    const text = await contentsOf(store);
    claim(possible.has(text), 'power cut: wrong rows', () => {
      return `cut before ${cut.at}: ${text}\nis none of\n${[...possible].join('\n')}`;
    });
    found ??= text;
    claimSeen(found, text, cut);
    if (!readOnly) cutAgain.push(disk.afterPowerCut(random));
    await inTime(store.close());
    const isSame = !readOnly || isDeepStrictEqual(disk.names(), names);
    claim(isSame, 'power cut: changed by reading', () => `cut before ${cut.at}`);
    for (const files of cutAgain) {
      if (judged.some((other) => isDeepStrictEqual(other, files))) continue;
      judged.push(files);
      const again = await openSmall(new SimulatedDisk({ random }, files));
      claimSeen(found, await contentsOf(again), cut);
    }
  }
}

/** Undefined if there may be no store. */
async function tryToOpen(
  disk: SimulatedDisk,
  { isCreated, at }: Cut,
  readOnly: boolean,
): Promise<Bigtable | undefined> {
  try {
    return await openSmall(disk, { readOnly });
  } catch (error) {
    const isNothing = readOnly && /there is no store/.test(String(error));
    claim(
      isNothing && !isCreated,
      'power cut: refused',
      () => `cut before ${at}: ${String(error)}`,
    );
    return undefined;
  }
}

function claimSeen(found: string, again: string, { at }: Cut): void {
  claim(found === again, 'power cut: seen and gone', () => {
    return `cut before ${at}: after ${found}\nanother opening found ${again}`;
  });
}

async function contentsOf(store: Bigtable): Promise<string> {
  const tables = await store.listTables();
  return tables.includes(TABLE) ? textOf(await read(store)) : NO_TABLE;
}

export function copyOf(contents: Contents): Contents {
  return new Map(Array.from(contents, ([row, cells]) => [row, new Map(cells)] as const));
}

export function apply(contents: Contents, { row, mutations }: RowMutation): void {
  const cells = contents.get(row) ?? new Map<string, string>();
  for (const mutation of mutations) {
    const { family, qualifier } = mutation;
    const keyOf = (timestamp: number): string => `${family}:${qualifier}@${timestamp}`;
    if (mutation.kind === 'set') {
      cells.set(keyOf(mutation.timestamp), shortOf(mutation.value));
    } else for (let t = mutation.from; t <= mutation.to; t++) cells.delete(keyOf(t));
  }
  contents.set(row, cells);
}

export async function read(store: Bigtable): Promise<Contents> {
  const filters = FAMILIES.map((family) => ({ family }));
  const rows = await store.readRange(TABLE, { limit: ROWS_MAX }, filters);
  const cellsOf = (row: (typeof rows)[number]): Map<string, string> =>
    new Map(
      row.cells.map(({ family, qualifier, timestamp, value }) => [
        `${family}:${qualifier}@${timestamp}`,
        shortOf(value),
      ]),
    );
  return new Map(rows.map((row) => [row.key, cellsOf(row)]));
}

/** In one form, so that two contents can be compared. Long names of rows are cut. */
export function textOf(contents: Contents): string {
  const rows = [...contents].filter(([, cells]) => cells.size > 0).toSorted(byKey);
  return JSON.stringify(rows.map(([row, cells]) => [row.slice(0, 8), [...cells].toSorted(byKey)]));
}

/**
 * The rows as acknowledged, then with more and more of what was provisional, in order, and then of
 * what was open or what is in doubt. Of several failed groups only the last one can count; its
 * bounds are not known here, so any run of what is in doubt is allowed.
 */
export function possibleStates({ contents, provisional, open: sent, inDoubt }: Known): Set<string> {
  const states = new Set<string>();
  for (const list of [sent, ...inDoubt.map((_, from) => inDoubt.slice(from))]) {
    const state = copyOf(contents);
    states.add(textOf(state));
    for (const { rows } of [...provisional, ...list]) {
      for (const row of rows) apply(state, row);
      states.add(textOf(state));
    }
  }
  return states;
}

/** Each value by its short form, kept because the same values are compared repeatedly. */
const wholes = new Map<string, Buffer>();

/** A value's number, which it repeats, and its length. */
function shortOf(value: Uint8Array): string {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const end = bytes.indexOf(' ');
  const short = `${bytes.toString('latin1', 0, end < 0 ? bytes.length : end)}x${bytes.length}`;
  const whole = wholes.get(short) ?? Buffer.alloc(bytes.length, `${short.split('x')[0]} `);
  wholes.set(short, whole);
  claim(whole.equals(bytes), 'values: damaged', () => `${short} is ${bytes.toString()}`);
  return short;
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
