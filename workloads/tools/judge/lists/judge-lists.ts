/**
 * Judges a history of list append without timestamps, in the form of Jepsen (docs/judge.md
 * describes it).
 *
 *   1. Read the operations, and pair beginnings with ends (operations.ts).
 *   2. Judge them with the judge of this project's engine: it finds the order of appends from the
 *      reads, and cycles of dependencies.
 *   3. Tell the stories of the findings. Cycles that snapshot isolation allows are violations of
 *      serializability.
 */
import { readFile, stat } from 'node:fs/promises';
import { UsageError } from '#results';
import {
  type Element,
  type JudgeFinding,
  JudgeFindings,
  judgeListAppend,
  type ListEdge,
  type ListProof,
} from '../../../verification/judges/index.ts';
import type { AnomalyName, Story, StoryTransaction } from '../anomalies.ts';
import { isEdn, naming } from '../lines.ts';
import { OverlapCounter } from '../overlap.ts';
import type { JudgeOptions, HistoryVerdict } from '../verdict.ts';
import { readForms } from './edn-reader.ts';
import { type JepsenTransaction, Pairing } from './operations.ts';

/** A JavaScript string cannot be much larger. */
const BYTES_MAX = 500_000_000;

export async function judgeLists(file: string, options: JudgeOptions): Promise<HistoryVerdict> {
  const transactions = await readTransactions(file, options);
  const { strict, serializable, keepMax } = options;
  const findings = new Violations('', keepMax);
  const allowed = new WriteSkews('', keepMax);
  judgeListAppend(transactions, { strict, findings, allowed });
  const stories = new ListStories(transactions, { serializable });
  const violations = serializable ? [...findings.kept, ...allowed.kept] : findings.kept;
  const allowedCount = countOf(allowed);
  const count = (outcome: JepsenTransaction['outcome']): number =>
    transactions.filter((one) => one.outcome === outcome).length;
  const reads = transactions.flatMap(({ operations, outcome }) =>
    outcome === 'ok' ? operations.filter(({ kind }) => kind === 'read') : [],
  );
  const keys = new Set(transactions.flatMap(({ operations }) => operations.map(({ key }) => key)));
  return {
    format: 'list-append',
    transactions: transactions.length,
    ok: count('ok'),
    fail: count('fail'),
    info: count('info'),
    infoSeen: stories.countSeen(),
    keys: keys.size,
    reads: reads.length,
    readsNotJudged: 0,
    overlappingWriters: overlapsOf(transactions),
    found: countOf(findings) + (serializable ? allowedCount : 0),
    stories: violations.map((found) => stories.tell(found)),
    allowed: serializable ? [] : allowed.kept.map((found) => stories.tell(found)),
    allowedFound: serializable ? 0 : allowedCount,
  };
}

/** The number of findings, whether they were kept or not. */
function countOf({ counts }: JudgeFindings<ListProof>): number {
  return [...counts.values()].reduce((sum, one) => sum + one, 0);
}

/**
 * Leaves out a cycle of two transactions of which one missed and overwrote what the other had
 * written to one key, if it has been reported as their lost update.
 */
class Violations extends JudgeFindings<ListProof> {
  readonly #lostUpdates = new Set<string>();

  override add(claim: string, message: string, proof?: ListProof): void {
    const { edges = [], transactions = [] } = proof ?? {};
    const key = proof?.key ?? edges[0]?.key;
    const pair = JSON.stringify([key, ...transactions.toSorted((a, b) => a - b)]);
    if (claim === 'lost update') this.#lostUpdates.add(pair);
    const isOfOneKey = edges.every((edge) => edge.kind !== 'wr' && edge.key === key);
    const isKnown = claim === 'G-single' && isOfOneKey && this.#lostUpdates.has(pair);
    if (!isKnown) super.add(claim, message, proof);
  }
}

/**
 * Counts and keeps write skew only. A cycle of two transactions that missed each other in one key
 * is left out: it has been reported as a lost update.
 */
