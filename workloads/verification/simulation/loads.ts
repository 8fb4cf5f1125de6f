/**
 * Loads that cause what the usual load rarely does, for mistakes that need several coincidences in
 * a row. Mutants name them, and some seeds draw them.
 */
import type { Random } from '../../../engine/base/index.ts';
import type { Knobs } from './knobs.ts';

const CELLS = ['t/a:c', 't/b:c', 't/c:c', 'u/a:c', 'u/e:c', 't/d:seen', 't/e:seen', 't/d:also'];
const COLLECTOR: ProcessPlan = { transactions: [], concurrency: 1, worker: false, collector: true };

type RunLoad = (random: Random) => readonly ProcessPlan[];

/** The share of seeds with one of these loads. */
const SHARE = 0.03;
const COLLECTED: Partial<Knobs> = { collector: true, leaseTimeToLiveMs: 1_000 };
const DROPPED: Partial<Knobs> = { drops: true };

/** One of the loads instead of the plan's own, in some of the runs, under the plan's faults. */
export function withLoad(plan: SimulationPlan, random: Random): SimulationPlan {
  if (random.fraction() >= SHARE) return plan;
  const [load, knobs] = random.pick<readonly [RunLoad, Partial<Knobs>]>([
    [pinsAtRenewals, { ...COLLECTED, oracleProcesses: true }],
    [deletionsDuringStops, COLLECTED],
    [dropsInUse, DROPPED],
    [confirmationsDuringDrops, DROPPED],
  ]);
  // A third of it: under the faults of a plan, all of it would take the time of many other runs.
  const processes = load(random).map((process) => {
    const { transactions } = process;
    return Object.assign({}, process, {
      transactions: transactions.slice(0, transactions.length / 3),
    });
  });
  return { ...plan, processes, knobs: { ...plan.knobs, ...knobs } };
}

/** Cells whose lock transactions may share: those of SHARED_COLUMNS. */
const SHARED = ['t/a:c', 't/b:c', 't/c:c'];

/** By table of the plan, the columns whose cells several transactions may lock. */
export const SHARED_COLUMNS: Readonly<Record<string, readonly string[]>> = { t: ['c'] };

/**
 * Some of the locks are shared. Not drawn with the rest: that would change what other seeds have
 * been found to show.
 */
export function withSharedLocks(plan: SimulationPlan, random: Random): SimulationPlan {
  const shared = (operation: PlannedOperation): PlannedOperation =>
    operation.do === 'lock' && SHARED.includes(operation.cell) && random.fraction() < 0.5
      ? { ...operation, do: 'share' }
      : operation;
  const processes = plan.processes.map((process) =>
    Object.assign({}, process, {
      transactions: process.transactions.map((one) =>
        Object.assign({}, one, { operations: one.operations.map(shared) }),
      ),
    }),
  );
  return { ...plan, processes };
}

/**
 * Processes share the locks of few cells, think, and write them and others. Some write one row
 * alone, whose lock goes with its commit.
 */
export function sharedLocks(random: Random): readonly ProcessPlan[] {
  return Array.from({ length: 3 }, (): ProcessPlan => {
    const transactions = Array.from({ length: 200 }, (): TransactionPlan => {
      const written = Array.from({ length: random.integer(1, 2) }, () =>
        random.pick([...SHARED, 'u/a:c', 'u/e:c']),
      );
      const locked = Array.from({ length: random.integer(0, 2) }, () => random.pick(SHARED));
      const operations: readonly PlannedOperation[] = [
        ...locked.map((cell) => ({ do: 'share', cell }) as const),
        { do: 'think', ms: random.integer(0, 20) },
        ...written.map((cell) => ({ do: 'set', cell }) as const),
      ];
      return { kind: random.pick(['begin', 'transact'] as const), operations };
    });
    return { transactions, concurrency: random.integer(1, 4), worker: false };
  });
}

/** The same, and a process that collects. */
export function sharedLocksCollected(random: Random): readonly ProcessPlan[] {
  return [...sharedLocks(random), COLLECTOR];
}

/** The plan with processes that follow the changes of the tables. */
export function withFollowers(plan: SimulationPlan): SimulationPlan {
  const one = { transactions: [], concurrency: 1, worker: false };
  const followers: readonly ProcessPlan[] = [
    { ...one, follows: 't' },
    { ...one, follows: 'u' },
    { ...one, follows: 's' },
  ];
  return { ...plan, processes: [...plan.processes, ...followers] };
}

