/**
 * Cycles of dependencies between transactions, and their names (Adya 1999, Cerone and Gotsman
 * 2018).
 *
 *     edge from T to U                            cycle
 *     ww   T wrote what U overwrote               G0             ww only
 *     wr   T wrote what U read                    G1c            ww and wr
 *     rt   T had ended when U began (real time)   G-single       one rw
 *     rw   T read what U overwrote                G-nonadjacent  several rw, none adjacent
 *                                                 G2-item        adjacent rw: write skew
 *
 * Under snapshot isolation, every edge but rw means: T committed before U began. An rw means: T
 * began before U committed. So a cycle contradicts snapshot isolation unless it has two rw in a
 * row, as in write skew. (A cycle with rt contradicts only strong snapshot isolation, which
 * respects real time.)
 *
 *   1. Take a graph with two nodes for each transaction, one reached by rw and one reached by other
 *      edges, in which no rw leaves the first. Every cycle in it is forbidden: a search
 *      for strongly connected components finds them all at once.
 *   2. In each component with a cycle, find the shortest cycle of the strongest kind present.
 *   3. Do 1 and 2 without rt first, then with rt among the transactions not convicted so far: real
 *      time connects what is otherwise apart, and one late reader would hide all else.
 *   4. Components of the original graph without a forbidden cycle have allowed ones.
 */

export type Dependency = 'ww' | 'wr' | 'rw' | 'rt';

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly kind: Dependency;
  /**
   * For rt: `to` is no transaction but a moment. The path from one transaction through moments to
   * the next is one step.
   */
  readonly toMoment?: boolean;
}

export interface DependencyCycle<E extends Edge = Edge> {
  /** As in the table above; ends with `-realtime` if it needs real time. */
  readonly anomaly: string;
  /** Each edge begins where the previous one ended; the first begins where the last one ends. */
  readonly edges: readonly E[];
}

/** The edges that leave each node. No edge leads back to its own node. */
export type Dependencies<E extends Edge> = readonly (readonly E[])[];

export function findCycles<E extends Edge>(
  dependencies: Dependencies<E>,
): {
  readonly forbidden: readonly DependencyCycle<E>[];
  readonly allowed: readonly DependencyCycle<E>[];
} {
  const { cycles, convicted } = forbiddenIn(dependencies);
  const allowed = cyclicComponents(successorsOf(dependencies))
    .filter((component) => !component.some((node) => convicted.has(node)))
    .map((component) => shortestCycle(dependencies, new Set(component), ANY));
  return {
    forbidden: cycles.map(nameCycle),
    allowed: allowed.filter((edges) => edges !== undefined).map(nameCycle),
  };
}

/** One cycle for each component with forbidden ones, and the transactions of these components. */
function forbiddenIn<E extends Edge>(
  dependencies: Dependencies<E>,
): { readonly cycles: readonly (readonly E[])[]; readonly convicted: ReadonlySet<number> } {
  const cycles: (readonly E[])[] = [];
  const convicted = new Set<number>();
  // Most histories have no forbidden cycle, and then one look is enough.
  const isClean = guiltyComponents(dependencies).length === 0;
  for (const isInTime of isClean ? [] : [false, true]) {
    const graph = edgesWhere(
      dependencies,
      ({ from, to, kind }) =>
        (isInTime || kind !== 'rt') && !convicted.has(from) && !convicted.has(to),
    );
    const components = guiltyComponents(graph);
    const kinds = components.length === 0 ? [] : kindsOf(graph);
    for (const component of components) {
      const cycle = strongestCycle(graph, new Set(component), kinds);
      if (cycle !== undefined) cycles.push(cycle);
      for (const node of component) convicted.add(node);
    }
  }
  return { cycles, convicted };
}

function guiltyComponents(dependencies: Dependencies<Edge>): readonly (readonly number[])[] {
  const components = cyclicComponents(withoutTwoInARow(dependencies));
  return components.map((component) => component.map((node) => node >> 1));
}

function edgesWhere<E extends Edge>(
  dependencies: Dependencies<E>,
  isWanted: (edge: E) => boolean,
): Dependencies<E> {
  return dependencies.map((edges) => edges.filter(isWanted));
}

function successorsOf(dependencies: Dependencies<Edge>): Graph {
  return dependencies.map((edges) => edges.map(({ to }) => to));
}