class WriteSkews extends JudgeFindings<ListProof> {
  override add(claim: string, message: string, proof?: ListProof): void {
    const edges = proof?.edges ?? [];
    const isLostUpdate = edges.length === 2 && edges[0]?.key === edges[1]?.key;
    if (!isLostUpdate) super.add(claim, message, proof);
  }
}

async function readTransactions(
  file: string,
  { ownWritesSeen, onProgress, signal }: JudgeOptions,
): Promise<readonly JepsenTransaction[]> {
  const { size } = await stat(file);
  if (size > BYTES_MAX) {
    throw new UsageError(
      `${file} must have at most 500 MB to be judged as a list-append history, but has ${size} bytes.`,
    );
  }
  const text = await readFile(file, 'utf8');
  const pairing = new Pairing({ ownWritesSeen });
  let count = 0;
  for (const form of readForms(text, { file, isJson: !isEdn(file) })) {
    naming(file, form.line, () => pairing.add(form));
    if (++count % 10_000 !== 0) continue;
    onProgress(pairing.transactions.length);
    signal.throwIfAborted();
  }
  const transactions = pairing.finish();
  if (pairing.operations > 0) return transactions;
  throw new UsageError(`${file} must hold list-append operations, but has none.`);
}

/** A transaction of unknown outcome, or without an end, may still be running. */
function overlapsOf(transactions: readonly JepsenTransaction[]): number {
  const counter = new OverlapCounter();
  for (const { operations, outcome, beganAt, endedAt = Infinity } of transactions) {
    const overAt = outcome === 'info' ? Infinity : endedAt;
    const appends = operations.filter(({ kind }) => kind === 'append');
    for (const key of new Set(appends.map((one) => one.key))) counter.add(key, beganAt, overAt);
  }
  return counter.count();
}

/*
 * Tells the findings of the list-append judge. A cycle is told edge by edge, with the lists that
 * prove each edge, and then as a chain of moments, each before the next, that leads back to its
 * start:
 *
 *     ww, wr, real time   the first had committed before the second began
 *     rw                  the first had begun before the second committed
 */

class ListStories {
  readonly #transactions: readonly JepsenTransaction[];
  readonly #serializable: boolean;
  /** By key: the longest list read, and its reader. */
  readonly #longest = new Map<
    string,
    { readonly list: readonly Element[]; readonly reader: number }
  >();
  /** By key: all elements that were read. */
  readonly #seen = new Map<string, Set<Element>>();

  constructor(
    transactions: readonly JepsenTransaction[],
    { serializable }: { readonly serializable: boolean },
  ) {
    this.#transactions = transactions;
    this.#serializable = serializable;
    for (const [reader, { operations, outcome }] of transactions.entries()) {
      if (outcome !== 'ok') continue;
      for (const { kind, key, elements } of operations) {
        if (kind === 'read') this.#addRead(reader, key, elements);
      }
    }
  }