/** The plan with half of its scans in reverse; some of these end after a few rows. */
export function withReverseScans(plan: SimulationPlan, random: Random): SimulationPlan {
  const one = (operation: PlannedOperation): PlannedOperation => {
    if (operation.do !== 'scan' || random.fraction() < 0.5) return operation;
    return { ...operation, reverse: true, limit: random.pick([undefined, 1, 2, 4]) };
  };
  const processes = plan.processes.map((process) => {
    const transactions = process.transactions.map((transaction) => {
      const { kind, operations } = transaction;
      return kind === 'replay'
        ? transaction
        : Object.assign({}, transaction, { operations: operations.map(one) });
    });
    return Object.assign({}, process, { transactions });
  });
  return { ...plan, processes };
}

/**
 * One process writes, collects, and takes snapshots of a moment ago. Some snapshots begin at the
 * very time at which its collector renews the lease and asks for a timestamp. There is no other
 * process whose lease would keep what the snapshots need.
 */
export function pinsAtRenewals(random: Random): readonly ProcessPlan[] {
  const everyMs = 1_000;
  const transactions = Array.from({ length: 300 }, (): TransactionPlan => {
    const cells = [random.pick(CELLS), random.pick(CELLS)];
    if (random.fraction() < 0.2) {
      const begins = { everyMs, plusMs: random.integer(850, 950) };
      return { kind: 'begin', operations: cells.map((cell) => ({ do: 'set', cell })), begins };
    }
    const begins = { everyMs, plusMs: random.integer(0, 40) };
    const thinking = { do: 'think', ms: random.integer(450, 800) } as const;
    const operations = [thinking, { do: 'getMany', cells } as const];
    return { kind: 'snapshot', operations, agoMs: random.integer(1, 200), begins };
  });
  return [{ ...COLLECTOR, transactions, concurrency: random.integer(4, 8) }];
}

/**
 * Two processes write two cells at a time and often stop, sometimes between the commit point and
 * the second phase. A third one reads, and so rolls forward what was left; deletes; and collects
 * what was deleted.
 */
export function deletionsDuringStops(random: Random): readonly ProcessPlan[] {
  const cells = Array.from({ length: 12 }, (_, i) => `t/${i}:c`);
  const writers = Array.from({ length: 2 }, (): ProcessPlan => {
    const transactions = Array.from({ length: 150 }, (): TransactionPlan => {
      const written = [random.pick(cells), random.pick(cells)];
      const begins = { everyMs: 1_000, plusMs: random.integer(0, 500) };
      return { kind: 'begin', operations: written.map((cell) => ({ do: 'set', cell })), begins };
    });
    return { transactions, concurrency: 1, worker: false };
  });
  const transactions = Array.from({ length: 500 }, (): TransactionPlan => {
    const cell = random.pick(cells);
    const operations = [{ do: 'scan', table: 't' } as const, { do: 'delete', cell } as const];
    return {
      kind: 'transact',
      operations,
      begins: { everyMs: 200, plusMs: random.integer(0, 200) },
    };
  });
  return [...writers, { ...COLLECTOR, transactions }];
}

/** Two processes write two cells at a time, while their databases are closed and opened again. */
export function writersWhoseDatabasesClose(random: Random): readonly ProcessPlan[] {
  return Array.from({ length: 2 }, (): ProcessPlan => {
    const transactions = Array.from({ length: 400 }, (): TransactionPlan => {
      const cells = [random.pick(CELLS), random.pick(CELLS)];
      const operations = cells.map((cell) => ({ do: 'set', cell }) as const);
      const think = { do: 'think', ms: random.integer(0, 20) } as const;
      return { kind: 'begin', operations: [...operations, think] };
    });
    return { transactions, concurrency: 4, worker: false };
  });
}

/**
 * Transactions write cells of three tables. The first process drops one of these tables and creates
 * it again all the time. Some snapshots read another one.
 */