/**
 * Node 2n is transaction n, reached by any edge but rw; node 2n + 1 is the same transaction,
 * reached by rw.
 */
function withoutTwoInARow(dependencies: Dependencies<Edge>): number[][] {
  return dependencies.flatMap((edges) => [
    edges.map(({ to, kind }) => 2 * to + Number(kind === 'rw')),
    edges.filter(({ kind }) => kind !== 'rw').map(({ to }) => 2 * to),
  ]);
}

/**
 * The edges that a cycle may have: `step` counts along the path, and returns undefined for an edge
 * that must not follow. The path begins at 0, and is a cycle if it comes back with `end`.
 */
interface CycleKind {
  readonly step: (state: number, kind: Dependency) => number | undefined;
  readonly end: number;
  /** Each such cycle has one of these nodes; by default any node. */
  readonly starts?: ReadonlySet<number>;
  /** Whether a component that is searched for this kind may have no such cycle. */
  readonly isUnsure?: boolean;
}

const G_SINGLE: CycleKind = {
  step: (count, kind) => {
    if (kind !== 'rw') return count;
    return count === 0 ? 1 : undefined;
  },
  end: 1,
  isUnsure: true,
};
const NOT_TWO_IN_A_ROW: CycleKind = {
  step: (wasRw, kind) => {
    if (kind !== 'rw') return 0;
    return wasRw === 0 ? 1 : undefined;
  },
  end: 0,
};
const ANY: CycleKind = { step: () => 0, end: 0 };

/** Strongest first: G0, G1c, G-single, and any that is forbidden. */
function kindsOf(dependencies: Dependencies<Edge>): readonly CycleKind[] {
  const only = (kinds: readonly Dependency[]): CycleKind => {
    const edges = edgesWhere(dependencies, ({ kind }) => kinds.includes(kind));
    return {
      step: (state, kind) => (kinds.includes(kind) ? state : undefined),
      end: 0,
      starts: new Set(cyclicComponents(successorsOf(edges)).flat()),
    };
  };
  const rw = edgesWhere(dependencies, ({ kind }) => kind === 'rw');
  const starts = new Set(rw.flatMap(([edge]) => (edge === undefined ? [] : [edge.from])));
  return [
    only(['ww', 'rt']),
    only(['ww', 'wr', 'rt']),
    { ...G_SINGLE, starts },
    { ...NOT_TWO_IN_A_ROW, starts },
  ];
}

