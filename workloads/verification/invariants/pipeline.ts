/**
 * The pipeline: a chain of observers, whose results must be as if each document had been counted
 * exactly once.
 *
 *     documents:body ──count──▶ counts:documents ──sum──▶ sums:copied, sums/all:total
 *           │                     (a bucket: +1)            (what is new since the last copy)
 *           └─ weakly ─▶ shelves:changed ──tally──▶ shelves:documents
 *                                                     (recounts its shelf each time)
 *     documents:title ──copy──▶ titles:title
 *
 * `count` adds blindly, so a second run for one document would show. `sum` runs for a cell that
 * changes all the time, so that one run sees several changes; a change that no run sees would leave
 * the total too small. `copy` runs for a cell that is written twice in quick succession, and then
 * never again: the second change often falls into the run for the first. `tally` hears only weak
 * notifications, and may run once too often.
 */
import type { CellAddress, Reader } from '#engine';
import { numberOf, signed, type Workload, type WorkloadObserver } from './workload.ts';

const BUCKETS = 8;
/**
 * Milliseconds during which a client fills one shelf. A longer time makes fuller shelves, which
 * cost more to tally.
 */
const SHELF_MS = 200;
/** One step in this many stores a document: observers need several transactions for each. */
const STEPS_PER_DOCUMENT = 2;

const TOTAL: CellAddress = { table: 'sums', row: 'all', column: 'total' };
const ALL_BUCKETS = Array.from({ length: BUCKETS }, (_, i) => `bucket ${i}`);

const count: WorkloadObserver = {
  name: 'count',
  table: 'documents',
  column: 'body',
  weak: false,
  async run(work, row) {
    const body = await work.get(bodyOf(row));
    const bucket = countOf(`bucket ${numberOf(body)}`);
    work.set(bucket, signed(numberOf(await work.get(bucket)) + 1, work));
  },
};

const sum: WorkloadObserver = {
  name: 'sum',
  table: 'counts',
  column: 'documents',
  weak: false,
  async run(work, row) {
    const cells = [countOf(row), copyOf(row), TOTAL];
    const [counted = 0, copied = 0, total = 0] = (await work.getMany(cells)).map(numberOf);
    work.set(copyOf(row), signed(counted, work));
    work.set(TOTAL, signed(total + counted - copied, work));
  },
};

const copy: WorkloadObserver = {
  name: 'copy',
  table: 'documents',
  column: 'title',
  weak: false,
  async run(work, row) {
    const title = await work.get(titleOf(row));
    if (title !== undefined) work.set(titleOf(row, 'titles'), title);
  },
};

const tally: WorkloadObserver = {
  name: 'tally',
  table: 'shelves',
  column: 'changed',
  weak: true,
  async run(work, row) {
    let documents = 0;
    for await (const _ of work.scan({ table: 'documents', columns: ['body'], ...rowsOf(row) })) {
      documents++;
    }
    work.set(tallyOf(row), signed(documents, work));
  },
};

export const pipeline: Workload = {
  name: 'pipeline',
  invariant: 'at rest every document is counted once in each stage',
  tables: {
    documents: { columns: ['body', 'title'], observedColumns: ['body', 'title'] },
    counts: { columns: ['documents'], observedColumns: ['documents'] },
    sums: { columns: ['copied', 'total'] },
    titles: { columns: ['title'] },
    shelves: { columns: ['documents'], observedColumns: ['changed'] },
  },
  observers: [count, sum, copy, tally],

  async setup() {
    // Every count begins without a cell.
  },

  async step(client, random) {
    if (random.integer(1, STEPS_PER_DOCUMENT) > 1) {
      return client.attempt(async (work) => void (await work.getMany(stages())));
    }
    const shelf = `${client.process}-${Math.floor(client.nowMs() / SHELF_MS)}`;
    let row = '';
    await client.attempt(async (work) => {
      row = `${shelf} ${work.startTimestamp}`;
      work.set(bodyOf(row), signed(random.integer(0, BUCKETS - 1), work));
      work.set(titleOf(row), signed(1, work));
      work.notifyWeakly({ table: 'shelves', row: shelf, column: 'changed' });
    });
    return client.attempt(async (work) => {
      if ((await work.get(titleOf(row))) !== undefined) work.set(titleOf(row), signed(2, work));
    });
  },

  watch,
  check,
};

