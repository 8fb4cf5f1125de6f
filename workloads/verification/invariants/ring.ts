/**
 * The ring, FoundationDB's Cycle: every node names its successor, and they form one ring. A step
 * swaps two neighbours by writing three nodes; a write that is lost, or only half visible, leaves
 * two rings, or a node that is reached twice.
 *
 *     a ─▶ b ─▶ c ─▶ d      becomes      a ─▶ c ─▶ b ─▶ d
 */
import type { CellAddress, Reader } from '#engine';
import { numberOf, signed } from './values.ts';
import type { Work, Workload } from './workload.ts';

const NODES = 24;
const ALL = Array.from({ length: NODES }, (_, i) => node(i));

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

  watch,
  check: watch,
};

async function watch(reader: Reader): Promise<readonly string[]> {
  const values = await reader.getMany(ALL);
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
