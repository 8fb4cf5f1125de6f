/**
 * A crash before and after every mutation of a commit, one by one (section 2.2: "Transaction
 * processing is complicated by the possibility of client failure"), on any storage.
 *
 *     dry run ─▶ count the mutations ─▶ before and after each: crash there, recover, compare
 *
 * Whatever the step, and whichever process recovers: the transaction is visible in whole or not at
 * all, as the commit point decides, and no lock is left. If every mutation of the dead client then
 * arrives a second time, nothing changes.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isOf, transact } from '../transaction/index.ts';
import {
  cell,
  type TestClient,
  type DatabaseOptions,
  put,
  type TestDatabase,
  type CellTexts,
} from './database.ts';
import type { WatchedCall } from './faulty-bigtable.ts';

interface CrashShape {
  readonly name: string;
  readonly values: CellTexts;
  /** Cells that the transaction locks and does not write. */
  readonly locked?: readonly string[];
}

/** The primary is `p`; every cell begins as `old`. */
const SHAPES: readonly CrashShape[] = [
  { name: 'one row', values: { p: 'new' } },
  { name: 'one row with three cells', values: { p: 'new', 'p:b': 'new', 'p:d': undefined } },
  { name: 'two rows', values: { p: 'new', x: 'new' } },
  { name: 'two rows, the second deleted', values: { p: 'new', x: undefined } },
  { name: 'two rows, the primary deleted', values: { p: undefined, x: 'new' } },
  { name: 'three rows in two tables', values: { p: 'new', x: 'new', 'u/p': 'new' } },
  { name: 'an observed cell', values: { p: 'new', 'x:seen': 'new' } },
  { name: 'two cells that are locked', values: { p: 'new', x: 'new' }, locked: ['y', 'u/y'] },
];

interface Crash {
  readonly moment: 'crashBefore' | 'crashAfter';
  readonly step: number;
}

/** A database in which client A has run a transaction, and crashed in it but for a dry run. */
interface CrashScene {
  readonly database: TestDatabase;
  readonly client: TestClient;
  /** Undefined in a dry run. */
  readonly crash: Crash | undefined;
  /** Whether the commit point was passed. */
  readonly committed: boolean;
}

type CrashRecovery = (database: TestDatabase, names: readonly string[]) => Promise<void>;

const RECOVERIES: Readonly<Record<string, CrashRecovery>> = {
  'a reader that knows the owner is dead': async (database, names) => {
    database.bury('A');
    await database.client('B').read(names);
  },
  'a reader, after the time to live': async (database, names) => {
    await database.runUntil(database.client('B').read(names));
  },
  'a reader of the secondaries first': async (database, names) => {
    database.bury('A');
    for (const name of names.toReversed()) await database.client('B').read([name]);
  },
  'a scan': async (database, names) => {
    database.bury('A');
    const reader = await database.client('B').begin();
    const columns = [...new Set(names.map((name) => cell(name).column))];
    for (const table of ['t', 'u']) {
      for await (const row of reader.scan({ table, columns, batchRows: 2 })) assert.ok(row.row);
    }
  },
  'two readers at once': async (database, names) => {
    database.bury('A');
    await Promise.all([
      database.client('B').read(names),
      database.client('C').read(names.toReversed()),
    ]);
  },
  'a reader and, at the same time, a transaction that locks every cell': async (
    database,
    names,
  ) => {
    database.bury('A');
    const writing = lockAll(database.client('C'), names);
    await database.runUntil(Promise.all([writing, database.client('B').read(names)]));
  },
  'a transaction that locks every cell': async (database, names) => {
    database.bury('A');
    await database.runUntil(lockAll(database.client('B'), names));
  },
};

/** Locks every cell, which changes nothing. */
async function lockAll(client: TestClient, names: readonly string[]): Promise<void> {
  await transact(client.context, async (transaction) => {
    for (const name of names) await transaction.lock(cell(name));
  });
  await client.settled();
}

/** Opens a database whose tables `t` and `u` look empty, also if databases share one store. */
export type OpenDatabase = (options: DatabaseOptions) => Promise<TestDatabase>;

/** What is tried on a store on which each call is dear. Default: everything. */
export interface CrashSuiteOptions {
  /** By name. */
  readonly shapes?: readonly string[] | undefined;
  /** By name. */
  readonly recoveries?: readonly string[] | undefined;
  /** Whether recoveries crash, too, and blind writers overwrite what is left. */
  readonly alsoAfterwards?: boolean | undefined;
}

export function crashSuite(open: OpenDatabase, chosen: CrashSuiteOptions = {}): void {
  const { shapes = SHAPES.map(({ name }) => name), recoveries = Object.keys(RECOVERIES) } = chosen;
  const { alsoAfterwards = true } = chosen;
  for (const name of shapes) {
    const shape = SHAPES.find((one) => one.name === name);
    assert.ok(shape !== undefined, `there is a shape ${name}`);
    describe(`a crash in a transaction with ${name}`, () => {
      claimOutcome(open, shape, recoveries);
      if (alsoAfterwards) claimAfterwards(open, shape);
    });
  }
}

