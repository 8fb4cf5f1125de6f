/**
 * Measures what operations of the engine and of the embedded store cost, depending on their shape:
 * the rows of a call, the cells and bytes of a row, the mutations that share a group of the log.
 * All run in one process, on tables as large as those of the workloads (except in the profile
 * smoke): reads are cheaper in small tables, and in code that V8 has compiled for reads alone.
 */
import path from 'node:path';
import { mean, median, quantile } from 'simple-statistics';
import {
  type Bigtable,
  createRandom,
  openPercolator,
  openStore,
  type Percolator,
  systemClock,
} from '#engine';
import { shuffled } from '../../harness/chance.ts';
import { closedLoop } from '../../harness/load/loops.ts';
import type { MicroCase } from '../../microbench/case.ts';
import {
  CELLS,
  COLUMN,
  Data,
  FAMILY,
  loadMessages,
  loadTables,
  RAW,
  rawWrite,
} from '../../microbench/data.ts';
import { figure8Cases, MESSAGE_CELL, NAMES } from '../../microbench/figure-8-cases.ts';
import { recordMessages } from '../../microbench/recorded-messages.ts';

export interface OperationsPlan {
  /** Rows that are read, and as many others that are written (microbench/data.ts). */
  readonly rows: number;
  readonly rounds: number;
  /** Operations of each case in each round. */
  readonly operations: number;
  /** Operations after each pause in each round; 20 times as many without a pause. */
  readonly afterPauses: number;
}

export interface MeasuredOperations {
  readonly operations: readonly OperationCost[];
  readonly idle: readonly IdleCost[];
}

/** The cost in one slice, or that of all slices: lower quartiles of times, and means of groups. */
export interface OperationCost {
  readonly what: string;
  readonly inFlight: number;
  /** Processor time of all threads. */
  readonly us: number;
  /** Processor time of the main thread alone. */
  readonly mainUs: number;
  /** Groups of the log for each operation. */
  readonly groups: number;
}

/**
 * Operations in flight. Reads: as many as in bench:micro. Writes: few and many, because the more
 * are in flight, the more share a group of the log; the difference is what a group costs.
 */
export const IN_FLIGHT = { usual: 64, few: 16, many: 256 };
/** The quantile of the slices that counts. It is low, because other programs only slow them. */
const QUARTILE = 0.25;
/**
 * From the first operation of a slice to that of the next one: more than a slice has, also modulo
 * the number of rows, so that successive slices visit different rows.
 */
export const SLICE_DISTANCE = 1_370_617;

export async function measureOperations(
  folder: string,
  plan: OperationsPlan,
  given: { readonly signal: AbortSignal; readonly onRound: (round: number) => void },
): Promise<MeasuredOperations> {
  await using cleanup = new AsyncDisposableStack();
  const opened = await openCases(path.join(folder, 'operations'), plan.rows, cleanup);
  const slices: OperationCost[] = [];
  const idle: IdleCost[] = [];
  const random = createRandom(1);
  let first = SLICE_DISTANCE;
  // Round 0 compiles the code.
  for (let round = 0; round <= plan.rounds; round++) {
    given.signal.throwIfAborted();
    for (const { inFlight, one } of shuffled(random, opened.cases)) {
      const run = { first, operations: plan.operations, concurrency: inFlight };
      for (let step: MicroCase | undefined = one; step !== undefined; step = step.followedBy) {
        const before = opened.groups();
        const { us, mainUs } = await processorUs(step, run);
        const groups = (opened.groups() - before) / run.operations;
        if (round > 0) slices.push({ what: step.name, inFlight, us, mainUs, groups });
      }
      first += SLICE_DISTANCE;
    }
    // Each case once: writes are in the list twice.
    const single = opened.cases.filter(({ inFlight }) => inFlight !== IN_FLIGHT.few);
    const run = { first, operations: plan.afterPauses };
    const costs = await measureIdle(
      single.map(({ one }) => one),
      run,
    );
    first += SLICE_DISTANCE;
    if (round > 0) idle.push(...costs);
    given.onRound(round);
  }
  return { operations: costsOf(slices), idle: mediansOf(idle) };
}

