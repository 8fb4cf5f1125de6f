/**
 * List append, after Jepsen: transactions append numbers to lists under a few hot keys, and read
 * them. No number is appended twice, so a list that was read tells which appends came before, in
 * which order. A judge that trusts no timestamps can then look for contradictions.
 *
 * Lists grow, and each append copies the whole list, so a key is used only for a short time.
 */
import type { CellAddress, Reader } from '#engine';
import type { Work, Workload } from './workload.ts';

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