export function dropsInUse(random: Random): readonly ProcessPlan[] {
  const cells = ['s/d:seen', 's/a:c', 's/b:d', 't/a:c', 't/b:c', 't/c:c', 'u/a:c'];
  return Array.from({ length: 4 }, (_, i): ProcessPlan => {
    const transactions = Array.from({ length: 150 }, (): TransactionPlan => {
      const drawn = random.fraction();
      if (i === 0 && drawn < 0.5) {
        return { kind: 'recreate', operations: [], observedColumns: random.pick([[], ['seen']]) };
      }
      if (drawn < 0.2) return { kind: 'snapshot', operations: [{ do: 'scan', table: 't' }] };
      const written = Array.from({ length: random.integer(1, 4) }, () => random.pick(cells));
      return { kind: 'begin', operations: written.map((cell) => ({ do: 'set', cell })) };
    });
    return { transactions, concurrency: random.integer(1, 6), worker: i === 1 };
  });
}

/**
 * Every two seconds one process drops a table and creates it again. Shortly before, another process
 * asks for the table's definition, with transactions that only notify there, so that no lock of
 * theirs holds up the drop; and shortly after, when the drop has looked for locks, it also writes
 * the table.
 */
export function confirmationsDuringDrops(random: Random): readonly ProcessPlan[] {
  const everyMs = 2_000;
  const drops = Array.from({ length: 40 }, (): TransactionPlan => {
    const begins = { everyMs, plusMs: random.integer(0, 20) };
    return { kind: 'recreate', operations: [], observedColumns: ['seen'], begins };
  });
  const transactions = Array.from({ length: 300 }, (): TransactionPlan => {
    const isWriter = random.fraction() < 0.4;
    const plusMs = isWriter ? random.integer(0, 250) : random.integer(600, 1_950);
    const operations = [
      { do: 'set', cell: random.pick(CELLS) } as const,
      isWriter
        ? ({ do: 'set', cell: random.pick(['s/a:c', 's/b:d']) } as const)
        : ({ do: 'weak', cell: 's/d:seen' } as const),
    ];
    return { kind: 'begin', operations, begins: { everyMs, plusMs } };
  });
  return [
    { transactions: drops, concurrency: 1, worker: false },
    { transactions, concurrency: random.integer(6, 12), worker: false },
  ];
}

/* The work of a simulated run as plain data: what each process does, and in which transactions. */

/** `share`: locks the cell together with others that do. */
type CellOperation = 'get' | 'set' | 'delete' | 'lock' | 'share' | 'append' | 'weak';

export type PlannedOperation =
  | { readonly do: CellOperation; readonly cell: string }
  | { readonly do: 'getMany'; readonly cells: readonly string[] }
  | {
      /** Scans the whole table, or the part between two rows, or the first rows that it finds. */
      readonly do: 'scan';
      readonly table: string;
      readonly part?: readonly string[] | undefined;
      readonly reverse?: boolean | undefined;
      readonly limit?: number | undefined;
    }
  | { readonly do: 'think'; readonly ms: number };

export interface TransactionPlan {
  /**
   * `transact` retries; `begin` is committed by hand; `snapshot` only reads, possibly in the past;
   * `replay` notifies again the parked cells of the tables that the operations name; `recreate`
   * drops the scratch table and creates it again.
   */
  readonly kind: 'transact' | 'begin' | 'snapshot' | 'replay' | 'recreate';
  readonly operations: readonly PlannedOperation[];
  /** The observed columns of the scratch table when it is created again. Default none. */
  readonly observedColumns?: readonly string[] | undefined;
  /** For a snapshot: how many milliseconds ago its moment was. Default: now. */
  readonly agoMs?: number | undefined;
  /**
   * Begins `plusMs` after the next whole multiple of `everyMs` on its process's clock. Default: at
   * once.
   */
  readonly begins?: { readonly everyMs: number; readonly plusMs: number } | undefined;
}

export interface ProcessPlan {
  readonly transactions: readonly TransactionPlan[];
  /** Transactions in flight at a time. */
  readonly concurrency: number;
  /** Whether the process runs observers. */
  readonly worker: boolean;
  /** Whether the process collects garbage. Default false. */
  readonly collector?: boolean | undefined;
  /** The table whose changes the process follows (follower.ts). Default: none. */
  readonly follows?: 't' | 'u' | 's' | undefined;
}

export interface SimulationPlan {
  readonly seed: number;
  readonly knobs: Knobs;
  readonly processes: readonly ProcessPlan[];
  /** For each observer and cell, the runs that throw before one may succeed. */
  readonly observerFailures: number;
}
