/**
 * The dependencies between committed transactions of a history of lists, for cycles.ts.
 *
 * For a key with the order a, b, c, appended by the transactions A, B, C:
 *
 *     A ─ww─▶ B ─ww─▶ C               the order of the appends
 *     B ─wr─▶ any reader of a, b      unless it is B
 *     any reader of a, b ─rw─▶ C      it did not see c
 *
 * Committed appends that no transaction has read come after all that were read, in an unknown
 * order. With real time, a transaction comes after all that had ended before it began. One node for
 * each moment at which a transaction ended, each after the previous one, keeps the number of these
 * edges linear.
 */
import type { Dependency } from './cycles.ts';
import type { Element, ListEdge, ListTransaction } from './list-history.ts';
import { isBeginningOf, type KeyOrder, type Orders } from './list-orders.ts';

export interface Reading {
  readonly reader: number;
  readonly key: string;
  /** The list before the reader's own appends. */
  readonly list: readonly Element[];
}

/**
 * @returns the edges that leave each transaction and each moment; moments are numbered after the
 * transactions
 */
export function dependenciesOf(
  transactions: readonly ListTransaction[],
  readings: readonly Reading[],
  { orders, strict }: { readonly orders: Orders; readonly strict: boolean },
): ListEdge[][] {
  const edges: ListEdge[][] = transactions.map(() => []);
  const graph = new Builder(edges, orders);
  for (const [key, order] of orders.keys) graph.addKey(key, order);
  for (const reading of readings) graph.addReading(reading);
  if (strict) addRealTime(edges, transactions, orders);
  return edges;
}

class Builder {
  readonly #edges: ListEdge[][];
  readonly #orders: Orders;
  /** By key: elements that no transaction has read, and their writers. */
  readonly #unread = new Map<string, readonly (readonly [Element, number])[]>();

  constructor(edges: ListEdge[][], orders: Orders) {
    this.#edges = edges;
    this.#orders = orders;
  }

  addKey(key: string, { appends, longest }: KeyOrder): void {
    let before: Element | undefined;
    for (const element of longest) {
      if (before !== undefined) this.#addOverwrite(key, before, appends.get(element)?.writer);
      before = element;
    }
    if (appends.size === longest.length) return; // Every element has been read.
    const read = new Set(longest);
    const unread: (readonly [Element, number])[] = [];
    for (const [element, { writer }] of appends) {
      if (read.has(element)) continue;
      unread.push([element, writer]);
      if (before !== undefined) this.#addOverwrite(key, before, writer);
    }
    this.#unread.set(key, unread);
  }

  addReading({ reader, key, list }: Reading): void {
    const order = this.#orders.keys.get(key);
    // Reported as incompatible.
    if (order === undefined || !isBeginningOf(list, order.longest)) return;
    const { appends, longest } = order;
    const newest = list.at(-1);
    if (newest !== undefined) {
      this.#add('wr', [appends.get(newest)?.writer, reader], { key, element: newest });
    }
    const next = longest[list.length];
    const missed =
      next === undefined
        ? (this.#unread.get(key) ?? [])
        : [[next, appends.get(next)?.writer] as const];
    for (const [element, writer] of missed) this.#add('rw', [reader, writer], { key, element });
  }

  #addOverwrite(key: string, element: Element, next: number | undefined): void {
    this.#add('ww', [this.#orders.keys.get(key)?.appends.get(element)?.writer, next], {
      key,
      element,
    });
  }

  /** Ignores elements that were never appended or never committed: they have been reported. */
  #add(
    kind: Dependency,
    [from, to]: readonly [number | undefined, number | undefined],
    what: { readonly key: string; readonly element: Element },
  ): void {
    if (from === undefined || to === undefined || from === to) return;
    const { isCommitted } = this.#orders;
    if (isCommitted[from] === true && isCommitted[to] === true) {
      this.#edges[from]?.push({ from, to, kind, ...what });
    }
  }
}

/**
 * A beginning and an end at the same moment are concurrent. A transaction whose end was not heard
 * may end at any time.
 */
function addRealTime(
  edges: ListEdge[][],
  transactions: readonly ListTransaction[],
  { isCommitted }: Orders,
): void {
  const committed = [...transactions.entries()].filter(([i]) => isCommitted[i]);
  const ended = committed
    .filter(([, { outcome, endedAt }]) => outcome === 'ok' && endedAt !== undefined)
    .map(([i, { endedAt = 0 }]) => ({ i, endedAt }))
    .toSorted((a, b) => a.endedAt - b.endedAt);
  const begun = committed.toSorted(([, a], [, b]) => a.beganAt - b.beganAt);
  let moment: number | undefined;
  let next = 0;
  for (const [i, { beganAt }] of begun) {
    for (let end = ended[next]; end !== undefined && end.endedAt < beganAt; end = ended[++next]) {
      const here = edges.push([]) - 1;
      const rest = { to: here, kind: 'rt', toMoment: true } as const;
      edges[end.i]?.push({ from: end.i, ...rest });
      if (moment !== undefined) edges[moment]?.push({ from: moment, ...rest });
      moment = here;
    }
    if (moment !== undefined) edges[moment]?.push({ from: moment, to: i, kind: 'rt' });
  }
}
