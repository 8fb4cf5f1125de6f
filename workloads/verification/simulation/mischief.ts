/**
 * Observers that misbehave on purpose, in some runs, and what the others are still owed. It
 * is judged when all transactions of the plan have ended and nothing else goes wrong any more,
 * while the misbehaviour goes on:
 *
 *     hang     every run for a column hangs ─▶ changes of all other columns are seen (P82)
 *     loop     an observer writes its own cell forever ─▶ a worker reports it, until it stops (P83)
 *     differ   one worker has one observer more ─▶ it and the others report it, until it stops (P72)
 *
 * In all other runs no worker may report the latter two, however little observers and leases get to
 * run.
 */
import { isRetryable, type WarningKind } from '../../../engine/base/index.ts';
import type { SimulatedClient } from './client.ts';
import type { Mischief } from './knobs.ts';
import { isStrange } from './observers.ts';
import { MISCHIEF_COLUMNS, OBSERVED_CELLS } from './plan.ts';
import type { SimulatedRun } from './run.ts';
import { leftNotifications } from './storage.ts';

/** More rows than places of a worker, and than its queue may have before scans wait for room. */
const ROWS = 12;
/** Milliseconds of virtual time between two looks. */
const LOOK_MS = 20;

/** What the simulation does for mischief. */
export interface Watchers {
  /** The clients of the plan. */
  readonly clients: readonly SimulatedClient[];
  /** Runs on until it holds; otherwise the run is stuck, which is a violation. */
  until(isOver: () => boolean, what: string): Promise<void>;
  await(work: Promise<unknown>, what: string): Promise<void>;
}

/** To be called in peace, with all clients alive. At the end there is no mischief any more. */
export async function judgeMischief(run: SimulatedRun, watchers: Watchers): Promise<void> {
  const { mischief } = run.world.knobs;
  const working = watchers.clients.filter(({ worker }) => worker !== undefined);
  if (mischief !== undefined && working.length > 0) await JUDGES[mischief](run, watchers, working);
  run.isMischievous = false;
  if (mischief !== 'loop') return;
  await when(run, watchers, 'the warning of a loop to be over', () => !reports(working, 'loop'));
}

type Judge = (
  run: SimulatedRun,
  watchers: Watchers,
  working: readonly SimulatedClient[],
) => Promise<void>;

const JUDGES: Readonly<Record<Mischief, Judge>> = {
  hang: async (run, watchers, working) => {
    // Another process than those that hang, if there is one: then only a scan finds the changes.
    const other = watchers.clients.find(({ worker }) => worker === undefined) ?? working.at(-1);
    const column = run.world.names.column(MISCHIEF_COLUMNS.hang);
    const cells = Array.from({ length: ROWS }, (_, i) => mischiefCell('hang', i));
    await write(watchers, working[0], cells);
    await write(watchers, other, OBSERVED_CELLS);
    await when(run, watchers, 'observers that do not hang to see all changes', () =>
      leftNotifications(run.world).every((notification) => notification.includes(`:${column}@`)),
    );
  },
  loop: async (run, watchers, working) => {
    await write(watchers, working[0], [mischiefCell('loop')]);
    await when(run, watchers, 'a loop to be reported', () => reports(working, 'loop'));
  },
  differ: async (run, watchers, working) => {
    const [strange, ...others] = working;
    if (strange === undefined || others.length === 0) return;
    if (!isStrange(run, strange.process.name)) return;
    await when(run, watchers, 'different observers to be reported', () =>
      working.every((client) => reports([client], 'observers')),
    );
    await watchers.await(strange.worker?.stop() ?? Promise.resolve(), 'a worker to stop');
    await when(
      run,
      watchers,
      'the warning of different observers to be over',
      () => !reports(others, 'observers'),
    );
  },
};

/** A cell of the plan's names. */
function mischiefCell(mischief: 'hang' | 'loop', i = 0): string {
  return `t/r${i}:${MISCHIEF_COLUMNS[mischief]}`;
}

function reports(clients: readonly SimulatedClient[], kind: WarningKind): boolean {
  return clients.some(({ worker }) => worker?.warnings.some((warning) => warning.kind === kind));
}

async function write(
  watchers: Watchers,
  client: SimulatedClient | undefined,
  cells: readonly string[],
): Promise<void> {
  for (const cell of cells) await watchers.await(writeOne(client, cell), `${cell} to be written`);
}

/** A lock of a dead process may be in the way for a while. */
async function writeOne(client: SimulatedClient | undefined, cell: string): Promise<void> {
  if (client?.percolator === undefined) return;
  for (;;) {
    try {
      await client.transactions.transactRecorded(client.percolator, [{ do: 'set', cell }]);
      return;
    } catch (error) {
      if (!isRetryable(error)) throw error;
      await client.clock.sleep(LOOK_MS);
    }
  }
}

/** Looks now and then: at each tick would take long. */
async function when(
  { world: { timeline } }: SimulatedRun,
  watchers: Watchers,
  what: string,
  isOver: () => boolean,
): Promise<void> {
  let isSeen = false;
  const look = (): void => {
    isSeen = isOver();
    if (!isSeen) timeline.after(LOOK_MS, look);
  };
  look();
  await watchers.until(() => isSeen, what);
}
