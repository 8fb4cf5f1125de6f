/**
 * Five races that Figure 6 loses: each runs on the code of the figure, where it goes wrong, and
 * with the same schedule on the engine, where it does not.
 *
 * A lost answer is repeated below the code of the figure, as every client of a network service does
 * it. The engine repeats on its own: it has to know that it has asked before.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hasCode, isRetryable, PercolatorError } from './base/index.ts';
import { type Bigtable, decorate, type Timestamp } from './bigtable/index.ts';
import { Figure6Transaction } from './figure-6.ts';
import {
  cell,
  createMemoryBigtable,
  FaultyBigtable,
  type MutationCall,
  once,
  openTestDatabase,
  ScriptedOracle,
} from './testing/index.ts';
import { isOf, snapshotAt, WRITE } from './transaction/index.ts';

/** One process of a database: its own connection, which loses messages as the test says. */
interface Process {
  readonly store: FaultyBigtable;
  /** One attempt to set each row. False, or an error, if it did not commit as far as it knows. */
  set(rows: Readonly<Record<string, string>>): Promise<boolean>;
  /** Adds 1 to a row, once; the same answers. */
  increment(row: string): Promise<boolean>;
  /** The rows at a timestamp; without one, at a new timestamp. */
  read(rows: readonly string[], at?: Timestamp): Promise<Seen>;
}

interface Seen {
  readonly at: Timestamp;
  readonly values: readonly (string | undefined)[];
}

interface World {
  process(name: string): Process;
  /** From now on all processes know that this one is dead. */
  bury(name: string): void;
  /** Lets time pass until the promise settles. */
  run<T>(promise: Promise<T>): Promise<T>;
}

const COLUMN = 'c';

async function figure6(): Promise<World> {
  const shared = createMemoryBigtable({});
  await shared.createTable('t', { families: ['data', 'lock', 'write'] });
  const oracle = new ScriptedOracle();
  const dead = new Set<string>();
  const owners = new Map<Timestamp, string>();

  function process(name: string): Process {
    const store = new FaultyBigtable(shared);
    const services = {
      store: repeating(store),
      table: 't',
      oracle,
      isSuspect: (start: Timestamp) => dead.has(owners.get(start) ?? ''),
      backOff: async () => assert.fail('no live lock is in the way of a reader here'),
    };
    const begin = async (at?: Timestamp): Promise<Figure6Transaction> => {
      const asked = at === undefined ? oracle : { next: async () => at };
      const transaction = await Figure6Transaction.begin({ ...services, oracle: asked });
      owners.set(transaction.startTimestamp, name);
      return transaction;
    };
    return {
      store,
      async set(rows) {
        const transaction = await begin();
        for (const [row, value] of Object.entries(rows)) transaction.set(row, COLUMN, value);
        return transaction.commit();
      },
      async increment(row) {
        const transaction = await begin();
        const before = Number((await transaction.get(row, COLUMN)) ?? 0);
        transaction.set(row, COLUMN, String(before + 1));
        return transaction.commit();
      },
      async read(rows, at) {
        const transaction = await begin(at);
        const values = await Promise.all(rows.map((row) => transaction.get(row, COLUMN)));
        return { at: transaction.startTimestamp, values };
      },
    };
  }

  return {
    process,
    bury: (name) => void dead.add(name),
    run: (promise) => promise,
  };
}

async function engine(): Promise<World> {
  const database = await openTestDatabase();

  function process(name: string): Process {
    const client = database.client(name);
    const committed = async (work: Promise<unknown>): Promise<boolean> => {
      try {
        await work;
        return true;
      } catch (error) {
        if (error instanceof PercolatorError && isRetryable(error)) return false;
        throw error;
      }
    };
    return {
      store: client.store,
      set: (rows) => committed(client.write(rows)),
      async increment(row) {
        const transaction = await client.begin();
        const before = Number((await transaction.get(cell(row)))?.toString() ?? 0);
        transaction.set(cell(row), String(before + 1));
        return committed(transaction.commit());
      },
      async read(rows, at) {
        await using snapshot = await snapshotAt(client.context, at);
        const read = await snapshot.getMany(rows.map((row) => cell(row)));
        const values = read.map((value) => value?.toString());
        return { at: snapshot.startTimestamp, values };
      },
    };
  }

  return {
    process,
    bury: (name) => database.bury(name),
    run: (promise) => database.runUntil(promise),
  };
}

type Race = (world: World) => Promise<unknown>;

/** What the race has come to; time passes while it runs. */
function outcomeOf(race: Race, world: World): Promise<unknown> {
  return world.run(race(world));
}