interface Opened {
  readonly cases: readonly { readonly inFlight: number; readonly one: MicroCase }[];
  /** Groups of the log since the cases were opened. */
  readonly groups: () => number;
}

async function openCases(
  folder: string,
  rows: number,
  cleanup: AsyncDisposableStack,
): Promise<Opened> {
  const { percolator, data } = await openLoaded(folder, rows, cleanup);
  const { store } = percolator;
  await loadShapes(store, data);
  const batched = cleanup.use(await openPercolator({ store, batching: {} }));
  const value = data.value({ row: 0, operation: 0 });
  const messages = await recordMessages({ store }, MESSAGE_CELL, value);
  const written = { raw: new Map<number, number>(), percolator: new Map<number, number>() };
  const groups8 = figure8Cases(percolator, data, { messages, written });
  const [reads = [], writes = [], readParts = [], writeParts = []] = groups8;
  const shapes = { reads: readsOfShapes(store, data), writes: writesOfShapes(store, data) };
  const allReads = [...reads, ...readParts, ...shapes.reads, batchedReads(batched, data)];
  const allWrites = [...writes, ...writeParts, ...shapes.writes];
  let groups = 0;
  store.onChange?.(() => groups++);
  return {
    cases: [
      ...allReads.map((one) => ({ inFlight: IN_FLIGHT.usual, one })),
      ...[IN_FLIGHT.few, IN_FLIGHT.many].flatMap((inFlight) =>
        allWrites.map((one) => ({ inFlight, one })),
      ),
    ],
    groups: () => groups,
  };
}

function costsOf(slices: readonly OperationCost[]): readonly OperationCost[] {
  const byCase = Map.groupBy(slices, ({ what, inFlight }) => `${what}, ${inFlight}`);
  return [...byCase.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const quartile = (key: 'us' | 'mainUs'): number =>
      quantile(
        some.map((one) => one[key]),
        QUARTILE,
      );
    const groups = mean(some.map((one) => one.groups));
    return [{ ...first, us: quartile('us'), mainUs: quartile('mainUs'), groups }];
  });
}

/* Operations of shapes that bench:micro does not have, and their tables. */

export const SHAPES = {
  longRead: 'raw read of 1,000 bytes',
  wideRead: 'raw read of 8 cells',
  rowsRead: 'raw read of 16 rows',
  scan: 'scan of 16 rows',
  batchedRead: 'read in an open snapshot, in batches',
  longWrite: 'raw write of 1,000 bytes',
  rowsWrite: 'raw write of 8 rows',
} as const;

export const ROWS_READ = 16;
const ROWS_WRITTEN = 8;
const CELLS_READ = 8;
export const BYTES = { short: 100, long: 1_000 };

const LONG = 'costs-long';
const WIDE = 'costs-wide';
const NEWEST = [{ family: FAMILY, qualifier: COLUMN, versions: 1 }];
const LOAD_ROWS = 1_000;

export async function loadShapes(
  store: Bigtable,
  { readKeys }: Pick<Data, 'readKeys'>,
): Promise<void> {
  const set = (qualifier: string, bytes: number) =>
    ({
      kind: 'set',
      family: FAMILY,
      qualifier,
      timestamp: 1,
      value: Buffer.alloc(bytes, 7),
    }) as const;
  const wide = Array.from({ length: CELLS_READ }, (_, i) => set(`${COLUMN}${i}`, BYTES.short));
  for (const [table, mutations] of [
    [LONG, [set(COLUMN, BYTES.long)]],
    [WIDE, wide],
  ] as const) {
    await store.createTable(table, { families: [FAMILY] });
    for (let i = 0; i < readKeys.length; i += LOAD_ROWS) {
      const rows = readKeys.slice(i, i + LOAD_ROWS);
      await store.mutateRows(rows.map((row) => ({ table, row, mutations })));
    }
  }
}

