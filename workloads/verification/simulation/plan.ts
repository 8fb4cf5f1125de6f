/**
 * The work of a simulated run: everything that its seed decides beforehand, as plain data, so that
 * shrink.ts can take parts of it away, and a regression can be kept in a file.
 *
 * The database is small, so that transactions conflict: three tables of few rows, some rows with
 * several columns, observed columns, and cells that hold lists for the second judge. The scratch
 * table, `s`, is created in every run, and used in those with drops.
 */
import { createRandom, type Random } from '../../../engine/base/index.ts';
import { addressOf } from '../judges/history.ts';
import {
  swarm,
  withFences,
  withMischief,
  withOwnerDeaths,
  withReopening,
  withSecondDatabase,
  withSmallChecks,
  withStopsAtWaits,
  withTombstones,
} from './knobs.ts';
import {
  type PlannedOperation,
  type ProcessPlan,
  type SimulationPlan,
  type TransactionPlan,
  withFollowers,
  withLoad,
  withReverseScans,
  withSharedLocks,
} from './loads.ts';

export type { PlannedOperation, SimulationPlan, ProcessPlan, TransactionPlan } from './loads.ts';

/** A table that is dropped and created again, with other observed columns, in some runs. */
export const SCRATCH: string = 's';
export const TABLES = ['t', 'u', 's'] as const;
/** Columns that leave notifications, for each table as first created. */
export const OBSERVED: Readonly<Record<(typeof TABLES)[number], readonly string[]>> = {
  t: ['seen', 'also', 'stuck', 'spin'],
  u: ['copy'],
  s: ['seen'],
};
/** Cells with single values. */
export const CELLS: readonly string[] = [
  't/a:c',
  't/a:d',
  't/b:c',
  't/b:d',
  't/c:c',
  'u/a:c',
  'u/e:c',
  't/d:seen',
  't/e:seen',
  't/d:also',
];
/** Those of them that are observed. */
export const OBSERVED_CELLS: readonly string[] = ['t/d:seen', 't/e:seen', 't/d:also'];
/** Cells with lists. */
export const LISTS: readonly string[] = ['t/l:list', 't/m:list', 'u/l:list'];
/** Cells of the scratch table. */
const SCRATCHED = ['s/d:seen', 's/a:c', 's/b:d'];
/** Cells that only observers write. */
const DERIVED = ['d', 'e'].flatMap((row) => [`u/${row}:copy`, `t/${row}:count`, `u/${row}:done`]);
const ALL_CELLS: readonly string[] = [...CELLS, ...LISTS, ...SCRATCHED, ...DERIVED];
/** Every column that has values. */
export const SCANNED: readonly string[] = [
  ...new Set(ALL_CELLS.map((cell) => addressOf(cell).column)),
  'stuck', // Of mischief.ts.
  'spin',
];
/** The observed columns of table t that are there for mischief (mischief.ts). */
export const MISCHIEF_COLUMNS = { hang: 'stuck', loop: 'spin' } as const;
/** Where the tables are split. Scanners begin at a random one of these rows. */
export const SPLITS: readonly string[] = ['c', 'e'];
/** Tables that always exist. */
const USED = ['t', 'u'] as const;
const ROWS = ['a', 'b', 'c', 'd', 'e', 'l', 'm'];

/**
 * What a plan has besides what its seed draws. It is not drawn: it would change what other seeds
 * have been found to show.
 */
export interface PlanExtras {
  /** Whether processes follow the changes of the tables, too. Default false. */
  readonly follows?: boolean | undefined;
  /** Whether half of the scans are in reverse. Default false. */
  readonly reverses?: boolean | undefined;
}

export function planOf(
  seed: number,
  { follows = false, reverses = false }: PlanExtras = {},
): SimulationPlan {
  const drawn = drawnPlan(seed);
  const plan = follows ? withFollowers(drawn) : drawn;
  return reverses ? withReverseScans(plan, createRandom(seed).fork('reverse')) : plan;
}