describe('a race that Figure 6 loses and the engine does not:', () => {
  test('P1: a copy of a prewrite arrives after the clean-up, and what was rolled back commits', async () => {
    async function race(world: World): Promise<unknown> {
      const [a, b] = [world.process('A'), world.process('B')];
      a.store.duplicate(once(isPrewrite));
      let before: Seen | undefined;
      a.store.beforeCall = first(isCommit, async () => {
        world.bury('A'); // It only seems dead.
        before = await b.read(['p', 'x']);
        await a.store.deliverDuplicates();
      });
      await a.set({ p: '1', x: '1' });
      return [before?.values, (await b.read(['p', 'x'], before?.at)).values];
    }
    const nothing = [undefined, undefined];
    assert.deepEqual(
      await outcomeOf(race, await figure6()),
      [nothing, ['1', '1']],
      'one snapshot, read twice',
    );
    assert.deepEqual(await outcomeOf(race, await engine()), [nothing, nothing]);
  });

  test('P7: the locks of a transaction that has lost keep others out', async () => {
    async function race(world: World): Promise<unknown> {
      const [a, b, c] = [world.process('A'), world.process('B'), world.process('C')];
      // B commits y after A has begun, and before A locks y.
      a.store.beforeCall = first(isPrewrite, () => b.set({ y: 'of B' }));
      return [await a.set({ x: 'of A', y: 'of A' }), await c.set({ x: 'of C' })];
    }
    assert.deepEqual(await outcomeOf(race, await figure6()), [false, false]);
    assert.deepEqual(await outcomeOf(race, await engine()), [false, true]);
  });

  test('P11: the answer to a commit is lost, and the caller does it again', async () => {
    async function race(world: World): Promise<unknown> {
      const a = world.process('A');
      a.store.loseAnswer(once(isCommit));
      for (let tries = 0; tries < 3; tries++) if (await a.increment('n')) break;
      return (await a.read(['n'])).values;
    }
    assert.deepEqual(await outcomeOf(race, await figure6()), ['2'], 'incremented twice');
    assert.deepEqual(await outcomeOf(race, await engine()), ['1']);
  });

  test('P12: the answer to a prewrite is lost, and its repetition conflicts with itself', async () => {
    async function race(world: World): Promise<unknown> {
      const a = world.process('A');
      a.store.loseAnswer(once(isPrewrite));
      const tries = [];
      for (let i = 0; i < 3; i++) tries.push(await a.set({ x: '1' }));
      return tries;
    }
    assert.deepEqual(await outcomeOf(race, await figure6()), [false, false, false], 'it is alone');
    assert.deepEqual(await outcomeOf(race, await engine()), [true, true, true]);
  });

  test('P21: a transaction that only writes loses to the lock of a dead one, forever', async () => {
    async function race(world: World): Promise<unknown> {
      const [a, b] = [world.process('A'), world.process('B')];
      a.store.crashAfter(1); // It has locked x.
      await assert.rejects(a.set({ x: 'of A' }), { name: 'CrashedError' });
      world.bury('A');
      const tries = [];
      for (let i = 0; i < 3; i++) tries.push(await b.set({ x: 'of B' }));
      return tries;
    }
    assert.deepEqual(await outcomeOf(race, await figure6()), [false, false, false]);
    assert.deepEqual(
      await outcomeOf(race, await engine()),
      [false, true, true],
      'the first try cleans up',
    );
  });
});

function setsRecord({ mutations }: MutationCall): boolean {
  return mutations.some(
    (one) => one.kind === 'set' && (one.family === 'write' || isOf(WRITE, one)),
  );
}

function isCommit(call: MutationCall): boolean {
  return call.anyOf !== undefined && setsRecord(call);
}

function isPrewrite(call: MutationCall): boolean {
  return call.anyOf !== undefined && !setsRecord(call) && call.mutations.some(isSet);
}

function isSet({ kind }: { readonly kind: string }): boolean {
  return kind === 'set';
}

/** What `beforeCall` does before the first mutation that is meant. */
function first(
  isMeant: (call: MutationCall) => boolean,
  action: () => Promise<unknown>,
): NonNullable<FaultyBigtable['beforeCall']> {
  let isDone = false;
  return async (call) => {
    if (isDone || call.kind !== 'mutation' || !isMeant(call)) return;
    isDone = true;
    await action();
  };
}

/** The store, asked again when an answer is lost. */
function repeating(store: Bigtable): Bigtable {
  return decorate(store, {
    async checkAndMutateRow(conditional) {
      try {
        return await store.checkAndMutateRow(conditional);
      } catch (error) {
        if (!hasCode(error, 'STORE_IN_DOUBT')) throw error;
        return store.checkAndMutateRow(conditional);
      }
    },
  });
}