export function readsOfShapes(store: Bigtable, data: Data): readonly MicroCase[] {
  const key = (operation: number): string => data.readKeys[data.rowOf(operation)] ?? '';
  const cells = (found: number, wanted: number): void => {
    if (found !== wanted) throw new Error(`a read returned ${found} cells instead of ${wanted}`);
  };
  const readOf = (name: string, table: string, wanted: number): MicroCase => ({
    name,
    operate: async (operation) => {
      const filters = wanted === 1 ? NEWEST : [{ family: FAMILY }];
      cells((await store.readRow(table, key(operation), filters))?.cells.length ?? 0, wanted);
    },
  });
  return [
    readOf(SHAPES.longRead, LONG, 1),
    readOf(SHAPES.wideRead, WIDE, CELLS_READ),
    {
      name: SHAPES.rowsRead,
      operate: async (operation) => {
        const rows = Array.from({ length: ROWS_READ }, (_, i) => key(operation * ROWS_READ + i));
        const found = await store.readRows(RAW, rows, NEWEST);
        cells(found.filter((row) => row !== undefined).length, ROWS_READ); // A cell of each row.
      },
    },
    {
      name: SHAPES.scan,
      operate: async (operation) => {
        const range = { start: key(operation), limit: ROWS_READ };
        const found = await store.readRange(RAW, range, NEWEST);
        if (found.length === ROWS_READ) return;
        throw new Error(`a scan returned ${found.length} rows instead of ${ROWS_READ}`);
      },
    },
  ];
}

/** Reads in one open snapshot of a database that batches its reads. */
function batchedReads(percolator: Percolator, data: Data): MicroCase {
  let snapshot: Awaited<ReturnType<Percolator['snapshot']>> | undefined;
  return {
    name: SHAPES.batchedRead,
    prepare: async () => {
      snapshot = await percolator.snapshot();
    },
    operate: async (operation) => {
      const row = data.rowOf(operation);
      const cell = { table: CELLS, row: data.readKeys[row] ?? '', column: COLUMN };
      data.checkRead(row, await snapshot?.get(cell));
    },
    settle: () => snapshot?.close(),
  };
}

function writesOfShapes(store: Bigtable, data: Data): readonly MicroCase[] {
  const key = (operation: number): string => data.writeKeys[data.rowOf(operation)] ?? '';
  const long = Buffer.alloc(BYTES.long, 7);
  const short = Buffer.alloc(BYTES.short, 7);
  return [
    {
      name: SHAPES.longWrite,
      operate: (operation) => store.mutateRows([rawWrite(key(operation), long, operation)]),
    },
    {
      name: SHAPES.rowsWrite,
      operate: (operation) =>
        store.mutateRows(
          Array.from({ length: ROWS_WRITTEN }, (_, i) =>
            rawWrite(key(operation * ROWS_WRITTEN + i), short, operation),
          ),
        ),
    },
  ];
}

/*
 * What operations take one by one, and after a pause: other processes use the processor's caches
 * meanwhile, so this one is slower at first (machine.ts), and so are the disk and the threads that
 * write to it. A timer ends the pause, as timers let documents and customers arrive; its processor
 * time counts.
 */

export interface IdleCost {
  readonly what: string;
  /** 0: the next operation begins at the end of the last. */
  readonly idleMs: number;
  /** Processor time of the main thread, the median of the rounds. */
  readonly mainUs: number;
  /** From its beginning to its end, the median of a round's operations, and of the rounds. */
  readonly tookUs: number;
}

