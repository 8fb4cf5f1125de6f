/**
 * A second opinion, which trusts no timestamp: searches histories of list append for what snapshot
 * isolation forbids, after Jepsen's Elle (Kingsbury and Alvaro, VLDB 2020).
 *
 *   1. Each transaction alone: a list that it reads must be what its earlier reads and its own
 *      appends give.
 *   2. The lists of each key show the order of its appends (list-orders.ts): G1a, a read of a
 *      failed append; elements that were read or appended twice, or never appended; lists that
 *      contradict each other.
 *   3. G1b: a read that shows appends of a transaction to a list, but not its last one.
 *   4. Lost update: two transactions that read the same list and both appended to it.
 *   5. Cycles of dependencies (cycles.ts): G0, G1c, G-single, G-nonadjacent. G2-item, which
 *      includes write skew, is allowed, and is listed separately: a history without any had too
 *      little concurrency to prove much.
 *
 * Reads count if their transaction is known to have committed. With `strict`, real time counts as a
 * dependency: Percolator's transactions see everything that was committed before they began.
 */
import { type Dependency, findCycles } from './cycles.ts';
import { JudgeFindings, type Violation } from './history.ts';
import type { Element, ListEdge, ListProof, ListTransaction } from './list-history.ts';
import { inferOrders, isBeginningOf, type KeyOrder, type Orders } from './list-orders.ts';

export interface ListOpinion {
  readonly violations: readonly Violation[];
  /** Cycles that snapshot isolation allows: one for each component without a forbidden one. */
  readonly allowed: readonly Violation[];
}

export interface ListOptions {
  /** Whether real time counts. */
  readonly strict: boolean;
  /** Collects the violations, with their proofs. Default: keeps the first few. */
  readonly findings?: JudgeFindings<ListProof> | undefined;
  /** Collects the allowed cycles, with their proofs. Default: keeps all. */
  readonly allowed?: JudgeFindings<ListProof> | undefined;
}

export function judgeListAppend(
  transactions: readonly ListTransaction[],
  {
    strict,
    findings = new JudgeFindings('list append'),
    allowed = new JudgeFindings('list append', Infinity),
  }: ListOptions,
): ListOpinion {
  const orders = inferOrders(transactions, findings);
  const readings = transactions.flatMap((transaction, reader) =>
    orders.isCommitted[reader] === true ? readingsOf(transaction, reader, findings) : [],
  );
  judgeIntermediateReads(readings, { transactions, orders }, findings);
  judgeLostUpdates(readings, { transactions, orders }, findings);
  const cycles = findCycles(dependenciesOf(transactions, readings, { orders, strict }));
  for (const { anomaly, edges } of cycles.forbidden) {
    findings.add(anomaly, inWords(edges, transactions), proofOf(edges, transactions));
  }
  for (const { anomaly, edges } of cycles.allowed) {
    allowed.add(anomaly, inWords(edges, transactions), proofOf(edges, transactions));
  }
  return { violations: findings.violations, allowed: allowed.violations };
}

function proofOf(edges: readonly ListEdge[], { length }: readonly ListTransaction[]): ListProof {
  return { transactions: edges.map(({ from }) => from).filter((node) => node < length), edges };
}

/**
 * The first reads of each key, without the transaction's own appends; checks the other reads
 * against them.
 */
function readingsOf(
  { name, operations }: ListTransaction,
  reader: number,
  findings: JudgeFindings<ListProof>,
): readonly Reading[] {
  const readings: Reading[] = [];
  const expected = new Map<string, readonly Element[]>(); // The whole list.
  // The end of the list, while its beginning is unknown.
  const own = new Map<string, readonly Element[]>();
  for (const { kind, key, elements } of operations) {
    const whole = expected.get(key);
    const end = own.get(key) ?? [];
    if (kind === 'append') {
      if (whole === undefined) own.set(key, [...end, ...elements]);
      else expected.set(key, [...whole, ...elements]);
      const early = elements.find((element) => whole?.includes(element));
      if (early !== undefined) {
        const what = `${JSON.stringify(early)} in ${key} before it appended that itself`;
        const proof = { transactions: [reader], key, element: early };
        findings.add('internal contradiction', `T${name} read ${what}`, proof);
      }
      continue;
    }
    const list = elements.slice(0, Math.max(0, elements.length - end.length));
    const should = whole ?? [...list, ...end];
    if (should.length !== elements.length || should.some((one, i) => one !== elements[i])) {
      const from = elements.findIndex((one, i) => one !== should[i]);
      const [is, was] = [elements, should].map((one) => shownFrom(one, from));
      const message = `T${name} read ${key} as ${is}, but its own earlier reads and appends give ${was}`;
      findings.add('internal contradiction', message, { transactions: [reader], key });
    } else if (whole === undefined) {
      readings.push({ reader, key, list });
    }
    expected.set(key, elements);
  }
  return readings;
}