function drawnPlan(seed: number): SimulationPlan {
  // Forked, because streams of neighbouring seeds begin alike.
  const random = createRandom(seed).fork('plan');
  const drawn = withOwnerDeaths(swarm(random), createRandom(seed).fork('owner'));
  const stopping = withStopsAtWaits(drawn, createRandom(seed).fork('waits'));
  const onStore = withTombstones(stopping, createRandom(seed).fork('tombstones'));
  const inNetwork = withSecondDatabase(onStore, createRandom(seed).fork('second database'));
  const reopened = withReopening(inNetwork, createRandom(seed).fork('reopen'));
  const mischievous = withMischief(reopened, createRandom(seed).fork('mischief'));
  const fenced = withFences(mischievous, createRandom(seed).fork('fences'));
  const knobs = withSmallChecks(fenced, createRandom(seed).fork('checks'));
  // Few cells cause conflicts, many allow progress.
  const hot = random.fraction() < 0.3 ? 3 : CELLS.length;
  const cells = shuffled(random, CELLS).slice(0, hot);
  const habits = {
    slow: knobs.collector,
    weak: random.fraction() < 0.5,
    parking: knobs.failuresMax !== undefined,
  };
  const processes = Array.from({ length: random.integer(1, 4) }, () =>
    planProcess(random, cells, habits),
  );
  if (knobs.collector) {
    const pins = planPins(random, cells);
    const kind = random.fraction();
    const collector = { transactions: [], concurrency: 1, worker: false, collector: true };
    if (kind < 0.4) processes.push(collector);
    else if (kind < 0.7) processes.push({ ...pins, collector: true });
    else processes.push(pins, collector);
  }
  const isParking = knobs.failuresMax !== undefined;
  const observerFailures = isParking || random.fraction() < 0.2 ? random.integer(1, 5) : 0;
  const plan = { seed, knobs, processes, observerFailures };
  const guessing =
    knobs.prefetch === true ? withGuesses(plan, createRandom(seed).fork('guesses')) : plan;
  const dropping =
    knobs.drops === true ? withDrops(guessing, createRandom(seed).fork('drops')) : guessing;
  const loaded = withLoad(dropping, createRandom(seed).fork('special load'));
  return withSharedLocks(loaded, createRandom(seed).fork('shared locks'));
}

/**
 * Some transactions first read one column of several rows and then another one, which a prefetching
 * client learns to read along. Mostly they have read that one in one of the rows already: then the
 * guesses for that row and for the others differ.
 */
function withGuesses(plan: SimulationPlan, random: Random): SimulationPlan {
  const one = (transaction: TransactionPlan): TransactionPlan => {
    const { kind, operations } = transaction;
    if (kind === 'replay' || kind === 'recreate' || random.fraction() < 0.7) return transaction;
    const rows = shuffled(random, ['a', 'b', 'c', 'd']).slice(0, random.integer(2, 4));
    const read = (column: string, some: readonly string[]): PlannedOperation => {
      return { do: 'getMany', cells: some.map((row) => `t/${row}:${column}`) };
    };
    const before = random.fraction() < 0.7 ? [read('d', rows.slice(0, 1))] : [];
    const reads = [...before, read('c', shuffled(random, rows)), read('d', rows)];
    return { ...transaction, operations: [...reads, ...operations] };
  };
  const processes = plan.processes.map((process) => {
    const transactions = process.transactions.map(one);
    return Object.assign({}, process, { transactions });
  });
  return { ...plan, processes };
}

/**
 * Some transactions use the scratch table, too, first or last; others are replaced by one that
 * drops it and creates it again.
 */
function withDrops(plan: SimulationPlan, random: Random): SimulationPlan {
  const one = (transaction: TransactionPlan): TransactionPlan => {
    if (random.fraction() < 0.02) {
      const observedColumns = random.pick([[], ['seen'], ['seen']]);
      return { kind: 'recreate', operations: [], observedColumns };
    }
    if (transaction.kind === 'replay' || random.fraction() < 0.7) return transaction;
    const { operations } = transaction;
    const added = operationOnScratch(random, transaction.kind === 'snapshot');
    const at = random.pick([0, operations.length]);
    return { ...transaction, operations: operations.toSpliced(at, 0, added) };
  };
  const processes = plan.processes.map((process) => {
    const transactions = process.transactions.map(one);
    return Object.assign({}, process, { transactions });
  });
  return { ...plan, processes };
}

function operationOnScratch(random: Random, isRead: boolean): PlannedOperation {
  const kind = random.fraction();
  if (isRead || kind < 0.2) {
    return random.fraction() < 0.5
      ? { do: 'scan', table: SCRATCH }
      : { do: 'getMany', cells: SCRATCHED };
  }
  const cell = random.pick(SCRATCHED);
  if (kind < 0.7) return { do: 'set', cell };
  return { do: kind < 0.8 ? 'delete' : random.pick(['get', 'lock'] as const), cell };
}

