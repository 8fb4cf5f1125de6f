/** Scenes for tests of damaged files: a healthy store on a simulated disk, and kinds of damage. */
import { createRandom, type Random } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable, CellFilter, Row } from '../bigtable.ts';
import { openOnDisk } from './open-embedded.ts';
import { type Sizes, SIZES } from './log.ts';

export const SMALL: Sizes = {
  ...SIZES,
  fileBytes: 4_000,
  garbageBytes: 2_000,
  hintBytes: 3_000,
  recentBytes: 0,
  readBytes: 0,
};
export const FILTERS: readonly CellFilter[] = [{ family: 'f' }];
/** The key of no row of the healthy store; it sorts after all of them. */
export const LATER_ROW = 'written later';

export type Files = ReadonlyMap<string, Buffer>;
/** In order, with a text for each row. */
export type Rows = readonly (readonly [key: string, text: string])[];

export function open(disk: SimulatedDisk, readOnly = false, recentBytes = 0): Promise<Bigtable> {
  return openOnDisk(disk, { fsync: true, readOnly, sizes: { ...SMALL, recentBytes } });
}

/** A store with small rows, a large one, long values, and garbage. */
export async function closedStore(): Promise<{ readonly files: Files; readonly rows: Rows }> {
  const random = createRandom(1);
  const disk = new SimulatedDisk({ random });
  const store = await open(disk);
  await store.createTable('t', { families: ['f'] });
  for (let i = 0; i < 200; i++) {
    const row = random.pick(['a', 'b', 'c', 'hot', `single ${i}`]);
    const timestamp = row === 'hot' ? i : random.integer(0, 2);
    const value = Buffer.alloc(random.pick([10, 30, 700]), `${i} `);
    const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp, value } as const;
    await store.mutateRows([{ table: 't', row, mutations: [set] }]);
  }
  const rows = await rowsOf(store);
  await store.close();
  return { files: disk.files(), rows };
}

export async function rowsOf(store: Bigtable): Promise<Rows> {
  const rows = await store.readRange('t', { end: LATER_ROW, limit: 1_000 }, FILTERS);
  return rows.map((row) => [row.key, textOf(row)]);
}

export function textOf(row: Row | undefined): string {
  const cells = row?.cells.map((cell) => ({
    ...cell,
    value: Buffer.from(cell.value).toString('latin1'),
  }));
  return row === undefined ? 'no row' : JSON.stringify({ key: row.key, cells });
}

/** Kinds of damage: the file's new content; undefined if it is gone. */
export const DAMAGES: Readonly<
  Record<string, (bytes: Buffer, random: Random, files: Files) => Buffer | undefined>
> = {
  'cut short': (bytes, random) => bytes.subarray(0, random.integer(0, bytes.length - 1)),
  longer: (bytes, random) => Buffer.concat([bytes, noise(random.integer(1, 600), random)]),
  'longer by zeroes': (bytes, random) =>
    Buffer.concat([bytes, Buffer.alloc(random.integer(1, 600))]),
  'with a wrong bit': (bytes, random) => {
    const changed = Buffer.from(bytes);
    const at = random.integer(0, bytes.length - 1);
    changed[at] = (changed[at] ?? 0) ^ (1 << random.integer(0, 7));
    return changed;
  },
  'with zeroes in it': (bytes, random) => {
    const from = random.integer(0, bytes.length - 1);
    return Buffer.from(bytes).fill(0, from, Math.min(bytes.length, from + random.integer(1, 512)));
  },
  'with noise in it': (bytes, random) => {
    const from = random.integer(0, bytes.length - 1);
    const changed = Buffer.from(bytes);
    noise(Math.min(random.integer(1, 512), bytes.length - from), random).copy(changed, from);
    return changed;
  },
  foreign: (bytes, random) => noise(bytes.length, random),
  'another one': (_, random, files) => random.pick([...files.values()]),
  gone: () => undefined,
};

function noise(length: number, random: Random): Buffer {
  return Buffer.from(Array.from({ length }, () => random.integer(0, 255)));
}
