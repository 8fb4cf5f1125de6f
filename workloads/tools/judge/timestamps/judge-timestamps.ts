/**
 * Judges a history with timestamps, of any store with snapshot isolation (docs/judge.md describes
 * the file).
 *
 *   1. Read the file into a history for the judge (collect.ts).
 *   2. Judge it with the judge of this project's engine: it compares every read with the newest
 *      version committed at or below the start, every writer with the one before it, and checks
 *      real time if that counts.
 *   3. Tell the stories of the findings.
 */
import {
  JudgeFindings,
  judgeSnapshotIsolation,
  type TimestampProof,
} from '../../../verification/judges/index.ts';
import { UsageError } from '#results';
import type { Story, StoryTransaction } from '../anomalies.ts';
import { forEachLine } from '../lines.ts';
import type { JudgeOptions, HistoryVerdict } from '../verdict.ts';
import { OverlapCounter } from '../overlap.ts';
import { type CollectedHistory, Collector } from './collect.ts';
import { type Draft, locksOnly } from './cells.ts';
import { KnownHistory, shown } from './known-history.ts';
import { ownPlot, type Plot, plotOf } from './plots.ts';
import { parseTransaction, type TimestampedTransaction } from './transaction.ts';
import { firstAbove } from './unknown.ts';

/** The maximum number of different operations that a story tells of a transaction. */
const DID_MAX = 8;

export async function judgeTimestamps(
  file: string,
  options: JudgeOptions,
): Promise<HistoryVerdict> {
  const { strict, ownWritesSeen, keepMax } = options;
  const collector = new Collector({ ownWritesSeen });
  const times = new Times();
  let operations = 0;
  await forEachLine(
    file,
    ({ text, number }) => {
      const transaction = parseTransaction(text);
      operations += transaction.operations.length;
      times.check(transaction, number);
      collector.add(transaction, number);
      if (collector.drafts.length % 10_000 === 0) options.onProgress(collector.drafts.length);
    },
    options.signal,
  );
  refuseIncomplete(file, { collector, times, strict });
  if (operations === 0) {
    throw new UsageError(`${file} must hold transactions with operations, but none has any.`);
  }
  const { drafts } = collector;
  const ends = Float64Array.from(drafts, ({ endedAt, beganAt }) => endedAt ?? beganAt);
  const collected = collector.finish(strict);
  const own = collected.own.slice(0, keepMax);
  const findings = new WithoutEqualSnapshots(collected, keepMax - own.length);
  judgeSnapshotIsolation(collected.history, findings);
  const reads = drafts.reduce((sum, draft) => sum + draft.reads.length, collector.ownReads);
  const count = (outcome: Draft['outcome']): number =>
    drafts.filter((draft) => draft.outcome === outcome).length;
  return {
    format: 'timestamps',
    transactions: drafts.length,
    ok: count('committed'),
    fail: count('failed'),
    info: count('unknown'),
    infoSeen: collected.unknownSeen,
    keys: collector.cells.count,
    reads,
    readsNotJudged: collected.readsNotJudged,
    overlappingWriters: times.areComplete
      ? overlapsOf(drafts, (i) => drafts[i]?.beganAt ?? 0, ends)
      : overlapsOf(drafts, (i) => collected.positions.starts[i] ?? 0, collected.commits),
    found: [...findings.counts.values()].reduce((sum, one) => sum + one, collected.own.length),
    stories: storiesOf(collector, { ...collected, own }, findings),
    allowed: [],
    allowedFound: 0,
  };
}

function refuseIncomplete(
  file: string,
  { collector, times, strict }: { collector: Collector; times: Times; strict: boolean },
): void {
  if (collector.drafts.length === 0) {
    throw new UsageError(`${file} must hold one transaction per line, but is empty.`);
  }
  if (collector.lineWithoutValue !== undefined) {
    throw new UsageError(
      `${file}, line ${collector.lineWithoutValue}: a write must have a "value", unless the reads of the file have a "version".`,
    );
  }
  if (strict && times.lineWithout !== undefined) {
    throw new UsageError(
      `${file}, line ${times.lineWithout}: a transaction must have "begin", and "end" unless its outcome is "info", ` +
        'for real time to count, as in --model strong-snapshot-isolation.',
    );
  }
}

/**
 * Leaves out real-time findings about two snapshots without a commit between them: they are the
 * same snapshot. This project's oracle never goes backwards, but other stores' read timestamps may.
 */
export class WithoutEqualSnapshots extends JudgeFindings<TimestampProof> {
  readonly #collected: CollectedHistory;
  /** By start position: the newest commit that the transaction made, or has in its snapshot. */
  #newest: Float64Array | undefined;