interface OrderedHistory {
  readonly transactions: readonly ListTransaction[];
  readonly orders: Orders;
}

function judgeIntermediateReads(
  readings: readonly Reading[],
  { transactions, orders }: OrderedHistory,
  findings: JudgeFindings<ListProof>,
): void {
  for (const { reader, key, list } of readings) {
    const element = list.at(-1);
    const append = element === undefined ? undefined : orders.keys.get(key)?.appends.get(element);
    if (append === undefined || append.isLast) continue;
    const [one, other] = [reader, append.writer].map((i) => `T${transactions[i]?.name}`);
    const what = `${key} up to ${JSON.stringify(element)}, after which ${other} appended more`;
    const proof = { transactions: [append.writer, reader], key, element };
    findings.add('G1b', `${one} read ${what}`, proof);
  }
}

function judgeLostUpdates(
  readings: readonly Reading[],
  { transactions, orders }: OrderedHistory,
  findings: JudgeFindings<ListProof>,
): void {
  /** By key: which transaction appended after reading this many elements. */
  const updates = new Map<string, Map<number, number>>();
  for (const { reader, key, list } of readings) {
    if (!isOfOrder(orders, key, list)) continue;
    const { operations = [] } = transactions[reader] ?? {};
    if (!operations.some((one) => one.kind === 'append' && one.key === key)) continue;
    const ofKey = updates.get(key) ?? new Map<number, number>();
    updates.set(key, ofKey);
    const other = ofKey.get(list.length);
    if (other === undefined) ofKey.set(list.length, reader);
    if (other === undefined) continue;
    const [one, two] = [other, reader].map((i) => `T${transactions[i]?.name}`);
    const what = list.length === 0 ? 'empty' : `up to ${JSON.stringify(list.at(-1))}`;
    const message = `${one} and ${two} read ${key} ${what}, and both appended to it`;
    const proof = { transactions: [other, reader], key, element: list.at(-1) };
    findings.add('lost update', message, proof);
  }
}

/**
 * Whether the last element is where the key's order has it. Then lists of one length are equal,
 * except for those that do not fit the order, and these have been reported.
 */
function isOfOrder(orders: Orders, key: string, list: readonly Element[]): boolean {
  return orders.keys.get(key)?.longest[list.length - 1] === list.at(-1);
}

/** Three elements from the first that differs, or the end of a list that has no such element. */
function shownFrom(elements: readonly Element[], differing: number): string {
  const from = Math.max(0, differing < 0 ? elements.length - 3 : differing);
  const shown = elements.slice(from, from + 3).map((element) => JSON.stringify(element));
  const after = from + 3 < elements.length ? ['...'] : [];
  return `[${[...(from > 0 ? ['...'] : []), ...shown, ...after].join(',')}]`;
}

/**
 * One clause for each edge. A real-time dependency leads through nodes for moments
 * (list-dependencies.ts), and the whole path is one clause.
 */
function inWords(edges: readonly ListEdge[], transactions: readonly ListTransaction[]): string {
  const isMoment = (node: number): boolean => node >= transactions.length;
  const first = edges.reduce(
    (lowest, { from }, i) => (from < (edges[lowest]?.from ?? 0) ? i : lowest),
    0,
  );
  const fromFirst = [...edges.slice(first), ...edges.slice(0, first)];
  const clauses: string[] = [];
  let ended = '';
  for (const { from, to, kind, key, element } of fromFirst) {
    const [one, other] = [from, to].map((node) => `T${transactions[node]?.name}`);
    const what = `${JSON.stringify(element)} to ${key}`;
    if (!isMoment(from)) ended = one ?? '';
    if (isMoment(to)) continue;
    const words = {
      ww: `${one} appended ${what} before ${other} appended`,
      wr: `${other} read what ${one} appended, ${what}`,
      rw: `${one} did not see ${other} append ${what}`,
      rt: `${ended} had ended when ${other} began`,
    };
    clauses.push(words[kind]);
  }
  return clauses.join('; ');
}

/*
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

interface Reading {
  readonly reader: number;
  readonly key: string;
  /** The list before the reader's own appends. */
  readonly list: readonly Element[];
}

/**
 * @returns the edges that leave each transaction and each moment; moments are numbered after the
 * transactions
 */
function dependenciesOf(
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