function claimOutcome(open: OpenDatabase, shape: CrashShape, recoveries: readonly string[]): void {
  for (const name of recoveries) {
    const recover = RECOVERIES[name];
    assert.ok(recover !== undefined, `there is a recovery by ${name}`);
    test(`recovered by ${name}`, async () => {
      for (const crash of await crashesOf(open, shape)) {
        const scene = await crashed(open, shape, crash);
        const { database } = scene;
        await recover(database, namesOf(shape));
        await assertOutcome(scene, shape);
      }
    });
  }
}

function claimAfterwards(open: OpenDatabase, shape: CrashShape): void {
  test('recovered by a second reader, after the first has crashed during its recovery', async () => {
    for (const crash of await crashesOf(open, shape)) {
      for (let step = 1; ; step++) {
        const scene = await crashed(open, shape, crash);
        const { database } = scene;
        database.bury('A');
        const recoverer = database.client('B');
        recoverer.store.crashAfter(step);
        const ended = await recoverer.read(namesOf(shape)).then(
          () => true,
          (error: Error) => {
            assert.equal(error.name, 'CrashedError');
            return false;
          },
        );
        database.bury('B');
        await database.client('C').read(namesOf(shape));
        await assertOutcome(scene, shape);
        if (ended && recoverer.store.mutationCount < step) break;
      }
    }
  });

  test('a blind writer overwrites the cells, and late messages of the dead client do not undo that', async () => {
    for (const crash of await crashesOf(open, shape)) {
      const scene = await crashed(open, shape, crash);
      const { database } = scene;
      database.bury('A');
      const b = database.client('B');
      const names = namesOf(shape);
      const newest = Object.fromEntries(names.map((name) => [name, 'newest']));
      const writing = transact(b.context, async (transaction) => put(transaction, newest));
      await database.runUntil(writing);
      await b.settled();
      await scene.client.store.deliverDuplicates();
      assert.deepEqual(await b.read(names), newest, JSON.stringify(crash));
      assert.deepEqual(await allLocks(database), []);
    }
  });
}

/** Runs the shape's transaction as client A, which crashes at `crash`; undefined: a dry run. */
async function crashed(
  open: OpenDatabase,
  shape: CrashShape,
  crash: Crash | undefined,
): Promise<CrashScene> {
  const database = await open({ observed: ['seen'] });
  const old = Object.fromEntries(namesOf(shape).map((name) => [name, 'old']));
  await database.client('setup').write(old);
  const client = database.client('A');
  client.store.duplicate(() => true);
  if (crash !== undefined) client.store[crash.moment](crash.step);
  try {
    const transaction = await client.begin();
    put(transaction, shape.values);
    for (const name of shape.locked ?? []) await transaction.lock(cell(name));
    await transaction.commit();
  } catch (error) {
    assert.equal((error as Error).name, 'CrashedError');
  }
  await client.settled();
  assert.equal(client.store.isCrashed, crash !== undefined, 'the step is reached');
  return { database, client, crash, committed: client.store.trace.some(isCommitPoint) };
}

/** Every place to crash, found by running the transaction once without a crash. */
async function crashesOf(open: OpenDatabase, shape: CrashShape): Promise<readonly Crash[]> {
  const { client, committed } = await crashed(open, shape, undefined);
  const mutations = client.store.trace.filter((call) => call.kind === 'mutation');
  assert.ok(committed && mutations.length >= 2);
  return mutations.flatMap(({ number: step }): Crash[] => [
    { moment: 'crashBefore', step },
    { moment: 'crashAfter', step },
  ]);
}

function isCommitPoint(call: WatchedCall): boolean {
  if (call.kind !== 'mutation') return false;
  const { table, row, mutations } = call;
  return table === 't' && row === 'p' && mutations.some((one) => isOf('write', one));
}

async function assertOutcome(
  { database, client: dead, crash, committed }: CrashScene,
  shape: CrashShape,
): Promise<void> {
  const names = namesOf(shape);
  const old = Object.fromEntries(names.map((name) => [name, 'old']));
  const expected = committed ? { ...old, ...shape.values } : old;
  const reader = database.client('reader');
  const where = JSON.stringify({ ...crash, committed });
  assert.deepEqual(await allLocks(database), [], where);
  assert.deepEqual(await reader.read(names), expected, where);
  await dead.store.deliverDuplicates();
  assert.deepEqual(await allLocks(database), [], `${where}, when every message has arrived twice`);
  assert.deepEqual(await reader.read(names), expected, where);
}

async function allLocks(database: TestDatabase): Promise<readonly string[]> {
  return [...(await database.locks('t')), ...(await database.locks('u'))];
}

function namesOf({ values, locked = [] }: CrashShape): readonly string[] {
  return [...Object.keys(values), ...locked];
}
