/**
 * The judge of the end of a story. Before anything else:
 *
 *   - if nothing went wrong and no process was presumed dead, no lock is left (P7, P16)
 *
 * Then a last reader, for which all other processes are dead, reads every cell. After that:
 *
 *   - the last reader has finished, and no lock is left
 *   - no client saw or was told anything that snapshot isolation forbids
 *   - the answers of `outcomeOf` are the actual outcomes of the transactions
 *   - no assertion of the engine has failed
 *   - every change of an observed column has its notification, at its commit timestamp (P40, P41)
 *   - an audit reports no error
 */
import type { Cell } from '../../../engine/bigtable/index.ts';
import { columnOf, isOf, LOCK, NOTIFY, notifyTable } from '../../../engine/transaction/index.ts';
import {
  addressOf,
  type HistoricTransaction,
  type History,
  type Violation,
} from '../judges/history.ts';
import { judgeSnapshotIsolation } from '../judges/snapshot-isolation.ts';
import { VirtualClock } from '../../../engine/testing/virtual-clock.ts';
import { auditCells } from '../world/audit-cells.ts';
import type { ClientObservations } from './live-process.ts';
import type { LocalState } from './local-states.ts';
import type { Budget } from './scenarios.ts';
import { take, type WorldRules, type WorldState } from './world-state.ts';

export interface EndingRules extends WorldRules {
  /** The last reader, before it has begun. */
  readonly lastReader: LocalState;
  /** The transactions committed before the story began. */
  readonly past: readonly HistoricTransaction[];
  readonly observed: readonly string[];
  /** How many faults of each kind a story may have. */
  readonly budget: Budget;
}

/** A reader that has not finished after this many messages never will. */
const MESSAGES_MAX = 1_000;

/** It remembers its verdicts, so that equal endings are judged once. */
export class EndingJudge {
  readonly #rules: EndingRules;
  readonly #judged = new Map<string, readonly Violation[]>();
  readonly #audited = new Map<string, readonly Violation[]>();

  constructor(rules: EndingRules) {
    this.#rules = rules;
  }

  /** @param world the end of a story: no process is at work in it */
  async judge(world: WorldState): Promise<readonly Violation[]> {
    // The key leaves out messages in flight and the faults left: neither happens any more.
    const { rows, processes, nextTimestamp } = world;
    const key = [nextTimestamp, ...rows, ...processes]
      .map((one) => (typeof one === 'number' ? one : one.id))
      .join(' ');
    const known = this.#judged.get(key);
    if (known !== undefined) return known;
    const violations = await this.#judge(world);
    this.#judged.set(key, violations);
    return violations;
  }

  /**
   * If nothing went wrong and no process was presumed dead, every process has removed its locks.
   */
  judgeDebris({ rows, left }: WorldState): readonly Violation[] {
    const { budget, suspicion } = this.#rules;
    const isCalm = left === budget && suspicion === 'crashed'; // Each fault replaces `left`.
    return isCalm ? this.#locksIn(rows, 'debris', 'nothing went wrong') : [];
  }

  async #judge(world: WorldState): Promise<readonly Violation[]> {
    const after = await this.#readAll(world);
    const { rows, processes } = after;
    const observed = processes.map((state) => state.observations);
    const history: History = {
      transactions: [...this.#rules.past, ...observed.flatMap(({ transactions }) => transactions)],
      records: rows.flatMap(({ records }) => records),
      rollbacks: rows.flatMap(({ rollbacks }) => rollbacks),
    };
    return [
      ...observed.flatMap(judgeError),
      ...judgeSnapshotIsolation(history),
      ...observed.flatMap((one) => judgeOutcomes(one, history)),
      ...this.#locksIn(rows, 'progress', 'everything has been read'),
      ...this.#judgeMarks(after),
      ...(processes.at(-1)?.phase === 'finished' ? [] : [NEVER_READ]),
      ...(await this.#audit(after)),
    ];
  }

  /** The world after the last reader. */
  async #readAll(world: WorldState): Promise<WorldState> {
    const { lastReader } = this.#rules;
    const process = world.processes.length;
    const dead = (1 << process) - 1;
    let at: WorldState = { ...world, dead, processes: [...world.processes, lastReader] };
    for (let messages = 0; messages < MESSAGES_MAX; messages++) {
      const pending = at.processes[process]?.pending[0];
      if (pending === undefined) break;
      at = (await take(this.#rules, at, { kind: 'deliver', process, pending })) ?? at;
    }
    return at;
  }

  #locksIn(rows: WorldState['rows'], claim: string, reason: string): readonly Violation[] {
    return rows.flatMap(({ cells }, i) =>
      cells
        .filter((cell) => isOf(LOCK, cell))
        .map((lock) => ({
          claim: `${claim}: lock left`,
          message: `${this.#rules.rowNames[i]}:${columnOf(lock)} is locked by the transaction of ${lock.timestamp}, although ${reason}`,
        })),
    );
  }

  /** No observers run here, so notifications stay. */
  #judgeMarks({ rows }: WorldState): readonly Violation[] {
    const { rowNames, observed } = this.#rules;
    return rows
      .flatMap(({ records }) => records)
      .filter(({ cell, operation, commitTimestamp }) => {
        const { table, row, column } = addressOf(cell);
        if (operation === 'touch' || !observed.includes(column)) return false;
        const notifications = rows[rowNames.indexOf(`${notifyTable(table)}/${row}`)]?.cells ?? [];
        const isNotification = (one: Cell): boolean =>
          one.family === NOTIFY && one.qualifier === column && one.timestamp === commitTimestamp;
        return !notifications.some(isNotification);
      })
      .map(({ cell, commitTimestamp }) => ({
        claim: 'notifications: lost',
        message: `${cell} was changed at ${commitTimestamp}, and there is no notification of it`,
      }));
  }

  async #audit(world: WorldState): Promise<readonly Violation[]> {
    const key = [world.nextTimestamp, ...world.rows.map(({ id }) => id)].join(' ');
    const known = this.#audited.get(key);
    if (known !== undefined) return known;
    const violations = await auditRows(this.#rules, world);
    this.#audited.set(key, violations);
    return violations;
  }
}

const NEVER_READ: Violation = {
  claim: 'progress: never read',
  message: 'the last reader, for which all other processes were dead, did not finish',
};

function judgeError({ error, process }: ClientObservations): readonly Violation[] {
  if (error === undefined) return [];
  return [{ claim: 'engine: error', message: `${process} failed with ${error}` }];
}

function judgeOutcomes(
  { outcomes }: ClientObservations,
  { records }: History,
): readonly Violation[] {
  const committed = new Set(records.map(({ startTimestamp }) => startTimestamp));
  return outcomes
    .filter(
      ({ startTimestamp, outcome }) => (outcome === 'committed') !== committed.has(startTimestamp),
    )
    .map(({ startTimestamp, outcome }) => ({
      claim: 'outcome: wrong answer',
      message: `outcomeOf said that the transaction of ${startTimestamp} was ${outcome}`,
    }));
}

function auditRows(
  { rowNames, observed }: EndingRules,
  { rows, nextTimestamp }: WorldState,
): Promise<readonly Violation[]> {
  const placed = rows.map(({ cells }, i) => {
    const [table = '', row = ''] = (rowNames[i] ?? '').split('/');
    return { table, row, cells };
  });
  const users = placed.map(({ table }) => table).filter((table) => !table.endsWith('.notify'));
  return auditCells({
    tables: new Map(users.map((table) => [table, observed])),
    rows: placed,
    nextTimestamp,
    horizon: 0,
    clock: new VirtualClock(),
  });
}
