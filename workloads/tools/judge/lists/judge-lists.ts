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
import { Findings, judgeListAppend, type ListProof } from '../../../verification/judges/index.ts';
import { UsageError } from '#results';
import { isEdn } from '../kind.ts';
import { naming } from '../lines.ts';
import { OverlapCounter } from '../overlap.ts';
import type { JudgeOptions, Verdict } from '../verdict.ts';
import { readForms } from './edn-reader.ts';
import { type JepsenTransaction, Pairing } from './operations.ts';
import { ListStories } from './stories.ts';

/** A JavaScript string cannot be much larger. */
const BYTES_MAX = 500_000_000;

export async function judgeLists(file: string, options: JudgeOptions): Promise<Verdict> {
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
function countOf({ counts }: Findings<ListProof>): number {
  return [...counts.values()].reduce((sum, one) => sum + one, 0);
}

/**
 * Leaves out a cycle of two transactions of which one missed and overwrote what the other had
 * written to one key, if it has been reported as their lost update.
 */
class Violations extends Findings<ListProof> {
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
class WriteSkews extends Findings<ListProof> {
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