/** The table's name in the record. */
export const IDLE_TABLE = 'idle';
/** A short operation, and one with more than ten times the work. */
export const ALONE: readonly string[] = [NAMES.rawRead, NAMES.write];
/** Little more than a group of the log. */
export const SYNCED: string = NAMES.rawWrite;
/** Pauses before an operation, in milliseconds. */
export const PAUSES_MS: readonly number[] = [2, 10, 50];
/** Operations without a pause take less time, so there are more of them. */
const WITHOUT_PAUSE = 20;

/** One round. @param operations for each pause */
async function measureIdle(
  cases: readonly MicroCase[],
  { first, operations }: { readonly first: number; readonly operations: number },
): Promise<readonly IdleCost[]> {
  const costs: IdleCost[] = [];
  let next = first;
  for (const one of cases.filter(({ name }) => name === SYNCED || ALONE.includes(name))) {
    for (const idleMs of [0, ...PAUSES_MS]) {
      const count = idleMs === 0 ? WITHOUT_PAUSE * operations : operations;
      const tookUs: number[] = [];
      const run = { first: next, operations: count, concurrency: 1 };
      const { mainUs } = await processorUs(timed(one, idleMs, tookUs), run);
      costs.push({ what: one.name, idleMs, mainUs, tookUs: median(tookUs) });
      next += count;
    }
  }
  return costs;
}

/** The case after pauses; what each operation takes is added to `tookUs`. */
function timed(one: MicroCase, idleMs: number, tookUs: number[]): MicroCase {
  const operate = async (operation: number): Promise<void> => {
    if (idleMs > 0) await systemClock.sleep(idleMs);
    const beganMs = systemClock.monotonicMs();
    await one.operate(operation);
    tookUs.push(1000 * (systemClock.monotonicMs() - beganMs));
  };
  return { ...one, operate };
}

/** Medians, not lower quartiles: what other processes do meanwhile is to be in the cost. */
function mediansOf(costs: readonly IdleCost[]): readonly IdleCost[] {
  const groups = Map.groupBy(costs, ({ what, idleMs }) => `${what} ${idleMs}`);
  return [...groups.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const middle = (key: 'mainUs' | 'tookUs'): number => median(some.map((one) => one[key]));
    return [{ ...first, mainUs: middle('mainUs'), tookUs: middle('tookUs') }];
  });
}

/* Processor time of operations, on a store with the tables of bench:micro. */

const VALUE_BYTES = 100;

/** The tables of bench:micro in a store of their own, which `cleanup` closes. */
async function openLoaded(
  folder: string,
  rows: number,
  cleanup: AsyncDisposableStack,
): Promise<{ readonly percolator: Percolator; readonly data: Data }> {
  const store = cleanup.use(await openStore({ kind: 'embedded', folder }));
  const percolator = cleanup.use(await openPercolator({ store }));
  const data = new Data({ rows, valueBytes: VALUE_BYTES, seed: 1 });
  await loadTables(percolator, data);
  await loadMessages(percolator, data);
  return { percolator, data };
}

export interface ProcessorUs {
  /** Of all threads, and of the main thread alone. */
  readonly us: number;
  readonly mainUs: number;
}

/** Processor time of each of the operations, in microseconds. */
async function processorUs(
  { operate, prepare, settle }: MicroCase,
  run: { readonly first: number; readonly operations: number; readonly concurrency: number },
): Promise<ProcessorUs> {
  const { signal } = new AbortController();
  await prepare?.(run.first, run.operations);
  const before = processorTime();
  await closedLoop(operate, { signal, ...run });
  await settle?.();
  const now = processorTime();
  return {
    us: (now.process - before.process) / run.operations,
    mainUs: (now.main - before.main) / run.operations,
  };
}

/**
 * Microseconds. The process comes first: on Linux the time of a thread alone stands still between
 * ticks of the scheduler, 4 ms, unless the time of its process was asked for just before.
 */
function processorTime(): { process: number; main: number } {
  const all = process.cpuUsage();
  const main = process.threadCpuUsage();
  return { process: all.user + all.system, main: main.user + main.system };
}