  /** Transactions of unknown outcome whose writes were read. */
  countSeen(): number {
    const isSeen = ({ operations }: JepsenTransaction): boolean =>
      operations.some(
        ({ kind, key, elements }) =>
          kind === 'append' && elements.some((one) => this.#seen.get(key)?.has(one) === true),
      );
    return this.#transactions.filter((one) => one.outcome === 'info' && isSeen(one)).length;
  }

  tell({ claim, message, proof = { transactions: [] } }: JudgeFinding<ListProof>): Story {
    const edges = this.#joined(proof.edges ?? []);
    const anomaly = anomalyOf(claim.replace(/^: /, ''), edges);
    const keys = new Set([
      ...(proof.key === undefined ? [] : [proof.key]),
      ...edges.flatMap(({ key }) => (key === undefined ? [] : [key])),
    ]);
    const inOrder = [...new Set(proof.transactions)].toSorted((a, b) => a - b);
    return {
      anomaly,
      about: keys.size === 0 ? '' : `key ${[...keys].join(' and key ')}`,
      transactions: inOrder.map((i) => this.#teller(i, keys)),
      why:
        edges.length === 0
          ? [`${message}.`, RULES[anomaly] ?? ''].filter((sentence) => sentence !== '')
          : [...edges.map((edge) => this.#edgeInWords(edge)), this.#chain(edges)],
    };
  }

  #addRead(reader: number, key: string, list: readonly Element[]): void {
    const seen = this.#seen.get(key) ?? new Set();
    this.#seen.set(key, seen);
    for (const element of list) seen.add(element);
    const longest = this.#longest.get(key);
    if (longest === undefined || list.length > longest.list.length) {
      this.#longest.set(key, { list, reader });
    }
  }

  /**
   * The judge's real-time edges go through moments; here they lead from transaction to transaction.
   */
  #joined(edges: readonly ListEdge[]): readonly ListEdge[] {
    const isMoment = (node: number): boolean => node >= this.#transactions.length;
    const first = edges.findIndex(({ from }) => !isMoment(from));
    const joined: ListEdge[] = [];
    let begun = 0;
    for (const edge of [...edges.slice(first), ...edges.slice(0, Math.max(0, first))]) {
      if (!isMoment(edge.from)) begun = edge.from;
      if (!isMoment(edge.to)) joined.push({ ...edge, from: begun });
    }
    return joined;
  }

  #edgeInWords(edge: ListEdge): string {
    const { from, to, kind, key = '', element } = edge;
    const [one, other] = [from, to].map((i) => this.#name(i));
    const arrow = `${one} -${kind}-> ${other}:`;
    const what = JSON.stringify(element);
    const words = {
      ww: () =>
        `${other} appended to ${key} after ${one} had appended ${what}: ${this.#orderOf(key, element)}.`,
      wr: () =>
        `${other} read ${key} as ${this.#readOf(to, key, element)}, and ${one} appended ${what}.`,
      rw: () =>
        `${one} read ${key} as ${this.#readOf(from, key)}, without ${what}, which ${other} appended.`,
      rt: () =>
        `${one} ended before ${other} began (lines ${this.#lines(from).at(-1)} and ${this.#lines(to)[0]}).`,
    };
    return `${arrow} ${words[kind]()}`;
  }

  /** The list that proves which element followed another. */
  #orderOf(key: string, element: Element | undefined): string {
    const longest = this.#longest.get(key);
    const at = longest?.list.indexOf(element ?? '') ?? -1;
    if (longest === undefined || at < 0 || at + 1 >= longest.list.length) {
      return 'an element that no read contains came last';
    }
    const part = longest.list.slice(at, at + 2).map((one) => JSON.stringify(one));
    return `${this.#name(longest.reader)} read ... ${part.join(' ')} ...`;
  }

  /**
   * The list that the transaction read of the key: the first one with `element`, or the first of
   * all.
   */
  #readOf(transaction: number, key: string, element?: Element): string {
    const reads = (this.#transactions[transaction]?.operations ?? []).filter(
      (one) => one.kind === 'read' && one.key === key,
    );
    const read = reads.find(({ elements }) => elements.includes(element ?? '')) ?? reads[0];
    return shownList(read?.elements ?? []);
  }

  #chain(edges: readonly ListEdge[]): string {
    if (edges.every(({ kind }, i) => kind !== 'rw' || edges.at(i - 1)?.kind !== 'rw')) {
      return this.#chainOfMoments(edges);
    }
    const path = [...edges.map(({ from }) => from), edges[0]?.from ?? 0];
    const order = path.map((i) => this.#name(i)).join(' before ');
    const allowed = this.#serializable
      ? ''
      : ` Snapshot isolation allows it: ${this.#whyAllowed(edges)}.`;
    return `One after the other they would be ${order}, so no serial order has this.${allowed}`;
  }

  /** Expects two rw edges in a row. */
  #whyAllowed(edges: readonly ListEdge[]): string {
    if (edges.length === 2) return 'the two that missed each other wrote different keys';
    const second = edges.findIndex(
      ({ kind }, i) => kind === 'rw' && edges.at(i - 1)?.kind === 'rw',
    );
    const [one, other] = [edges.at(second - 1), edges[second]];
    const [first, next, last] = [one?.from, other?.from, other?.to].map((i) => this.#name(i ?? 0));
    return `${first} missed a write of ${next}, and ${next} missed one of ${last}`;
  }

