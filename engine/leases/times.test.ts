/** Snapshots of a time, from the notes of which timestamp it was; and the history that is kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fsck, openPercolator, type Percolator } from '../index.ts';
import { cell, createMemoryBigtable, put, VirtualClock } from '../testing/index.ts';

const EVERY_MS = 1_000;
const STALE = { code: 'STALE_SNAPSHOT' };

interface Scene {
  readonly percolator: Percolator;
  readonly clock: VirtualClock;
  /** Writes the time in each second, in its middle, from now until `untilMs`. */
  readonly write: (untilMs: number) => Promise<void>;
  readonly seenAt: (ms: number) => Promise<string | undefined>;
}

async function openScene(timesEveryMs?: number): Promise<Scene> {
  const clock = new VirtualClock();
  const store = createMemoryBigtable();
  const percolator = await openPercolator({ store, clock, timesEveryMs });
  await percolator.createTable('t');
  await clock.advance(1);
  return {
    percolator,
    clock,
    write: async (untilMs) => {
      while (clock.wallMs() < untilMs) {
        await clock.advance(500);
        const time = String(Math.floor(clock.wallMs()));
        await percolator.transact(async (transaction) => put(transaction, { x: time }));
        await clock.advance(500);
      }
    },
    seenAt: async (ms) => {
      await using snapshot = await percolator.snapshot(new Date(ms));
      return (await snapshot.get(cell('x')))?.toString();
    },
  };
}

test('a snapshot of a time sees what was committed at the note before, and nothing later', async () => {
  const { write, seenAt, percolator } = await openScene(EVERY_MS);
  await write(20_000);
  for (const ms of [2_000, 2_499, 7_999, 8_000, 15_250]) {
    const second = Math.floor(ms / EVERY_MS);
    assert.equal(await seenAt(ms), String((second - 1) * EVERY_MS + 501), `at ${ms}`);
  }
  assert.deepEqual(await Array.fromAsync(await fsck(percolator.store)), []);
});

test('a time that was not noted is stale, and one in the future is refused', async () => {
  const { write, seenAt, percolator, clock } = await openScene();
  await write(3_000);
  await assert.rejects(seenAt(2_000), STALE);
  const code = 'INVALID_ARGUMENT';
  await assert.rejects(percolator.snapshot(new Date(clock.wallMs() + 1)), { code });
  await assert.rejects(percolator.snapshot(new Date(NaN)), { code });
  await assert.rejects(percolator.snapshot({} as Date), { code });
});

test('any process opens a snapshot of a time that another one has noted', async () => {
  const { write, percolator, clock } = await openScene(EVERY_MS);
  await write(5_000);
  const other = await openPercolator({ store: percolator.store, clock });
  await using snapshot = await other.snapshot(new Date(3_100));
  assert.equal((await snapshot.get(cell('x')))?.toString(), '2501');
});

test('a collector keeps the history that it is asked to, and no more; nor do the notes', async () => {
  const { write, seenAt, percolator, clock } = await openScene(EVERY_MS);
  await write(60_000);
  const options = { historyMs: 10_000, messageLifetimeMs: 1 };
  const { horizon } = await clock.runUntil(percolator.collectGarbage(options));
  assert.equal(await seenAt(51_000), '50501');
  await assert.rejects(seenAt(48_000), STALE);
  assert.ok(horizon > 0);
  await write(62_000);
  const family = 'times';
  const notes = await percolator.store.readRow('percolator-times', 'times', [{ family }]);
  assert.equal(notes?.cells.length, 13, 'ten seconds, the newest below the horizon, and two more');
});

test('notes of a long time without a collector are erased when one runs after all', async () => {
  const { write, percolator, clock } = await openScene(EVERY_MS);
  await clock.advance(2_500 * EVERY_MS);
  await write(2_510 * EVERY_MS);
  const count = async (): Promise<number> => {
    const filter = { family: 'times' };
    return (
      (await percolator.store.readRow('percolator-times', 'times', [filter]))?.cells.length ?? 0
    );
  };
  assert.ok((await count()) > 2_500);
  await clock.runUntil(percolator.collectGarbage({ messageLifetimeMs: 1 }));
  await clock.advance(10 * EVERY_MS);
  const left = await count();
  assert.ok(left > 0 && left < 25, `${left} notes`);
});

test('a collector that is to keep history, of which no time was noted, collects nothing', async () => {
  const { write, percolator, clock } = await openScene();
  await write(10_000);
  const options = { historyMs: 5_000, messageLifetimeMs: 1 };
  const report = await clock.runUntil(percolator.collectGarbage(options));
  assert.deepEqual([report.horizon, report.cellsDeleted], [0, 0]);
  const without = await clock.runUntil(percolator.collectGarbage({ messageLifetimeMs: 1 }));
  assert.ok(without.cellsDeleted > 0);
});
