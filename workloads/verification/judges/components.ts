/**
 * Strongly connected components, after Tarjan: two nodes are in one component if each can be
 * reached from the other, so every cycle lies within one. Linear, and without recursion, because
 * histories are longer than stacks are deep.
 */

/** A graph of the nodes 0, 1, ... by their successors. No node is its own successor. */
export type Graph = readonly (readonly number[])[];

/** The components of more than one node: those that have cycles. */
export function cyclicComponents(graph: Graph): readonly (readonly number[])[] {
  return new Search(graph).components;
}

class Search {
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
