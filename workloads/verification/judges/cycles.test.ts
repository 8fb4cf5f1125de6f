/**
 * The claims of the search for cycles, compared with a search of all cycles in small random graphs.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '../../../engine/base/index.ts';
import { cyclicComponents, type Dependency, type Edge, findCycles } from './cycles.ts';

const PALETTES: readonly (readonly Dependency[])[] = [
  ['ww', 'wr', 'rw', 'rt'],
  ['ww', 'wr', 'rw'],
  ['wr', 'rw'],
  ['ww', 'rt'],
];
const ANOMALIES = ['G0', 'G1c', 'G-single', 'G-nonadjacent'];

/**
 * Every second graph has a ring through all its nodes, because long cycles would otherwise be rare.
 */
function randomGraph(random: Random): Edge[][] {
  const nodes = random.integer(2, 6);
  const kinds = random.pick(PALETTES);
  const graph = Array.from({ length: nodes }, (): Edge[] => []);
  const add = (from: number, to: number): void => {
    if (from !== to) graph[from]?.push({ from, to, kind: random.pick(kinds) });
  };
  const hasRing = random.fraction() < 0.5;
  if (hasRing) for (let i = 0; i < nodes; i++) add(i, (i + 1) % nodes);
  for (let count = random.integer(0, hasRing ? 2 : 2 * nodes); count > 0; count--) {
    add(random.integer(0, nodes - 1), random.integer(0, nodes - 1));
  }
  return graph;
}

/** Every cycle that visits no node twice, by trying every path. */
function allCycles(graph: readonly (readonly Edge[])[]): readonly (readonly Edge[])[] {
  const cycles: (readonly Edge[])[] = [];
  const extend = (start: number, path: readonly Edge[]): void => {
    for (const edge of graph[path.at(-1)?.to ?? start] ?? []) {
      const isNew = !path.some(({ to }) => to === edge.to);
      if (edge.to === start) cycles.push([...path, edge]);
      // A cycle is found from its smallest node.
      else if (edge.to > start && isNew) extend(start, [...path, edge]);
    }
  };
  for (const start of graph.keys()) extend(start, []);
  return cycles;
}

/** The anomaly as the literature defines it. */
function anomalyOf(cycle: readonly Edge[]): string {
  const count = (kind: Dependency) => cycle.filter((edge) => edge.kind === kind).length;
  const inARow = cycle.some(
    ({ kind }, i) => kind === 'rw' && cycle[(i + 1) % cycle.length]?.kind === 'rw',
  );
  const realTime = count('rt') > 0 ? '-realtime' : '';
  if (count('rw') === 0) return `${count('wr') === 0 ? 'G0' : 'G1c'}${realTime}`;
  if (count('rw') === 1) return `G-single${realTime}`;
  return `${inARow ? 'G2-item' : 'G-nonadjacent'}${realTime}`;
}

/** The strongest anomaly that needs no real time; if there is none, the strongest that does. */
function strongest(names: readonly string[]): string | undefined {
  const order = [...ANOMALIES, ...ANOMALIES.map((name) => `${name}-realtime`)];
  return order.find((name) => names.includes(name));
}

function assertCycle(edges: readonly Edge[]): void {
  assert.ok(edges.length > 1);
  edges.forEach((edge, i) => {
    assert.equal(edge.to, edges[(i + 1) % edges.length]?.from);
  });
}

test('in small random graphs, the strongest forbidden cycle is found, or an allowed one if there is no other', () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= 20_000; seed++) {
    const graph = randomGraph(createRandom(seed));
    const names = allCycles(graph).map(anomalyOf);
    const { forbidden, allowed } = findCycles(graph);
    const found = forbidden.map(({ anomaly }) => anomaly);
    const note = `seed ${seed}: ${JSON.stringify(graph)}`;

    assert.equal(strongest(found), strongest(names), note);
    assert.equal(found.length + allowed.length > 0, names.length > 0, note);
    for (const { anomaly, edges } of [...forbidden, ...allowed]) {
      assertCycle(edges);
      assert.equal(anomaly, anomalyOf(edges), note);
    }
    for (const { anomaly } of allowed) assert.match(anomaly, /^G2-item/, note);
    for (const anomaly of found) assert.doesNotMatch(anomaly, /^G2-item/, note);
    const name = found[0] ?? allowed[0]?.anomaly ?? 'none';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const name of [...ANOMALIES, 'G-single-realtime', 'G2-item', 'none']) {
    assert.ok((counts.get(name) ?? 0) > 50, `${name} was there ${counts.get(name)} times`);
  }
});

test('components are the sets of two or more nodes that reach one another', () => {
  for (let seed = 1; seed <= 2000; seed++) {
    const edges = randomGraph(createRandom(seed));
    const graph = edges.map((ofNode) => ofNode.map(({ to }) => to));
    const reachable = [...graph.keys()].map((start) => {
      const seen = new Set<number>();
      const queue = [start];
      for (const node of queue) {
        for (const to of graph[node] ?? []) {
          if (!seen.has(to)) queue.push(to);
          seen.add(to);
        }
      }
      return seen;
    });
    const together = (a: number, b: number) =>
      reachable[a]?.has(b) === true && reachable[b]?.has(a) === true;
    const expected = [...graph.keys()]
      .map((node) => [...graph.keys()].filter((other) => together(node, other)))
      .filter((component, node) => component.length > 1 && component[0] === node);
    const found = cyclicComponents(graph).map((component) => component.toSorted((a, b) => a - b));
    const ordered = found.toSorted(([a = 0], [b = 0]) => a - b);
    assert.deepEqual(ordered, expected, `seed ${seed}`);
  }
});

test('a cycle through a hundred thousand transactions is found', () => {
  const length = 100_000;
  const graph = Array.from({ length }, (_, from): Edge[] => [
    { from, to: (from + 1) % length, kind: from === 0 ? 'rw' : 'wr' },
  ]);
  const [cycle] = findCycles(graph).forbidden;
  assert.equal(cycle?.anomaly, 'G-single');
  assert.equal(cycle.edges.length, length);
});

test('in a graph that one long cycle in real time connects, the cycle that needs no time is found too', () => {
  const chain = 3000;
  const [last, writer, reader] = [chain, chain + 1, chain + 2];
  const graph = Array.from({ length: chain + 3 }, (): Edge[] => []);
  const add = (from: number, kind: Dependency, to: number): void => {
    graph[from]?.push({ from, to, kind });
  };
  for (let node = 0; node + 1 < chain; node++) add(node, 'ww', node + 1);
  add(chain - 1, 'rt', last);
  add(last, 'rw', 0);
  add(chain - 5, 'rt', writer);
  add(writer, 'wr', reader);
  add(reader, 'rw', writer);
  add(reader, 'rt', chain - 2);
  const anomalies = findCycles(graph).forbidden.map(({ anomaly }) => anomaly);
  assert.deepEqual(anomalies, ['G-single', 'G-single-realtime']);
});
