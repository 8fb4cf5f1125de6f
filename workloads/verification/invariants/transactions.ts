/**
 * The workloads of transactions alone, without observers: bank, overdraft, ring, pieces and list
 * append. Each is a sentence that holds in every snapshot, and steps that would break it if
 * isolation or atomicity did not hold.
 */
import type { CellAddress, Reader } from '#engine';
import { numberOf, signed, type Work, type Workload } from './workload.ts';

/*
 * The bank: transfers between accounts. Money is neither made nor lost, so the total is the same in
 * every snapshot. An account without money has no cell, so the workload also tests deletes.
 */

/** Few enough that transfers collide. */
const ACCOUNTS = 16;
const BALANCE = 10;
const TOTAL = ACCOUNTS * BALANCE;
/** One step in this many reads all accounts instead of transferring. */
const STEPS_PER_AUDIT = 10;

const ALL_ACCOUNTS = Array.from({ length: ACCOUNTS }, (_, i) => bankAccount(i));

export const bank: Workload = {
  name: 'bank',
  invariant: `the accounts hold ${TOTAL} together, and none has a negative balance`,
  tables: { bank: { columns: ['balance'] } },
  observers: [],

  async setup(work) {
    for (const one of ALL_ACCOUNTS) work.set(one, signed(BALANCE, work));
  },

  async step(client, random) {
    if (random.integer(1, STEPS_PER_AUDIT) === 1) {
      return client.attempt(async (work) => void (await work.getMany(ALL_ACCOUNTS)));
    }
    const from = random.integer(0, ACCOUNTS - 1);
    const to = (from + random.integer(1, ACCOUNTS - 1)) % ACCOUNTS;
    return client.attempt(async (work) => {
      const balances = await work.getMany([bankAccount(from), bankAccount(to)]);
      const available = numberOf(balances[0]);
      if (available === 0) return;
      const sum = random.integer(1, available);
      put(work, from, available - sum);
      put(work, to, numberOf(balances[1]) + sum);
    });
  },

  watch: watchBank,
  check: watchBank,
};

async function watchBank(reader: Reader): Promise<readonly string[]> {
  const balances = (await reader.getMany(ALL_ACCOUNTS)).map(numberOf);
  const total = balances.reduce((sum, balance) => sum + balance, 0);
  const wrong = balances.flatMap((balance, i) =>
    balance < 0 ? [`account ${i} holds ${balance}`] : [],
  );
  if (total !== TOTAL) wrong.push(`the accounts hold ${total} together, not ${TOTAL}`);
  return wrong;
}

function put(work: Work, number: number, balance: number): void {
  if (balance === 0) work.delete(bankAccount(number));
  else work.set(bankAccount(number), signed(balance, work));
}

function bankAccount(number: number): CellAddress {
  return { table: 'bank', row: `account ${number}`, column: 'balance' };
}

/*
 * Overdraft: write skew, prevented by `lock`. One of the two accounts of a person may be overdrawn,
 * but their sum must not be negative. A withdrawal reads both and writes one: two concurrent
 * withdrawals, one from each account, would each see enough money. Locking the account that is only
 * read makes them conflict, whether others may share the lock or not.
 */

const PEOPLE = 4;
const SIDES = ['left', 'right'] as const;
const DEPOSIT = 6;

export const overdraft: Workload = {
  name: 'overdraft',
  invariant: 'the two accounts of a person never have a negative sum',
  tables: { overdraft: { columns: ['balance'], sharedColumns: ['balance'] } },
  observers: [],

  async setup(work) {
    for (const side of allSides()) work.set(side, signed(DEPOSIT, work));
  },

  async step(client, random) {
    const person = random.integer(0, PEOPLE - 1);
    const [from, other] = random.fraction() < 0.5 ? SIDES : SIDES.toReversed();
    if (from === undefined || other === undefined) return;
    const [written, read] = [accountOf(person, from), accountOf(person, other)];
    const shared = random.fraction() < 0.5;
    await client.attempt(async (work) => {
      const [mine, others] = (await work.getMany([written, read])).map(numberOf);
      const balance = mine ?? 0;
      const together = balance + (others ?? 0);
      if (together === 0) return work.set(written, signed(balance + DEPOSIT, work));
      // Without the lock, two withdrawals that overlap, one from either side, could take too much.
      work.set(written, signed(balance - random.integer(1, together), work));
      return work.lock(read, { shared });
    });
  },

  watch: watchOverdraft,
  check: watchOverdraft,
};

async function watchOverdraft(reader: Reader): Promise<readonly string[]> {
  const balances = (await reader.getMany(allSides())).map(numberOf);
  return Array.from({ length: PEOPLE }).flatMap((_, person) => {
    const [left = 0, right = 0] = balances.slice(2 * person);
    return left + right < 0 ? [`person ${person} has ${left} and ${right}`] : [];
  });
}

function allSides(): readonly CellAddress[] {
  return Array.from({ length: PEOPLE }).flatMap((_, person) =>
    SIDES.map((side) => accountOf(person, side)),
  );
}

