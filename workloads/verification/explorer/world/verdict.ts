/**
 * The verdict on a state: what the judges of the simulator say if everything stops here.
 *
 *     the choices are taken again in a new world ─▶ all processes stop for good
 *       ─▶ a last reader, for which they are dead, reads every cell; a last worker runs the observers
 *       ─▶ snapshot isolation, notifications, locks that are left, the audit
 *
 * So it says what is certain already: whatever is still in flight may never arrive.
 */
import {
  columnOf,
  isOf,
  LOCK,
  NOTIFY,
  notifyTable,
  WEAK,
} from '../../../../engine/transaction/index.ts';
import type { Violation } from '../../judges/history.ts';
import { judgeNotifications } from '../../judges/notifications.ts';
import { judgeSnapshotIsolation } from '../../judges/snapshot-isolation.ts';
import { auditCells } from '../../world/audit-cells.ts';
import { cellOf, type ExplorerScenario, type TaskClient } from '../scenario.ts';
import type { WrittenChoice } from './choice.ts';
import { ExplorerProcess } from './process.ts';
import { ExplorerWorld } from './world.ts';

/** The world after the choices; those that are not possible where they come are passed over. */
export async function replay(
  scenario: ExplorerScenario,
  choices: readonly WrittenChoice[],
): Promise<ExplorerWorld> {
  const world = await ExplorerWorld.open(scenario);
  for (const choice of choices) await world.take(choice);
  return world;
}

/** The violations if everything stops after the choices; none if all is well. */
export async function verdictOf(
  scenario: ExplorerScenario,
  choices: readonly WrittenChoice[],
): Promise<readonly Violation[]> {
  return endAndJudge(await replay(scenario, choices));
}

/** Ends the world: it is of no use afterwards. */
export async function endAndJudge(world: ExplorerWorld): Promise<readonly Violation[]> {
  const { scenario } = world;
  const cells = Object.keys(scenario.initial);
  const written = world.history.transactions.flatMap(({ writes, locks }) => [
    ...writes.map(({ cell }) => cell),
    ...locks,
  ]);
  const debris = world.isAtRest ? locksIn(await world.cells(), 'debris: lock left') : [];
  const endless = await endlessTasks(world);
  await world.end(async (actor) => {
    const client = world.clientOf(actor);
    if (scenario.lastWrites !== undefined) await writeLast(world, client, scenario.lastWrites);
    await client.read(...new Set([...cells, ...written]));
    if (scenario.observers !== undefined) await client.work();
  });
  const { history } = world;
  world.umpire.judgeTraces(history, () => true);
  const stored = await world.cells();
  const observers = scenario.observers ?? [];
  return [
    ...world.violations,
    ...debris,
    ...endless,
    ...world.umpire.violations,
    ...judgeSnapshotIsolation(history),
    ...(observers.length === 0
      ? []
      : judgeNotifications(history, { observers, left: notificationsIn(stored) })),
    ...locksIn(stored, 'progress: lock left'),
    ...(await auditOf(world, stored)),
  ];
}

/** A task that still sends messages after so many, instead of waiting for time, never ends. */
const MESSAGES_MAX = 300;

/** If nothing more goes wrong, and all messages arrive, every task ends or waits for time (P22). */
async function endlessTasks({
  scenario,
  taken,
  actors,
}: ExplorerWorld): Promise<readonly Violation[]> {
  if (!actors.some((actor) => isBusy(actor))) return [];
  const world = await replay(scenario, taken);
  let isMoving = true;
  for (let i = 0; isMoving && i < MESSAGES_MAX && world.actors.some(isBusy); i++) {
    isMoving = await world.take({ kind: 'next', of: 1 });
  }
  return world.actors
    .filter((actor) => isMoving && isBusy(actor))
    .map(({ process }) => ({
      claim: 'progress: no end',
      message: `the task of ${process.name} goes on and on, although all messages arrive`,
    }));
}

function isBusy({ isAtWork, process }: ExplorerWorld['actors'][number]): boolean {
  return isAtWork && process.isAlive && !process.isPaused;
}

/** A lock of the dead must not block a writer forever that reads nothing (P21). */
async function writeLast(world: ExplorerWorld, client: TaskClient, cell: string): Promise<void> {
  for (let attempt = 1; attempt <= 3; attempt++) {
    await client.attempt(async (work) => work.set(cellOf(cell), 'the last value'));
    if (world.transactions.at(-1)?.outcome === 'committed') return;
  }
  world.violations.push({
    claim: 'progress: blind writer starves',
    message: `${cell} cannot be written, although all other processes are dead`,
  });
}

type StoredCells = Awaited<ReturnType<ExplorerWorld['cells']>>;

function locksIn(stored: StoredCells, claim: string): readonly Violation[] {
  return [...stored].flatMap(([row, cells]) =>
    cells
      .filter((cell) => isOf(LOCK, cell))
      .map((lock) => ({
        claim,
        message: `${row}:${columnOf(lock)} is locked by the transaction of ${lock.timestamp}, and no process will resolve that`,
      })),
  );
}

function notificationsIn(stored: StoredCells): readonly string[] {
  return [...stored].flatMap(([row, cells]) =>
    cells
      .filter(({ family }) => family === NOTIFY || family === WEAK)
      .map(
        ({ family, qualifier, timestamp }) =>
          `${family} ${row.replace('.notify/', '/')}:${qualifier}@${timestamp}`,
      ),
  );
}

function auditOf(world: ExplorerWorld, stored: StoredCells): Promise<readonly Violation[]> {
  const { scenario, nextTimestamp, horizon } = world;
  const isCreatedAgain = (table: string): boolean =>
    [...stored.keys()].some((row) => row.startsWith(`${table}.i`));
  const tables = new Map(
    Object.entries(scenario.tables)
      .filter(([table]) => !isCreatedAgain(table))
      .map(([table, { observedColumns = [] }]) => [table, observedColumns]),
  );
  const rows = [...stored]
    .map(([place, cells]) => {
      const slash = place.indexOf('/');
      return { table: place.slice(0, slash), row: place.slice(slash + 1), cells };
    })
    .filter(({ table }) => tables.has(table.replace(notifyTable(''), '')));
  const { clock } = new ExplorerProcess(-1, 'auditor', { nowMs: 0, sleepers: [] });
  return auditCells({ tables, rows, nextTimestamp, horizon, clock });
}
