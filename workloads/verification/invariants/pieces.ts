/**
 * Pieces on a board: a few pieces move over many squares. A move deletes a piece in one cell and
 * sets it in another, so every piece is on exactly one square in every snapshot.
 *
 * Most squares are empty for seconds after a piece has left. Collectors then erase the last trace
 * of it, and nothing in the cell would stop a late message of a stopped process.
 *
 * Ranks are rows and files are columns. Their names break any part of the engine that joins names
 * with a separator, or does not keep rows in the order of their bytes.
 */
import type { CellAddress, Reader } from '#engine';
import { numberOf, signed } from './values.ts';
import type { Work, Workload } from './workload.ts';

const PIECES = 4;
const TABLE = 'board';
/**
 * Up to four parts and a separator: many pairs of such names become one name when the separator
 * joins them.
 */
const NAMES = [
  'a',
  ...['\0', ':', '/'].flatMap((between) => [2, 3, 4].map((parts) => joined(parts, between))),
  '\uff71', // And the next name: UTF-8 and UTF-16 order the two differently.
  '\u{1f600}',
];
const SQUARES = NAMES.flatMap((row) =>
  NAMES.map((column): CellAddress => ({ table: TABLE, row, column })),
);
/** One move in this many reads all squares by their addresses; the others scan the board. */
const MOVES_PER_LOOK = 4;

type Square = CellAddress & { readonly piece: number };

export const pieces: Workload = {
  name: 'pieces',
  invariant: `${PIECES} pieces are on a board of ${SQUARES.length} squares, each on one`,
  tables: { [TABLE]: { columns: NAMES } },
  observers: [],

  async setup(work) {
    SQUARES.slice(0, PIECES).forEach((square, piece) => work.set(square, signed(piece, work)));
  },

  async step(client, random) {
    const piece = random.integer(0, PIECES - 1);
    const target = random.pick(SQUARES);
    const looks = random.integer(1, MOVES_PER_LOOK) === 1;
    const looksAgain = random.integer(1, MOVES_PER_LOOK) === 1; // Reads its own writes.
    return client.attempt(async (work) => {
      const taken = await (looks ? look(work) : scan(work));
      if (taken.some((square) => isSame(square, target))) return;
      const from = taken.find((square) => square.piece === piece);
      if (from === undefined) return;
      move(work, from, target);
      if (looksAgain) await (looks ? look(work) : scan(work));
    });
  },

  watch: async (reader) => misplaced(await scan(reader)),
  check: async (reader) => {
    const [looked, scanned] = [await look(reader), await scan(reader)];
    const unlike = looked.length !== scanned.length;
    const both = `${looked.length} squares are taken, and a scan finds ${scanned.length}`;
    return [...misplaced(looked), ...(unlike ? [both] : [])];
  },
};

function move(work: Work, from: Square, to: CellAddress): void {
  work.delete(from);
  work.set(to, signed(from.piece, work));
}

/** The squares with a piece. */
async function look(reader: Pick<Reader, 'getMany'>): Promise<readonly Square[]> {
  const values = await reader.getMany(SQUARES);
  return SQUARES.flatMap((square, i) =>
    values[i] === undefined ? [] : [{ ...square, piece: numberOf(values[i]) }],
  );
}

async function scan(reader: Pick<Reader, 'scan'>): Promise<readonly Square[]> {
  const taken: Square[] = [];
  for await (const { row, values } of reader.scan({ table: TABLE, columns: NAMES })) {
    for (const [column, value] of values) {
      taken.push({ table: TABLE, row, column, piece: numberOf(value) });
    }
  }
  return taken;
}

function misplaced(taken: readonly Square[]): readonly string[] {
  return Array.from({ length: PIECES }).flatMap((_, piece) => {
    const squares = taken.filter((square) => square.piece === piece).map(nameOf);
    return squares.length === 1
      ? []
      : [`piece ${piece} is on ${squares.length} squares: ${squares.join(', ')}`];
  });
}

function joined(parts: number, between: string): string {
  return Array.from({ length: parts }, () => 'a').join(between);
}

function isSame(a: CellAddress, b: CellAddress): boolean {
  return a.row === b.row && a.column === b.column;
}

function nameOf({ row, column }: CellAddress): string {
  return JSON.stringify([row, column]);
}