/** One row each, so that a transaction covers several rows. */
function accountOf(person: number, side: string): CellAddress {
  return { table: 'overdraft', row: `person ${person} ${side}`, column: 'balance' };
}

/*
 * The ring, FoundationDB's Cycle: every node names its successor, and they form one ring. A step
 * swaps two neighbours by writing three nodes; a write that is lost, or only half visible, leaves
 * two rings, or a node that is reached twice.
 *
 *     a ─▶ b ─▶ c ─▶ d      becomes      a ─▶ c ─▶ b ─▶ d
 */

const NODES = 24;
const ALL_NODES = Array.from({ length: NODES }, (_, i) => node(i));

export const ring: Workload = {
  name: 'ring',
  invariant: `${NODES} nodes form one ring`,
  tables: { ring: { columns: ['next'] } },
  observers: [],

  async setup(work) {
    for (let i = 0; i < NODES; i++) work.set(node(i), signed((i + 1) % NODES, work));
  },

  async step(client, random) {
    const a = random.integer(0, NODES - 1);
    return client.attempt(async (work) => {
      const b = await successor(work, a);
      const c = await successor(work, b);
      const d = await successor(work, c);
      work.set(node(a), signed(c, work));
      work.set(node(c), signed(b, work));
      work.set(node(b), signed(d, work));
    });
  },

  watch: watchRing,
  check: watchRing,
};

async function watchRing(reader: Reader): Promise<readonly string[]> {
  const values = await reader.getMany(ALL_NODES);
  const missing = values.findIndex((value) => value === undefined);
  if (missing !== -1) return [`node ${missing} has no successor`];
  const seen = new Set<number>();
  let at = 0;
  while (!seen.has(at)) {
    seen.add(at);
    at = numberOf(values[at]);
  }
  if (at === 0 && seen.size === NODES) return [];
  return [`from node 0 the successors lead over ${seen.size} of ${NODES} nodes back to node ${at}`];
}

async function successor(work: Work, number: number): Promise<number> {
  return numberOf(await work.get(node(number)));
}

function node(number: number): CellAddress {
  return { table: 'ring', row: `node ${number}`, column: 'next' };
}

/*
 * Pieces on a board: a few pieces move over many squares. A move deletes a piece in one cell and
 * sets it in another, so every piece is on exactly one square in every snapshot.
 *
 * Most squares are empty for seconds after a piece has left. Collectors then erase the last trace
 * of it, and nothing in the cell would stop a late message of a stopped process.
 *
 * Ranks are rows and files are columns. Their names break any part of the engine that joins names
 * with a separator, or does not keep rows in the order of their bytes.
 */

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

function move(work: Work, { piece, ...from }: Square, to: CellAddress): void {
  work.delete(from);
  work.set(to, signed(piece, work));
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

/*
 * List append, after Jepsen: transactions append numbers to lists under a few hot keys, and read
 * them. No number is appended twice, so a list that was read tells which appends came before, in
 * which order. A judge that trusts no timestamps can then look for contradictions.
 *
 * Lists grow, and each append copies the whole list, so a key is used only for a short time.
 */

/** Keys in use at a time. */
const KEYS = 4;
/**
 * Milliseconds after which other keys are used. A longer time makes longer lists, which cost more,
 * and show more at once.
 */
const KEYS_LAST_MS = 400;
/** The table of lists. */
export const LISTS = 'lists';
const COLUMN = 'list';

export const listAppend: Workload = {
  name: 'list-append',
  invariant: 'no number is in a list twice, and no two reads contradict each other',
  tables: { [LISTS]: { columns: [COLUMN] } },
  observers: [],

  async setup() {
    // Every list begins without a cell.
  },

  async step(client, random) {
    const generation = Math.floor(client.nowMs() / KEYS_LAST_MS);
    const keys = Array.from({ length: random.integer(1, 3) }, () => random.integer(1, KEYS));
    await client.attempt(async (work) => {
      for (const [i, key] of keys.entries()) {
        const cell = { table: LISTS, row: `${generation}-${key}`, column: COLUMN };
        if (random.fraction() < 0.4) await work.get(cell);
        // Unique: the start timestamp is, and no transaction appends more than ten numbers.
        else await append(work, cell, work.startTimestamp * 10 + i);
      }
    });
  },

  watch: async () => [], // The keys in use are not known; the judge of histories checks all lists.
  check,
};

/** The numbers of a list's value. Not called for an empty list, which has no value. */
export function parseList(value: string): readonly number[] {
  return value.split(' ').map(Number);
}

async function append(work: Work, cell: CellAddress, number: number): Promise<void> {
  const before = await work.get(cell);
  work.set(cell, before === undefined ? String(number) : `${before.toString()} ${number}`);
}

async function check(reader: Reader): Promise<readonly string[]> {
  const wrong: string[] = [];
  for await (const { row, values } of reader.scan({ table: LISTS, columns: [COLUMN] })) {
    const numbers = parseList(String(values.get(COLUMN)));
    const twice = numbers.find((number, i) => numbers.indexOf(number) !== i);
    if (twice !== undefined) wrong.push(`list ${row} holds ${twice} twice`);
  }
  return wrong;
}
