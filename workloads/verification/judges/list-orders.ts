/**
 * What the lists of a history show: which transactions committed, in which order the elements of
 * each key were appended, and what contradicts every such order.
 *
 * The longest list that was read of a key is its order, and every other list must be a beginning of
 * it. A transaction of unknown outcome has committed if a committed transaction has read an element
 * that it appended. The same read of an element that a failed transaction appended is a violation
 * (G1a).
 */
import type { JudgeFindings } from './history.ts';
import type { Element, ListOperation, ListProof, ListTransaction } from './list-history.ts';

export interface Append {
  /** The index of its transaction. */
  readonly writer: number;
  /** Whether it is the last append of its transaction to this key. */
  isLast: boolean;
}

export interface KeyOrder {
  /** By element. */
  readonly appends: Map<Element, Append>;
  /** The longest list that was read. */
  longest: readonly Element[];
  /** The index of the transaction that read it; undefined before there is one. */
  reader: number | undefined;
}

export interface Orders {
  readonly keys: ReadonlyMap<string, KeyOrder>;
  /** Whether each transaction has committed, as far as the history shows. */
  readonly isCommitted: readonly boolean[];
}

export function inferOrders(
  transactions: readonly ListTransaction[],
  findings: JudgeFindings<ListProof>,
): Orders {
  return new Inference(transactions, findings);
}

/** Whether `list` is a beginning of `longest`. */
export function isBeginningOf(list: readonly Element[], longest: readonly Element[]): boolean {
  if (list.length > longest.length) return false;
  for (let i = list.length - 1; i >= 0; i--) if (list[i] !== longest[i]) return false;
  return true;
}

class Inference implements Orders {
  readonly keys = new Map<string, KeyOrder>();
  readonly isCommitted: boolean[];
  readonly #transactions: readonly ListTransaction[];
  readonly #findings: JudgeFindings<ListProof>;
  /** Committed transactions whose reads have not been processed yet. */
  readonly #queue: number[] = [];

  constructor(transactions: readonly ListTransaction[], findings: JudgeFindings<ListProof>) {
    this.#transactions = transactions;
    this.#findings = findings;
    this.isCommitted = transactions.map(({ outcome }) => outcome === 'ok');
    for (const [i, { operations, outcome }] of transactions.entries()) {
      this.#addAppends(i, operations);
      if (outcome === 'ok') this.#queue.push(i);
    }
    for (const i of this.#queue) this.#addReads(i); // The queue grows meanwhile.
  }

  #addAppends(writer: number, operations: readonly ListOperation[]): void {
    const last = new Map<string, Append>();
    for (const { kind, key, elements } of operations) {
      const { appends } = this.#key(key);
      if (kind !== 'append') continue;
      for (const element of elements) {
        const other = appends.get(element);
        const append = { writer, isLast: true };
        if (other === undefined) appends.set(element, append);
        else this.#report('element appended twice', key, { element, by: [other.writer, writer] });
        const before = last.get(key);
        if (before !== undefined) before.isLast = false;
        last.set(key, append);
      }
    }
  }

  #addReads(reader: number): void {
    for (const { kind, key, elements } of this.#transactions[reader]?.operations ?? []) {
      if (kind === 'read') this.#addRead(reader, key, elements);
    }
  }

  #addRead(reader: number, key: string, list: readonly Element[]): void {
    const order = this.#key(key);
    const [shorter, longer] =
      list.length > order.longest.length ? [order.longest, list] : [list, order.longest];
    const fits = isBeginningOf(shorter, longer);
    if (!fits) this.#reportOrders(key, order, { reader, list });
    // Elements that were processed in another list do not have to be processed again.
    if (longer === list) this.#lookAt(reader, key, { list, from: fits ? shorter.length : 0 });
    else if (!fits) this.#lookAt(reader, key, { list, from: 0 });
    if (longer !== list) return;
    order.longest = list;
    order.reader = reader;
  }

  /** Finds the transactions that appended the elements at and after `from`. */
  #lookAt(
    reader: number,
    key: string,
    { list, from }: { readonly list: readonly Element[]; readonly from: number },
  ): void {
    const { appends } = this.#key(key);
    const before = new Set(list.slice(0, from));
    for (const element of list.slice(from)) {
      if (before.has(element)) this.#report('element read twice', key, { element, by: [reader] });
      before.add(element);
      const writer = appends.get(element)?.writer;
      const outcome = writer === undefined ? undefined : this.#transactions[writer]?.outcome;
      if (writer === undefined) {
        this.#report('read of an element never appended', key, { element, by: [reader] });
      } else if (outcome === 'fail') {
        this.#report('G1a', key, { element, by: [writer, reader] });
      } else if (this.isCommitted[writer] === false) {
        this.isCommitted[writer] = true;
        this.#queue.push(writer);
      }
    }
  }

  #key(key: string): KeyOrder {
    const known = this.keys.get(key);
    if (known !== undefined) return known;
    const order: KeyOrder = { appends: new Map(), longest: [], reader: undefined };
    this.keys.set(key, order);
    return order;
  }

  #report(
    claim: string,
    key: string,
    { element, by }: { readonly element: Element; readonly by: readonly number[] },
  ): void {
    const [first = '', second = first] = by.map((one) => this.#nameOf(one));
    const what = `${JSON.stringify(element)} of ${key}`;
    const messages: Record<string, string> = {
      'element appended twice': `${what} was appended by ${first} and by ${second}`,
      'element read twice': `${first} read ${what} twice in one list`,
      'read of an element never appended': `${first} read ${what}, which was never appended`,
      G1a: `${second} read ${what}, which ${first} appended, and ${first} has failed`,
    };
    this.#findings.add(claim, messages[claim] ?? what, { transactions: by, key, element });
  }

  #reportOrders(
    key: string,
    { longest, reader: longestReader }: KeyOrder,
    { reader, list }: { readonly reader: number; readonly list: readonly Element[] },
  ): void {
    const i = list.findIndex((element, at) => element !== longest[at]);
    const [one, two] = [longest[i], list[i]].map((element) => JSON.stringify(element));
    const other = this.#nameOf(longestReader ?? reader);
    const who = `${other} has ${one} and ${this.#nameOf(reader)} has ${two}`;
    const transactions = longestReader === undefined ? [reader] : [longestReader, reader];
    const message = `at position ${i} of ${key}, ${who}`;
    this.#findings.add('incompatible orders', message, { transactions, key });
  }

  #nameOf(transaction: number): string {
    return `T${this.#transactions[transaction]?.name}`;
  }
}