/**
 * In every snapshot, no copy of a count is larger than the count, and the total is the sum of the
 * copies.
 */
async function watch(reader: Reader): Promise<readonly string[]> {
  const numbers = (await reader.getMany(stages())).map(numberOf);
  const wrong: string[] = [];
  let copies = 0;
  ALL_BUCKETS.forEach((bucket, i) => {
    const [counted = 0, copied = 0] = numbers.slice(1 + 2 * i);
    copies += copied;
    if (copied > counted) wrong.push(`${bucket}: ${copied} copied, but ${counted} counted`);
  });
  const [total = 0] = numbers;
  if (copies !== total) wrong.push(`${copies} copied, but a total of ${total}`);
  return wrong;
}

async function check(reader: Reader): Promise<readonly string[]> {
  const perBucket = new Map(ALL_BUCKETS.map((bucket) => [bucket, 0]));
  const perShelf = new Map<string, number>();
  const titles = new Map<string, string | undefined>();
  const columns = ['body', 'title'];
  for await (const { row, values } of reader.scan({ table: 'documents', columns })) {
    addOne(perBucket, `bucket ${numberOf(values.get('body'))}`);
    addOne(perShelf, shelfOf(row));
    titles.set(row, values.get('title')?.toString());
  }
  const total = numberOf(await reader.get(TOTAL));
  return [
    ...(await watch(reader)),
    ...(total === titles.size ? [] : [`${titles.size} documents, but a total of ${total}`]),
    ...(await unlike(reader, perBucket, countOf)),
    ...(await unlike(reader, perShelf, tallyOf)),
    ...(await uncopied(reader, titles)),
  ];
}

async function uncopied(
  reader: Reader,
  titles: ReadonlyMap<string, string | undefined>,
): Promise<readonly string[]> {
  const rows = [...titles];
  const copies = await reader.getMany(rows.map(([row]) => titleOf(row, 'titles')));
  return rows.flatMap(([row, title], i) => {
    const found = copies[i]?.toString();
    if (title === undefined) return [`${row}: it has no title`];
    return found === title ? [] : [`${row}: its title is ${title}, and its copy ${found}`];
  });
}

/** The rows whose count is not the number of documents. */
async function unlike(
  reader: Reader,
  expected: ReadonlyMap<string, number>,
  cellOf: (row: string) => CellAddress,
): Promise<readonly string[]> {
  const rows = [...expected];
  const found = await reader.getMany(rows.map(([row]) => cellOf(row)));
  return rows.flatMap(([row, documents], i) => {
    const counted = numberOf(found[i]);
    return counted === documents ? [] : [`${row}: ${documents} documents, ${counted} counted`];
  });
}

/** The total, and for each bucket the count and its copy. */
function stages(): readonly CellAddress[] {
  return [TOTAL, ...ALL_BUCKETS.flatMap((bucket) => [countOf(bucket), copyOf(bucket)])];
}

function addOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function bodyOf(row: string): CellAddress {
  return { table: 'documents', row, column: 'body' };
}

function titleOf(row: string, table = 'documents'): CellAddress {
  return { table, row, column: 'title' };
}

function countOf(bucket: string): CellAddress {
  return { table: 'counts', row: bucket, column: 'documents' };
}

function copyOf(bucket: string): CellAddress {
  return { table: 'sums', row: bucket, column: 'copied' };
}

function tallyOf(shelf: string): CellAddress {
  return { table: 'shelves', row: shelf, column: 'documents' };
}

/** A document's row is its shelf, a space, and a number; shelves have no space. */
function shelfOf(row: string): string {
  return row.slice(0, row.indexOf(' '));
}

function rowsOf(shelf: string): { readonly start: string; readonly end: string } {
  return { start: `${shelf} `, end: `${shelf}!` }; // '!' is the next character.
}