function strongestCycle<E extends Edge>(
  dependencies: Dependencies<E>,
  component: ReadonlySet<number>,
  kinds: readonly CycleKind[],
): readonly E[] | undefined {
  for (const kind of kinds) {
    const cycle = shortestCycle(dependencies, component, kind);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/**
 * After this many steps a component is not searched for a shorter cycle, nor for one with a single
 * rw if none was found: it would cost more than it tells.
 */
const STEPS_MAX = 1_000_000;

function shortestCycle<E extends Edge>(
  dependencies: Dependencies<E>,
  component: ReadonlySet<number>,
  kind: CycleKind,
): readonly E[] | undefined {
  let shortest: readonly E[] | undefined;
  let length = Infinity;
  let steps = 0;
  for (const start of component) {
    if (length === 2) break;
    if (kind.starts?.has(start) === false) continue;
    // A cycle that is known to exist must be found.
    const mayStop = shortest !== undefined || kind.isUnsure === true;
    if (steps > STEPS_MAX && mayStop) break;
    const search = cycleThrough(dependencies, component, { start, kind });
    steps += search.steps;
    const { cycle = [] } = search;
    const found = cycle.filter(({ toMoment }) => toMoment !== true).length;
    if (found === 0 || found >= length) continue;
    [shortest, length] = [cycle, found];
  }
  return shortest;
}

interface Path<E extends Edge> {
  readonly node: number;
  readonly state: number;
  readonly edge: E | undefined;
  readonly before: Path<E> | undefined;
}

/** Breadth first by steps, over pairs of a node and the count of `kind`. */
function cycleThrough<E extends Edge>(
  dependencies: Dependencies<E>,
  component: ReadonlySet<number>,
  { start, kind }: { readonly start: number; readonly kind: CycleKind },
): { readonly cycle?: readonly E[]; readonly steps: number } {
  const seen = new Set<number>();
  let paths: Path<E>[] = [{ node: start, state: 0, edge: undefined, before: undefined }];
  while (paths.length > 0) {
    const withOneStepMore: Path<E>[] = [];
    for (const path of paths) {
      for (const edge of dependencies[path.node] ?? []) {
        const state = kind.step(path.state, edge.kind);
        const key = 2 * edge.to + (state ?? 0);
        if (state === undefined || !component.has(edge.to) || seen.has(key)) continue;
        seen.add(key);
        const longer = { node: edge.to, state, edge, before: path };
        if (edge.to === start && state === kind.end) {
          return { cycle: edgesOf(longer), steps: seen.size };
        }
        (edge.toMoment === true ? paths : withOneStepMore).push(longer);
      }
    }
    paths = withOneStepMore;
  }
  return { steps: seen.size };
}

function edgesOf<E extends Edge>(path: Path<E>): readonly E[] {
  const edges: E[] = [];
  for (let at: Path<E> | undefined = path; at?.edge !== undefined; at = at.before) {
    edges.push(at.edge);
  }
  return edges.toReversed();
}

function nameCycle<E extends Edge>(edges: readonly E[]): DependencyCycle<E> {
  const kinds = edges.map(({ kind }) => kind);
  const realTime = kinds.includes('rt') ? '-realtime' : '';
  return { anomaly: `${nameOf(kinds)}${realTime}`, edges };
}

function nameOf(kinds: readonly Dependency[]): string {
  const rw = kinds.filter((kind) => kind === 'rw').length;
  const inARow = kinds.some((kind, i) => rw > 1 && kind === 'rw' && kinds.at(i - 1) === 'rw');
  if (inARow) return 'G2-item';
  if (rw > 1) return 'G-nonadjacent';
  if (rw === 1) return 'G-single';
  return kinds.includes('wr') ? 'G1c' : 'G0';
}

/*
 * Strongly connected components, after Tarjan: two nodes are in one component if each can be
 * reached from the other, so every cycle lies within one. Linear, and without recursion, because
 * histories are longer than stacks are deep.
 */

/** A graph of the nodes 0, 1, ... by their successors. No node is its own successor. */
type Graph = readonly (readonly number[])[];

/** The components of more than one node: those that have cycles. */
export function cyclicComponents(graph: Graph): readonly (readonly number[])[] {
  return new ComponentSearch(graph).components;
}

class ComponentSearch {
  readonly components: (readonly number[])[] = [];
  readonly #graph: Graph;
  /** When each node was found; 0 if not yet. */
  readonly #found: Int32Array;
  /**
   * For each node, the smallest `#found` known to be reachable from it on the stack; infinite once
   * the node's component is complete.
   */
  readonly #low: Float64Array;
  /** For each node, how many of its successors have been visited. */
  readonly #next: Int32Array;
  /** Nodes that were found and are not yet in a complete component. */
  readonly #stack: number[] = [];
  #count = 0;

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#found = new Int32Array(graph.length);
    this.#low = new Float64Array(graph.length);
    this.#next = new Int32Array(graph.length);
    for (let node = 0; node < graph.length; node++) {
      if (this.#found[node] === 0) this.#searchFrom(node);
    }
  }

  #searchFrom(root: number): void {
    const path = [root]; // Instead of recursion.
    this.#find(root);
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const successor = this.#nextSuccessor(node);
      if (successor === undefined) {
        path.pop();
        if (this.#low[node] === this.#found[node]) this.#complete(node);
        const parent = path.at(-1);
        if (parent !== undefined) this.#lower(parent, this.#low[node]);
      } else if (this.#found[successor] === 0) {
        this.#find(successor);
        path.push(successor);
      } else {
        this.#lower(node, this.#low[successor]);
      }
    }
  }

  #find(node: number): void {
    this.#count++;
    this.#found[node] = this.#count;
    this.#low[node] = this.#count;
    this.#stack.push(node);
  }

  #nextSuccessor(node: number): number | undefined {
    const next = this.#next[node] ?? 0;
    this.#next[node] = next + 1;
    return this.#graph[node]?.[next];
  }

  #lower(node: number, low = Number.POSITIVE_INFINITY): void {
    this.#low[node] = Math.min(this.#low[node] ?? low, low);
  }

  /** The nodes on the stack from `root` on are its component. */
  #complete(root: number): void {
    const component = this.#stack.splice(this.#stack.lastIndexOf(root));
    for (const node of component) this.#low[node] = Number.POSITIVE_INFINITY;
    if (component.length > 1) this.components.push(component);
  }
}
