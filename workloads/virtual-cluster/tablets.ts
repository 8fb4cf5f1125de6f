/**
 * Which tablet server has which rows: each table is a sequence of tablets, ranges of rows.
 *
 * A tablet moves when its server dies, or when it is told to; it is split where it is told to. The
 * map is the truth. A client that sends to the wrong server is told so and sends again.
 */
import { assert } from '#engine/base';
import type { Machine } from './machine.ts';
import { positionOf } from '../verification/world/table.ts';

export interface Tablet {
  readonly table: string;
  /** The first row; the tablet ends where the next one of the table begins. */
  readonly start: string;
  server: Machine;
  /** It is served from this time on. */
  availableUs: number;
  /** Operations so far; shows which tablets are hot. */
  operations: number;
  /** Work since the tablets were last balanced. */
  readonly recent: RecentWork;
  /** Bytes written since it was last loaded. */
  logBytes: number;
  /**
   * Bytes of the log that its server replays before it serves the tablet. If the server dies before
   * `availableUs`, the next one has to replay them, too.
   */
  replayBytes: number;
  /**
   * The blocks that its new server has yet to read from the disk; undefined if the cache has all
   * that was in memory before.
   */
  cold: ColdBlocks | undefined;
}

/**
 * A read loads a block of this size, as Bigtable's does ("typically 64 KB"; OSDI 2006, section 4).
 */
const BLOCK_BYTES = 64 * 2 ** 10;

/**
 * The blocks of a tablet that its new server has yet to read. A hash decides which rows share one.
 */
export class ColdBlocks {
  #blocks: number;
  readonly #read = new Set<number>();

  /** @param bytes of the tablet */
  constructor(bytes: number) {
    this.#blocks = Math.max(1, Math.ceil(bytes / BLOCK_BYTES));
  }

  get isWarm(): boolean {
    return this.#read.size === this.#blocks;
  }

  /** Reads the row's block; returns whether it came from the disk. */
  read(row: string): boolean {
    const before = this.#read.size;
    this.#read.add(hashOf(row) % this.#blocks);
    return this.#read.size > before;
  }

  /** Gives half of the blocks to a part of the tablet; what was read stays read. */
  splitOff(): ColdBlocks {
    const kept = Math.ceil(this.#blocks / 2);
    const given = new ColdBlocks((this.#blocks - kept) * BLOCK_BYTES);
    for (const block of [...this.#read].filter((one) => one >= kept)) {
      this.#read.delete(block);
      given.#read.add(block - kept);
    }
    this.#blocks = kept;
    return given;
  }
}

/** A number below 2^24 for a row; those of similar rows differ. */
export function hashOf(row: string): number {
  let hash = 7;
  for (let i = 0; i < row.length; i++) hash = Math.imul(hash ^ row.charCodeAt(i), 0x01000193);
  return hash >>> 8;
}

/** A sample has fewer rows than this. */
const SAMPLE_MAX = 512;

/** How much work a tablet had, and a sample of the rows that clients asked for. */
export class RecentWork {
  /** Processor time that the server spent on the tablet's rows, without that of the calls. */
  workUs = 0;
  operations = 0;
  /** The row of each operation; when the sample is full, of every second one, and so on. */
  rows: string[] = [];
  #every = 1;

  note(row: string, us: number): void {
    this.workUs += us;
    if (this.operations++ % this.#every !== 0) return;
    this.rows.push(row);
    if (this.rows.length < SAMPLE_MAX) return;
    this.rows = this.rows.filter((_, i) => i % 2 === 0);
    this.#every *= 2;
  }

  clear(): void {
    this.workUs = 0;
    this.operations = 0;
    this.rows = [];
    this.#every = 1;
  }
}

export class Tablets {
  readonly #servers: readonly Machine[];
  readonly #tables = new Map<string, { starts: string[]; tablets: Tablet[] }>();
  /** Where the next table without splits goes. */
  #next = 0;

  constructor(servers: readonly Machine[]) {
    assert(servers.length > 0, 'there is a tablet server');
    this.#servers = servers;
  }

  /**
   * A table that is split into as many tablets as there are servers has one on each; tables with
   * the same splits have them on the same servers, as locality groups of one table would.
   */
  create(table: string, splits: readonly string[]): void {
    const starts = ['', ...splits];
    const alive = this.#servers.filter(({ isAlive }) => isAlive);
    const first = splits.length === 0 ? this.#next++ : 0;
    const tablets = starts.map((start, i) => {
      const place = first + Math.floor((i * alive.length) / starts.length);
      const server = alive[place % alive.length];
      assert(server !== undefined, 'a tablet server is alive');
      return tabletOf(table, start, server);
    });
    this.#tables.set(table, { starts, tablets });
  }

  drop(table: string): void {
    this.#tables.delete(table);
  }

  /** The tablet of a row; undefined if there is no such table. */
  find(table: string, row: string): Tablet | undefined {
    const found = this.#tables.get(table);
    if (found === undefined) return undefined;
    const { starts, tablets } = found;
    if (tablets.length === 1) return tablets[0];
    const position = positionOf(starts, row);
    return starts[position] === row ? tablets[position] : tablets[position - 1];
  }

  /** The tablet of the rows just before `row`, or of those at the end of the table. */
  findBefore(table: string, row: string | undefined): Tablet | undefined {
    const found = this.#tables.get(table);
    if (found === undefined || row === undefined) return found?.tablets.at(-1);
    return found.tablets[positionOf(found.starts, row) - 1];
  }

  /** The first row after the tablet; undefined at the end of the table. */
  endOf({ table, start }: Tablet): string | undefined {
    const { starts } = this.#of(table);
    return starts[positionOf(starts, start) + 1];
  }

  /** All starts but the first. */
  splitsOf(table: string): readonly string[] {
    return this.#tables.get(table)?.starts.slice(1) ?? [];
  }

  all(): readonly Tablet[] {
    return [...this.#tables.values()].flatMap(({ tablets }) => tablets);
  }

  /** How many tablets the table has; 0 if there is no such table. */
  countOf(table: string): number {
    return this.#tables.get(table)?.tablets.length ?? 0;
  }

  of(server: Machine): readonly Tablet[] {
    return this.all().filter((tablet) => tablet.server === server);
  }

  /** The rows from `row` on become a tablet of their own, on a server of choice. */
  split(table: string, row: string, server?: Machine): void {
    const found = this.#of(table);
    const position = positionOf(found.starts, row);
    if (found.starts[position] === row) return;
    const left = found.tablets[position - 1];
    assert(left !== undefined, 'the first tablet begins before all rows');
    found.starts.splice(position, 0, row);
    const right = tabletOf(table, row, server ?? left.server);
    left.logBytes /= 2;
    left.replayBytes /= 2;
    const { availableUs, logBytes, replayBytes } = left;
    const cold = left.cold?.splitOff();
    found.tablets.splice(position, 0, { ...right, availableUs, logBytes, replayBytes, cold });
  }

  #of(table: string): { starts: string[]; tablets: Tablet[] } {
    const found = this.#tables.get(table);
    assert(found !== undefined, `table ${table} has tablets`);
    return found;
  }
}

function tabletOf(table: string, start: string, server: Machine): Tablet {
  return {
    table,
    start,
    server,
    availableUs: 0,
    operations: 0,
    recent: new RecentWork(),
    logBytes: 0,
    replayBytes: 0,
    cold: undefined,
  };
}