  constructor(collected: CollectedHistory, keepMax: number) {
    super('', keepMax);
    this.#collected = collected;
  }

  override add(claim: string, message: string, proof?: TimestampProof): void {
    if (claim !== 'real time' || this.#differ(proof?.transactions)) {
      super.add(claim, message, proof);
    }
  }

  #differ([ended = 0, begun = 0]: readonly number[] = []): boolean {
    this.#newest ??= newestCommits(this.#collected);
    return (this.#newest[ended] ?? 0) > begun;
  }
}

function newestCommits({ positions: { starts, last }, commits }: CollectedHistory): Float64Array {
  const sorted = commits.toSorted();
  const newest = new Float64Array(last + 1);
  for (const [i, start] of starts.entries()) {
    const seen = sorted[firstAbove(sorted, start) - 1] ?? 0;
    newest[start] = Math.max(seen, commits[i] ?? 0);
  }
  return newest;
}

/** Tracks which transactions tell the real times of their beginnings and ends. */
class Times {
  /** The first line without them. */
  lineWithout: number | undefined;

  get areComplete(): boolean {
    return this.lineWithout === undefined;
  }

  check({ begin, end, outcome }: TimestampedTransaction, line: number): void {
    const isComplete = begin !== undefined && (end !== undefined || outcome === 'info');
    if (!isComplete) this.lineWithout ??= line;
  }
}

/**
 * @param ends not above the beginning for a transaction that is only known to have run then
 */
function overlapsOf(
  drafts: readonly Draft[],
  beginOf: (index: number) => number,
  ends: Float64Array,
): number {
  const counter = new OverlapCounter();
  for (const [i, draft] of drafts.entries()) {
    const begin = beginOf(i);
    const end = Math.max(begin, ends[i] ?? 0);
    for (const { cell } of draft.writes) counter.add(cell, begin, end);
    for (const cell of locksOnly(draft)) counter.add(cell, begin, end);
  }
  return counter.count();
}

function storiesOf(
  collector: Collector,
  collected: CollectedHistory,
  findings: JudgeFindings<TimestampProof>,
): readonly Story[] {
  const { own, positions } = collected;
  if (findings.kept.length + own.length === 0) return [];
  const about = findings.kept.flatMap(({ proof }) => proof?.transactions ?? []);
  const ownAbout = own.map(({ transaction }) => positions.starts[transaction] ?? 0);
  const history = new KnownHistory(collector, collected, [...about, ...ownAbout]);
  const plots = findings.kept.map(({ claim, proof = { transactions: [] } }) =>
    plotOf(claim.replace(/^: /, ''), proof, history),
  );
  const ownPlots = own.map((one) => ownPlot(one, history));
  return [...ownPlots, ...plots].map((plot) => storyOf(plot, history));
}

function storyOf({ anomaly, cells, transactions, why }: Plot, history: KnownHistory): Story {
  const inOrder = [...new Set(transactions)].toSorted(
    (a, b) => history.draft(a).startTimestamp - history.draft(b).startTimestamp,
  );
  const about = cells.length === 0 ? '' : `key ${cells.join(' and key ')}`;
  return { anomaly, about, transactions: inOrder.map((i) => tellerOf(i, cells, history)), why };
}

function tellerOf(
  index: number,
  cells: readonly string[],
  history: KnownHistory,
): StoryTransaction {
  const { process, outcome, reads, writes, locks } = history.draft(index);
  const commit = history.commit(index);
  const ends = {
    committed: commit === undefined ? 'committed' : `committed at ${commit}`,
    failed: 'failed',
    unknown: 'outcome unknown',
  };
  const matters = ({ cell }: { readonly cell: string }): boolean =>
    cells.length === 0 || cells.includes(cell);
  const did = [
    ...reads.filter(matters).map((read) => `read ${shown(read)}`),
    ...writes
      .filter(matters)
      .map((one) => (one.value === undefined ? `deleted ${one.cell}` : `wrote ${shown(one)}`)),
    ...locks.filter((cell) => matters({ cell })).map((cell) => `locked ${cell}`),
  ];
  const by = process === '' ? '' : `process ${process}, `;
  return {
    name: history.name(index),
    lines: [history.line(index)],
    heading: `${by}began at ${history.start(index)}, ${ends[outcome]}`,
    did: shortened(did, reads.length + writes.length + locks.length),
  };
}

/**
 * The first few texts, each once, and the number of all other operations.
 * @param operations how many the transaction did, also those that `did` lacks
 */
function shortened(did: readonly string[], operations: number): string {
  const told = new Set([...new Set(did)].slice(0, DID_MAX));
  const others = operations - did.filter((text) => told.has(text)).length;
  return [...told, ...(others > 0 ? [`${others} more`] : [])].join(', ');
}
