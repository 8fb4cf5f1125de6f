/**
 * A client process that follows the changes of a table.
 *
 * Its cursor is on a disk that survives it: its next life goes on from there. If the changes since
 * then have been collected, or the table was created again, it begins a new section at the present.
 * Each section is judged (judges/changes.ts).
 */
import { hasCode, isRetryable, textOf } from '../../../engine/base/index.ts';
import {
  type ChangeEvent,
  type ChangesOptions,
  decodeCursor,
} from '../../../engine/changes/index.ts';
import type { Percolator } from '../../../engine/percolator.ts';
import { historicCell, type History, judgeChanges, type Violation } from '../judges/index.ts';
import type { ProcessPlan } from './loads.ts';
import type { SimulatedClock } from './process.ts';
import type { Followed, SimulatedRun } from './run.ts';
import type { Transactions } from './transactions.ts';

/** After an error. */
const REST_MS = 20;
const LOOK_MS = 40;
/** Where looks are cut short: a few changes. */
const FEW_BYTES = 500;

export class Follower {
  /** Resolves when it was stopped. */
  readonly ended: Promise<void>;
  readonly #run: SimulatedRun;
  readonly #transactions: Transactions;
  readonly #log: Followed;
  readonly #stopping = new AbortController();

  /** @param opened the database, which may be closed and opened again */
  constructor(
    run: SimulatedRun,
    plan: ProcessPlan,
    {
      clock,
      transactions,
      opened,
    }: {
      readonly clock: SimulatedClock;
      readonly transactions: Transactions;
      readonly opened: () => Promise<Percolator>;
    },
  ) {
    this.#run = run;
    this.#transactions = transactions;
    this.#log = logOf(run, plan);
    this.ended = this.#follow(clock, opened);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ended;
  }

  async #follow(clock: SimulatedClock, opened: () => Promise<Percolator>): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const options = { follow: true, restMsMax: LOOK_MS, signal };
      const isOver = await readOn(await opened(), this.#log, options, (error) => {
        const { knobs } = this.#run.world;
        const canBeStale = knobs.collector || knobs.drops === true;
        if (hasCode(error, 'STALE_SNAPSHOT')) return canBeStale;
        return (
          isRetryable(error) ||
          this.#transactions.isGone(error) ||
          this.#transactions.wasClosed(error)
        );
      });
      if (!isOver) await clock.sleep(REST_MS, signal);
    }
  }
}

function logOf(run: SimulatedRun, plan: ProcessPlan): Followed {
  const { follows = 't' } = plan;
  const known = run.followed.get(plan);
  const bytesMax = follows === 't' ? 2 ** 20 : FEW_BYTES;
  const table = run.world.names.table(follows);
  const log = known ?? { table, bytesMax, sections: [], cursor: undefined };
  run.followed.set(plan, log);
  return log;
}

/** Whether it has come to the end, or was stopped. */
async function readOn(
  percolator: Percolator,
  log: Followed,
  options: ChangesOptions,
  isExpected: (error: unknown) => boolean,
): Promise<boolean> {
  const { cursor: from, bytesMax } = log;
  try {
    for await (const event of percolator.changes(log.table, { ...options, from, bytesMax })) {
      hear(log, event);
    }
    return true;
  } catch (error) {
    if (!isExpected(error)) throw error;
    const isLost = hasCode(error, 'STALE_SNAPSHOT') || hasCode(error, 'TABLE_NOT_FOUND');
    if (isLost) log.cursor = undefined;
    return false;
  }
}

function hear(log: Followed, event: ChangeEvent): void {
  if (log.cursor === undefined) {
    const { stored } = decodeCursor(event.cursor);
    const from = event.kind === 'resolved' ? event.timestamp : 0;
    log.sections.push({ stored, from, resolved: from, changes: [] });
  }
  log.cursor = event.cursor;
  const section = log.sections.at(-1);
  if (section === undefined) throw new Error('the first event begins a section');
  if (event.kind === 'resolved') {
    section.resolved = event.timestamp;
    return;
  }
  const { row, column, value, startTimestamp, commitTimestamp } = event;
  const cell = historicCell({ table: section.stored, row, column });
  const text = value && textOf(value);
  section.changes.push({
    cell,
    startTimestamp,
    commitTimestamp,
    value: text,
    after: section.resolved,
  });
}

/** At the end, when nothing goes wrong any more: the rest of all changes, up to now. */
export async function followToTheEnd(run: SimulatedRun, percolator: Percolator): Promise<void> {
  for (const log of run.followed.values()) {
    const isPast = (error: unknown): boolean => hasCode(error, 'STALE_SNAPSHOT');
    while (!(await readOn(percolator, log, {}, isPast)));
  }
}

export function judgeFollowed({ followed }: SimulatedRun, history: History): readonly Violation[] {
  return judgeChanges(
    [...followed.values()].flatMap(({ sections }) => sections),
    history,
  );
}
