/**
 * A disk that is full for some turns of a run, and the judge of what the store does then (P78):
 *
 *     what readers wait for        is applied, as long as the room kept for it can last
 *     reads, and openings          go on
 *     anything else                may be refused; disk-run.ts knows what it was told
 */
import { hasCode, type Random } from '../../../../engine/base/index.ts';
import type { Bigtable } from '../../../../engine/bigtable/index.ts';
import type { SimulatedDisk } from '../../../../engine/testing/simulated-disk.ts';
import { claim, FAMILIES, inTime, read } from './disk-truth.ts';

/** Room for all that readers wait for in these turns, and for what each opening writes again. */
export const RESERVE_BYTES: number = 2 ** 15;
const TURNS = 12;
/** What still fits, at most: so the disk is full in the middle of a group, or before it. */
const ROOM_BYTES_MAX = 3_000;
/** A table of its own: it is no part of what the run knows of the rows. */
const TABLE = 'essential';
const ROW = 'range';
const [FAMILY = ''] = FAMILIES;
const CELL = { family: FAMILY, qualifier: '', timestamp: 1 };

export interface FullDiskCounts {
  /** While the disk was full: what readers waited for and got, other calls refused, openings. */
  essential: number;
  refusedFull: number;
  openedFull: number;
}

export class FullDisk {
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
    await store.createTable(TABLE, { families: FAMILIES });
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
    if (turn === this.#from + TURNS) this.#disk.roomBytes = Infinity;
  }

  /** What readers need, next to what the run has sent and not awaited. Never in doubt. */
  async step(store: Bigtable): Promise<void> {
    if (!this.isFull) return;
    const value = Buffer.from(String(this.#value + 1));
    const row = { table: TABLE, row: ROW, essential: true };
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
    const row = await store.readRow(TABLE, ROW, [{ family: FAMILY }]);
    const found = Number(row === undefined ? 0 : Buffer.from(row.cells[0]?.value ?? []).toString());
    claim(found === this.#value, 'full disk: lost', () => `${found} instead of ${this.#value}`);
  }

  /** A call of the run was refused. */
  refused(): void {
    if (this.isFull) this.#counts.refusedFull++;
  }
}