interface Habits {
  /**
   * Whether some transactions take so long that their snapshots would be garbage without their
   * leases.
   */
  readonly slow: boolean;
  /** Whether some transactions notify weakly. */
  readonly weak: boolean;
  /** Whether some transactions notify parked cells again. */
  readonly parking: boolean;
}

function planProcess(random: Random, cells: readonly string[], habits: Habits): ProcessPlan {
  const transactions = Array.from({ length: random.integer(40, 220) }, () =>
    planTransaction(random, cells, habits),
  );
  return { transactions, concurrency: random.integer(1, 24), worker: random.fraction() < 0.5 };
}

function planTransaction(
  random: Random,
  cells: readonly string[],
  { slow, weak, parking }: Habits,
): TransactionPlan {
  if (parking && random.fraction() < 0.02) {
    return { kind: 'replay', operations: [{ do: 'scan', table: random.pick(USED) }] };
  }
  const kind = random.fraction();
  const operations: PlannedOperation[] = [];
  if (slow && random.fraction() < 0.2) {
    operations.push(planOperation(random, cells, slow), {
      do: 'think',
      ms: random.integer(1, 600),
    });
  }
  if (kind < (slow ? 0.2 : 0.1)) return planSnapshot(random, cells, slow);
  for (let i = random.integer(1, random.pick([2, 2, 5])); i > 0; i--) {
    operations.push(planOperation(random, cells, slow));
  }
  if (weak && random.fraction() < 0.1) operations.push({ do: 'weak', cell: 't/d:seen' });
  return { kind: kind < 0.5 ? 'transact' : 'begin', operations };
}

function planSnapshot(random: Random, cells: readonly string[], slow: boolean): TransactionPlan {
  const operations = [...planReads(random, cells)];
  if (slow) {
    const ms = random.integer(1, random.pick([300, 900, 2_500]));
    operations.push({ do: 'think', ms }, ...planReads(random, cells));
  }
  return { kind: 'snapshot', operations, agoMs: random.pick([undefined, 10, 100, 500]) };
}

/**
 * Snapshots of the past, several at a time, that begin together after a rest in which the process
 * holds nothing, and outlast a collection. Some begin while a renewal of the lease is in flight.
 * Its bound is a fresh timestamp, because the process held nothing; a collector's cycle follows
 * soon.
 */
function planPins(random: Random, cells: readonly string[]): ProcessPlan {
  const everyMs = random.pick([1_000, 3_000]);
  const transactions = Array.from({ length: random.integer(30, 60) }, (): TransactionPlan => {
    const meanwhile: PlannedOperation = {
      do: 'think',
      ms: random.integer(0.4 * everyMs, 0.8 * everyMs - 150),
    };
    const agoMs = random.pick([10, 100, 500]);
    const operations = [meanwhile, ...planReads(random, cells)];
    const begins = { everyMs, plusMs: random.integer(0, 30) };
    return { kind: 'snapshot', operations, agoMs, begins };
  });
  return { transactions, concurrency: random.integer(3, 6), worker: false };
}

function planReads(random: Random, cells: readonly string[]): readonly PlannedOperation[] {
  if (random.fraction() < 0.3) return [planScan(random)];
  return [{ do: 'getMany', cells: shuffled(random, [...cells, ...LISTS]).slice(0, 4) }];
}

function planOperation(random: Random, cells: readonly string[], slow: boolean): PlannedOperation {
  const cell = random.pick(cells);
  const kind = random.fraction();
  if (kind < 0.28) return { do: 'get', cell };
  if (kind < (slow ? 0.48 : 0.6)) return { do: 'set', cell };
  if (kind < 0.68) return { do: 'delete', cell };
  if (kind < 0.74) return { do: 'lock', cell };
  if (kind < 0.9) return { do: 'append', cell: random.pick(LISTS) };
  if (kind < 0.95) return planScan(random);
  return { do: 'think', ms: random.integer(0, 40) };
}

function planScan(random: Random): PlannedOperation {
  const table = random.pick(USED);
  if (random.fraction() < 0.6) return { do: 'scan', table };
  return { do: 'scan', table, part: [random.pick(ROWS), random.pick(ROWS)] };
}

function shuffled<T>(random: Random, items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: random.fraction() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
