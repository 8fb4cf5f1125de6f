/**
 * Claims about the index while processes die: workers, the first of which owns the store, are killed
 * with `kill -9` while a crawl is loading. At rest all invariants hold, and each export has arrived once.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createRandom, openPercolator } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { checkAtRest, checkLive } from '../check/index.ts';
import { readCaptures } from '../model/index.ts';
import {
  createObservers,
  createTables,
  loadCrawl,
  MemoryServingIndex,
} from '../percolator/index.ts';
import type { FromWorker, ServingCall } from './worker.fixture.ts';

const WORKER = fileURLToPath(new URL('worker.fixture.ts', import.meta.url));
const SAMPLE = path.join(
  import.meta.dirname,
  '../../crawl-rate/documents/sample/sqlite-sample.warc.gz',
);
const CAPTURES = 90;
const WORKERS = 2;
const KILLS = 6;

/** The serving index, which lives as long as the test, and workers that are killed. */
class Fleet {
  readonly serving: MemoryServingIndex = new MemoryServingIndex();
  readonly #folder: string;
  readonly #workers: ChildProcess[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  async start(): Promise<void> {
    const worker = fork(WORKER, [this.#folder]);
    this.#workers.push(worker);
    const ready = Promise.withResolvers<void>();
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'ready') ready.resolve();
      else void this.#apply(message.what).then(() => this.#answer(worker, message.call));
    });
    await ready.promise;
  }

  /** Kills the oldest worker, the first time the owner of the store. Another one takes its place. */
  async killOldest(): Promise<void> {
    const [oldest] = this.#workers.splice(0, 1);
    assert.ok(oldest !== undefined);
    const exited = once(oldest, 'exit');
    oldest.kill('SIGKILL');
    const [, signal] = (await exited) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL'); // It has not ended before.
    await this.start();
  }

  async stop(): Promise<void> {
    for (const worker of this.#workers) {
      const exited = once(worker, 'exit');
      worker.disconnect();
      await exited;
    }
  }

  #apply(what: ServingCall): Promise<void> {
    return 'put' in what ? this.serving.put(...what.put) : this.serving.remove(...what.remove);
  }

  #answer(worker: ChildProcess, call: number): void {
    if (worker.connected) worker.send(call, () => {}); // It may die before it hears of it.
  }
}

test('workers killed while a crawl loads lose nothing, and export nothing twice', async () => {
  const random = createRandom(1);
  const folder = temporaryFolder();
  const fleet = new Fleet(folder);
  for (let i = 0; i < WORKERS; i++) await fleet.start();
  const all = await Array.fromAsync(readCaptures([SAMPLE], { onDamage: () => {} }));
  const captures = all.slice(0, CAPTURES);
  await using percolator = await openPercolator({ folder });
  await createTables(percolator);
  const loaded = loadCrawl(percolator, captures, { inFlight: 4 });
  const appliedAtKill: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(random.integer(50, 500));
    appliedAtKill.push(fleet.serving.applied);
    await fleet.killOldest();
    assert.deepEqual(await checkLive(percolator), []);
  }
  await loaded;
  await using worker = percolator.startWorker(createObservers(fleet.serving));
  await worker.idle();
  await fleet.stop(); // Each ends the runs that it has begun.
  await worker.idle();
  const { serving } = fleet;
  assert.deepEqual(await checkAtRest(percolator, { captures, serving }), []);
  // A fast machine may be done before the last one.
  const during = appliedAtKill.filter((applied) => applied < serving.applied);
  assert.ok(during.length > 0, 'there was work left at a kill');
});
