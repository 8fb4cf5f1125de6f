/**
 * The judge of durations: how long an operation takes in virtual time, when nothing goes wrong any
 * more, and what is in its way was left by a process that has died.
 *
 *     a process locks several rows ─▶ dies, and no service says so ─▶ the last client scans them
 *
 * Other judges see only that an operation ends, and with which result. An engine that waits for
 * each dead lock in turn passes them all, and its users wait for minutes (P80). So does one that
 * tries a hundred times to reach a storage that is gone, and waits for a deadline each time (P79).
 */
import { hasCode } from '../../../engine/base/index.ts';
import type { Percolator } from '../../../engine/percolator.ts';
import { Client } from './client.ts';
import type { TransactionPlan } from './plan.ts';
import type { Run } from './run.ts';
import { leftLocks } from './storage.ts';

/** Each transaction of the doomed process writes these cells; all their rows differ. */
const WRITTEN: readonly (readonly string[])[] = [
  ['t/a:c', 'u/a:c'],
  ['t/b:c', 'u/e:c'],
  ['t/c:c', 't/a:d'],
];
/** Far more than an honest scan needs, one after another: reads, looks at primaries, rollbacks. */
const ROUND_TRIPS = 40;
/** In times to live: one for all locks, the part of one before a scan looks ahead, slow clocks. */
const TIMES_TO_LIVE = 1.2;
/** For how many deadlines of a message a caller goes on trying: far fewer than it may try times. */
const UNANSWERED_DEADLINES = 20;
/** More than the last attempt takes, in which both oracles are asked several times. */
const ATTEMPT_DEADLINES = 40;
/** If no locks are left by then, the process was too fast: there is nothing to judge. */
const LOCKING_MS_MAX = 1_000;

/** Judges how long two scans of what a dead process has locked take. */
export async function judgeDurations(
  run: Run,
  { transactions, clock }: Client,
  percolator: Percolator,
): Promise<void> {
  const { timeline, knobs, umpire } = run.world;
  await leaveLocks(run);
  await clock.sleep(2 * knobs.delayMsMax + 1); // What it has sent arrives, or is rolled back.
  const beganMs = timeline.nowMs;
  const scans = (['t', 'u'] as const).map((table) => ({ do: 'scan', table }) as const);
  await transactions.snapshot(percolator, scans);
  const tookMs = timeline.nowMs - beganMs;
  const { batching, lockTimeToLiveMs } = knobs;
  const tripMs = 2 * knobs.delayMsMax + (batching?.delayMs ?? 0);
  const mayTakeMs = TIMES_TO_LIVE * lockTimeToLiveMs + ROUND_TRIPS * tripMs;
  if (tookMs <= mayTakeMs) return;
  const message = `two scans of what a dead process has locked took ${tookMs} ms, more than ${mayTakeMs} (time to live ${lockTimeToLiveMs})`;
  umpire.find('durations: dead locks in turn', message);
}

/**
 * Judges how long a caller waits for its error when nothing answers any more or, in every other
 * run, when the storage alone does not answer.
 */
export async function judgeSilence(run: Run): Promise<void> {
  const { world } = run;
  const { timeline, knobs, umpire } = world;
  const unansweredMsMax = UNANSWERED_DEADLINES * knobs.deadlineMs;
  const plan = { transactions: [], concurrency: 1, worker: false };
  const names = { name: 'patient', id: 100_001, life: 1 };
  const client = new Client(run, plan, names, unansweredMsMax);
  const percolator = await client.open();
  world.silent = world.seed % 2 === 0 ? 'storage' : 'all';
  const beganMs = timeline.nowMs;
  const cell = { table: world.names.table('t'), row: 'a', column: 'c' };
  const error = await percolator
    .transact((transaction) => transaction.get(cell))
    .catch((rejected: unknown) => rejected);
  const tookMs = timeline.nowMs - beganMs;
  world.silent = undefined;
  client.process.kill();
  if (!hasCode(error, 'STORE_UNAVAILABLE')) {
    umpire.find('durations: silence', `no answer at all is told as ${String(error)}`);
  }
  const mayTakeMs = unansweredMsMax + ATTEMPT_DEADLINES * knobs.deadlineMs;
  if (tookMs <= mayTakeMs) return;
  const message = `a caller heard after ${tookMs} ms, more than ${mayTakeMs}, that nothing answers (deadline ${knobs.deadlineMs})`;
  umpire.find('durations: silence', message);
}

/** A process dies while several of its transactions hold locks. No service says so. */
async function leaveLocks(run: Run): Promise<void> {
  const { world } = run;
  const plan = { transactions: [], concurrency: 1, worker: false };
  const doomed = new Client(run, plan, { name: 'doomed', id: 100_000, life: 1 });
  const percolator = await doomed.open();
  for (const cells of WRITTEN) {
    const operations = cells.map((cell) => ({ do: 'set', cell }) as const);
    const transaction: TransactionPlan = { kind: 'begin', operations };
    void doomed.transactions.perform(percolator, transaction);
  }
  const untilMs = world.timeline.nowMs + LOCKING_MS_MAX;
  const rows = WRITTEN.map(([cell = '']) => world.names.historic(cell));
  const isLocked = (cell: string): boolean =>
    leftLocks(world).some((lock) => lock.startsWith(`${cell}@`));
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (world.timeline.nowMs < untilMs && !rows.every(isLocked)) world.timeline.after(1, look);
      else resolve();
    };
    look();
  });
  doomed.process.kill();
  run.liveness.forget();
}