  /** The chain under snapshot isolation; the edges have no two rw in a row. */
  #chainOfMoments(edges: readonly ListEdge[]): string {
    const first = edges.findIndex(({ kind }) => kind !== 'rw');
    const inOrder = [...edges.slice(first), ...edges.slice(0, first)];
    const moments = [`commit(${this.#name(inOrder[0]?.from ?? 0)})`];
    for (const [i, { to, kind }] of inOrder.entries()) {
      if (kind === 'rw') {
        moments.push(`commit(${this.#name(to)})`);
        continue;
      }
      moments.push(`begin(${this.#name(to)})`);
      // The next edge starts at the commit, unless it is an rw, which starts at the beginning.
      if (inOrder[i + 1]?.kind !== 'rw') moments.push(`commit(${this.#name(to)})`);
    }
    return `So ${moments.join(' < ')}: a moment would be before itself.`;
  }

  #teller(index: number, keys: ReadonlySet<string>): StoryTransaction {
    const { name, process, outcome, lines = [], operations = [] } = this.#transactions[index] ?? {};
    const matters = operations.filter(({ key }) => keys.size === 0 || keys.has(key));
    const did = matters.map(({ kind, key, elements }) =>
      kind === 'read'
        ? `read ${key} as ${shownList(elements)}`
        : `appended ${elements.map((one) => JSON.stringify(one)).join(' and ')} to ${key}`,
    );
    const shownMax = 8;
    const others = operations.length - Math.min(did.length, shownMax);
    const more = others > 0 ? [`${others} more`] : [];
    return {
      name: `T${name}`,
      lines,
      heading: `process ${process}, ${outcome}`,
      did: did.slice(0, shownMax).concat(more).join(', '),
    };
  }

  #name(index: number): string {
    return `T${this.#transactions[index]?.name}`;
  }

  #lines(index: number): readonly number[] {
    return this.#transactions[index]?.lines ?? [];
  }
}

const NAMES: Readonly<Record<string, AnomalyName>> = {
  G0: 'write cycle',
  G1a: 'aborted read',
  G1b: 'intermediate read',
  G1c: 'circular information flow',
  'G-single': 'read skew',
  'G-nonadjacent': 'long fork',
  'G2-item': 'write skew',
  'G2-item-realtime': 'write skew',
  'lost update': 'lost update',
  'internal contradiction': 'own write not read',
  'incompatible orders': 'incompatible orders',
  'element appended twice': 'element appended twice',
  'element read twice': 'element read twice',
  'read of an element never appended': 'read of a value that was never written',
};

/**
 * A skew of only two transactions has a more specific name if they have only one key, or if one of
 * them read a write of the other.
 */
function anomalyOf(claim: string, edges: readonly ListEdge[]): AnomalyName {
  const name = NAMES[claim];
  if (name === undefined) return 'stale snapshot'; // A claim about real time.
  const isOfOneKey = edges.every(({ key }) => key === edges[0]?.key);
  if (edges.length !== 2 || (name !== 'read skew' && name !== 'write skew')) return name;
  if (edges.every(({ kind }) => kind !== 'wr')) return isOfOneKey ? 'lost update' : name;
  return isOfOneKey ? 'intermediate read' : 'fractured read';
}

const RULES: Readonly<Partial<Record<AnomalyName, string>>> = {
  'aborted read': 'No transaction may see a write of a failed one.',
  'intermediate read': 'A snapshot contains all writes of a transaction or none.',
  'lost update':
    'Both committed, so neither had seen the other: the second had to fail, because the first committer wins.',
};

/** The relevant part is the end of a list. */
function shownList(elements: readonly Element[]): string {
  const end = elements.slice(-6).map((one) => JSON.stringify(one));
  return `[${elements.length > end.length ? '... ' : ''}${end.join(' ')}]`;
}
