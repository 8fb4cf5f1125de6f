/**
 * Shrinks a failing run to a small one that fails in the same way, for people to read.
 *
 *     plan ─▶ leave out a process, a fault, another knob, half of a process's transactions, fewer,
 *             one transaction, an operation
 *               └─▶ does it still fail with the same claim? then continue from there: what was tried
 *                   before it is tried again only at the end
 *          ─▶ again, until nothing more can be left out
 *
 * Shrinking works because a draw of chance depends on its purpose, not on the draws before it
 * (chance.ts): the rest of the run mostly happens as before.
 */
import type { ProcessPlan, SimulationPlan, TransactionPlan } from './plan.ts';
import { simulate } from './simulate.ts';

/** How many runs a search may make. */
export const SHRINKING_RUNS_MAX = 2_000;

/**
 * The smallest plan found, in at most `runsMax` runs, whose run breaks the claim. A `signal` that
 * aborts ends the search early; `onRun` hears how many runs there were.
 */
export async function shrink(
  plan: SimulationPlan,
  claim: string,
  {
    runsMax = SHRINKING_RUNS_MAX,
    signal,
    onRun,
  }: {
    readonly runsMax?: number;
    readonly signal?: AbortSignal;
    readonly onRun?: (runs: number) => void;
  } = {},
): Promise<SimulationPlan> {
  let smallest = plan;
  let runs = 0;
  for (let at = 0; ;) {
    const smaller = (await findSmaller(at, Infinity)) ?? (await findSmaller(0, at));
    if (smaller === undefined) return smallest;
    ({ at, plan: smallest } = smaller);
  }

  /** Among the candidates from one to before another. */
  async function findSmaller(
    from: number,
    before: number,
  ): Promise<{ readonly at: number; readonly plan: SimulationPlan } | undefined> {
    let at = -1;
    for (const candidate of candidates(smallest)) {
      at++;
      if (at < from) continue;
      if (at >= before || runs >= runsMax || signal?.aborted === true) return undefined;
      onRun?.(++runs);
      const { violations } = await simulate(candidate);
      if (violations.some((violation) => violation.claim === claim)) return { at, plan: candidate };
    }
    return undefined;
  }
}

/** Smaller plans; those that leave out most come first. */
function* candidates(plan: SimulationPlan): Generator<SimulationPlan> {
  for (const processes of withoutOne(plan.processes)) yield { ...plan, processes };
  for (const messages of withoutOneKey(plan.knobs.messages)) {
    yield { ...plan, knobs: { ...plan.knobs, messages } };
  }
  for (const groups of withoutOneKey(plan.knobs.groups ?? {})) {
    yield { ...plan, knobs: { ...plan.knobs, groups } };
  }
  for (const events of withoutOneKey(plan.knobs.events)) {
    yield { ...plan, knobs: { ...plan.knobs, events } };
  }
  yield* simplerKnobs(plan);
  for (const [i, process] of plan.processes.entries()) {
    for (const smaller of smallerProcesses(process)) {
      yield { ...plan, processes: plan.processes.with(i, smaller) };
    }
  }
}

function* simplerKnobs(plan: SimulationPlan): Generator<SimulationPlan> {
  const { knobs } = plan;
  if (plan.observerFailures > 0) yield { ...plan, observerFailures: 0 };
  if (knobs.skewMs > 0) yield { ...plan, knobs: { ...knobs, skewMs: 0 } };
  const simpler = [
    'drift',
    'names',
    'hangs',
    'batching',
    'prefetch',
    'scanLocks',
    'stopsAtWaits',
  ] as const;
  for (const knob of simpler) {
    if (knobs[knob]) yield { ...plan, knobs: { ...knobs, [knob]: undefined } };
  }
  if (knobs.oracleProcesses) yield { ...plan, knobs: { ...knobs, oracleProcesses: false } };
  if (knobs.firstTimestamp > 1) yield { ...plan, knobs: { ...knobs, firstTimestamp: 1 } };
  if (knobs.rangeSize < 1_000_000) yield { ...plan, knobs: { ...knobs, rangeSize: 1_000_000 } };
}

function* smallerProcesses(process: ProcessPlan): Generator<ProcessPlan> {
  const { transactions } = process;
  for (let size = Math.max(1, transactions.length >> 1); size >= 1; size >>= 1) {
    for (let start = 0; start < transactions.length; start += size) {
      yield { ...process, transactions: transactions.toSpliced(start, size) };
    }
  }
  if (process.worker) yield { ...process, worker: false };
  if (process.concurrency > 1) yield { ...process, concurrency: 1 };
  for (const [i, transaction] of transactions.entries()) {
    for (const smaller of smallerTransactions(transaction)) {
      yield { ...process, transactions: transactions.with(i, smaller) };
    }
  }
}

function* smallerTransactions(transaction: TransactionPlan): Generator<TransactionPlan> {
  const { operations } = transaction;
  if (operations.length === 1) return;
  for (const fewer of withoutOne(operations)) yield { ...transaction, operations: fewer };
}

function* withoutOne<T>(items: readonly T[]): Generator<readonly T[]> {
  for (const i of items.keys()) yield items.toSpliced(i, 1);
}

function* withoutOneKey<T extends object>(object: T): Generator<T> {
  for (const key of Object.keys(object)) {
    yield Object.fromEntries(Object.entries(object).filter(([other]) => other !== key)) as T;
  }
}

/* The story of a run: which process did what, in order, in virtual time, one line per event. */

/** The run from its beginning to its end, then its violations. */
export async function tellStory(plan: SimulationPlan): Promise<readonly string[]> {
  const lines: string[] = [];
  const { violations } = await simulate(plan, {
    tell: (timeMs, who, what) => {
      lines.push(`${String(timeMs).padStart(6)} ms  ${who}: ${what}`);
    },
  });
  return [...lines, ...violations.map(({ claim, message }) => `${claim}: ${message}`)];
}
