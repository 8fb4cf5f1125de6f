/** The tables of a simulated run, as they are before it begins. */
import { NOTIFY_FAMILIES, notifyTable } from '../../transaction/index.ts';
import { TABLES } from './plan.ts';
import { ModelTable } from './model-table.ts';
import type { World } from './world.ts';

/** Scanners begin at a random one of them. */
const SPLITS = ['c', 'e'];

export function prepareStorage(world: World): void {
  for (const table of TABLES) {
    world.tables.set(table, new ModelTable(SPLITS));
    world.tables.set(notifyTable(table), new ModelTable(SPLITS));
  }
  setFirstTimestamp(world);
}

/** As if an oracle had handed out everything below it. */
function setFirstTimestamp(world: World): void {
  const oracle = new ModelTable();
  const start = world.knobs.firstTimestamp;
  const value = Buffer.from(JSON.stringify({ owner: 'the past', start }));
  oracle.mutateRow('range', [
    { kind: 'set', family: 'oracle', qualifier: 'limit', timestamp: start, value },
  ]);
  world.tables.set('timestamp-oracle', oracle);
}

/** Marks that are left: `notify t/d:seen@12`; parked ones are not, somebody has to look at those. */
export function leftMarks(world: World): readonly string[] {
  const families = NOTIFY_FAMILIES.slice(0, 2).map((family) => ({ family }));
  return TABLES.flatMap((table) =>
    world
      .table(notifyTable(table))
      .readRange({ limit: 1_000_000 }, families)
      .flatMap(({ key, cells }) =>
        cells.map((one) => `${one.family} ${table}/${key}:${one.qualifier}@${one.timestamp}`),
      ),
  );
}

/** Locks that are left: `t/a:c@5`. */
export function leftLocks(world: World): readonly string[] {
  return TABLES.flatMap((table) =>
    world
      .table(table)
      .readRange({ limit: 1_000_000 }, [{ family: 'lock' }])
      .flatMap(({ key, cells }) =>
        cells.map(({ qualifier, timestamp }) => `${table}/${key}:${qualifier}@${timestamp}`),
      ),
  );
}
