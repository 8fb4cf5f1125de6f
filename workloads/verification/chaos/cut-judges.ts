/**
 * What cuts must not do, judged from the histories of a round:
 *
 *     an oracle hands out nothing after its lease   in the order of time, timestamps only grow,
 *                                                   whichever oracle was asked
 *     what is cut off makes no progress             a client that was asked to begin during the
 *                                                   cut, and cannot reach an oracle or its store,
 *                                                   has committed nothing before the heal
 *     and says so                                   a call of it failed, with a code that says that no
 *                                                   answer came (`NO_ANSWER`)
 *
 * All times are of one clock, that of the machine.
 */
import type { ErrorCode, Timestamp } from '#engine';
import type { Violation } from '../judges/index.ts';
import type { RecordedTransaction } from '../invariants/index.ts';
import { ORACLE_LEASE_MS } from './plan.ts';

/** What an oracle has answered. */
export interface Witnessed {
  readonly askedAt: number;
  readonly at: number;
  readonly timestamp: Timestamp;
}

/** A call that failed with an error of which a user would hear, too. */
export interface Refusal {
  /** The life of a process. */
  readonly process: string;
  readonly at: number;
  readonly code: ErrorCode;
}

/** A cut, when it is over. */
export interface PastCut {
  readonly what: string;
  /** From when all of it was cut, and when it began to be healed. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Slots of clients that could reach no oracle, or not the store. */
  readonly stalled: readonly string[];
  /** The slot that was killed or stopped meanwhile: a process that stands still says nothing. */
  readonly hit: string | undefined;
}

export interface CutHistory {
  readonly cuts: readonly PastCut[];
  readonly transactions: readonly RecordedTransaction[];
  readonly witnessed: readonly Witnessed[];
  readonly refusals: readonly Refusal[];
}

/** An answer that was on its way when the cut began may still be taken from the socket. */
const ON_THE_WAY_MS = 100;
/** A client says that it is cut off at the latest so long after (`ORACLE_MS_MAX`, and a pause). */
export const SAYS_SO_MS: number = 6 * ORACLE_LEASE_MS;
/**
 * The codes of calls that got no answer. A conflict is none of them: it says that the store, and
 * the oracle, were reached.
 */
const NO_ANSWER: ReadonlySet<ErrorCode> = new Set([
  'STORE_UNAVAILABLE',
  'STORE_IN_DOUBT',
  'COMMIT_UNKNOWN',
]);
/** How long after the heal a call that was stuck may still fail. */
const LATE_MS = 15_000;

export function judgeCuts(history: CutHistory): readonly Violation[] {
  return [
    ...judgeTimestamps(history),
    ...history.cuts.flatMap((cut) => [
      ...judgeProgress(cut, history),
      ...judgeSaying(cut, history),
    ]),
  ];
}

/** An answer that came before another one was asked for is smaller, whichever oracle gave it. */
export function judgeTimestamps({
  transactions,
  witnessed,
}: Pick<CutHistory, 'transactions' | 'witnessed'>): readonly Violation[] {
  const began = transactions
    .filter(({ past, run }) => past !== true && run === undefined)
    .map(({ beganAt, sentAt, endedAt, startTimestamp }) => ({
      askedAt: beganAt,
      at: sentAt ?? endedAt ?? Infinity,
      timestamp: startTimestamp,
    }));
  const answers = [...witnessed, ...began];
  const byEnd = answers.toSorted((a, b) => a.at - b.at);
  let next = 0;
  let largest: Witnessed | undefined;
  const violations: Violation[] = [];
  for (const answer of answers.toSorted((a, b) => a.askedAt - b.askedAt)) {
    for (; (byEnd[next]?.at ?? Infinity) < answer.askedAt; next++) {
      const ended = byEnd[next];
      if (ended !== undefined && ended.timestamp > (largest?.timestamp ?? -1)) largest = ended;
    }
    if (largest === undefined || largest.timestamp < answer.timestamp) continue;
    const message = `${answer.timestamp} was asked for ${(answer.askedAt - largest.at).toFixed(1)} ms after ${largest.timestamp} had been received`;
    violations.push({ claim: 'oracle: timestamps grow in the order of time', message });
  }
  return violations;
}

function judgeProgress(cut: PastCut, { transactions }: CutHistory): readonly Violation[] {
  return transactions
    .filter(
      ({ process, beganAt, endedAt, outcome, past, run }) =>
        cut.stalled.includes(slotOf(process)) &&
        outcome === 'committed' &&
        past !== true &&
        run === undefined &&
        beganAt > cut.fromMs + ON_THE_WAY_MS &&
        endedAt !== undefined &&
        endedAt < cut.untilMs,
    )
    .map(({ process, startTimestamp }) => ({
      claim: 'cuts: what is cut off makes no progress',
      message: `${process} began and committed ${startTimestamp} while it was cut off (${cut.what})`,
    }));
}

function judgeSaying(cut: PastCut, history: CutHistory): readonly Violation[] {
  if (cut.untilMs - cut.fromMs < SAYS_SO_MS) return [];
  const said = new Set(
    unansweredCalls(history)
      .filter(({ at }) => at > cut.fromMs && at < cut.untilMs + LATE_MS)
      .map(({ process }) => slotOf(process)),
  );
  return cut.stalled
    .filter((slot) => slot !== cut.hit && !said.has(slot))
    .map((slot) => ({
      claim: 'cuts: what is cut off says so',
      message: `no call of process ${slot} failed for want of an answer while it was cut off for ${Math.round(cut.untilMs - cut.fromMs)} ms (${cut.what})`,
    }));
}

/** Calls that failed for want of an answer, and parts of transactions that did. */
export function unansweredCalls({
  refusals,
  transactions,
}: Pick<CutHistory, 'refusals' | 'transactions'>): readonly Refusal[] {
  const ofTransactions = transactions.map(({ process, code, endedAt, sentAt }) => ({
    process,
    code,
    at: endedAt ?? sentAt ?? -Infinity,
  }));
  return [...refusals, ...ofTransactions].filter(
    (one): one is Refusal => one.code !== undefined && NO_ANSWER.has(one.code),
  );
}

/** The slot of a life, such as `2` of `2.17`. */
function slotOf(life: string): string {
  return life.split('.', 1)[0] ?? '';
}
