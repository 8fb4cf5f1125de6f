/**
 * Claims about the index while processes die: workers, the first of which owns the store, are
 * killed with `kill -9` while a crawl is loading. At rest all invariants hold, and the index is
 * that of the model: nothing is lost, and an export that arrives twice changes nothing.
 *
 * Every test run loads the beginning of the sample. To load any other crawl, with a kill every
 * second or two until all is loaded and indexed:
 *
 *     CRAWL=crawl.warc.gz node_modules/.bin/node --test workloads/web-index/chaos/chaos.slow.test.ts
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createRandom, openPercolator, type Percolator } from '#engine';
import { temporaryFolder } from '#engine/testing';
import { checkAtRest, checkLive } from '../check/check.ts';
import { type Capture, readCaptures } from '../model/index.ts';
import { createObservers, loadCrawl } from '../percolator/pipeline.ts';
import { createTables } from '../percolator/tables.ts';
import { MemoryServingIndex } from '../percolator/memory-serving-index.fixture.ts';
import type { FromWorker, ServingCall } from './worker.fixture.ts';

const WORKER = fileURLToPath(new URL('worker.fixture.ts', import.meta.url));
const SAMPLE = path.join(
  import.meta.dirname,
  '../../crawl-rate/documents/sample/sqlite-sample.warc.gz',
);
const CRAWL = process.env['CRAWL'] ?? '';
const WORKERS = 2;
/** Once loading has ended and no export arrives over this many kills, all is indexed. */
const QUIET_KILLS = 4;
const CHECK_PAUSE_MS = 100;

/** The serving index, which lives as long as the test, and workers that are killed. */
class Fleet implements AsyncDisposable {
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

  /** Kills the oldest worker, which at the first call owns the store, and starts a new one. */
  async killOldest(): Promise<void> {
    const [oldest] = this.#workers.splice(0, 1);
    assert.ok(oldest !== undefined);
    const exited = once(oldest, 'exit');
    oldest.kill('SIGKILL');
    const [, signal] = (await exited) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL'); // The worker had not ended before.
    await this.start();
  }

  async stop(): Promise<void> {
    for (const worker of this.#workers) {
      const exited = once(worker, 'exit');
      worker.disconnect();
      await exited;
    }
  }

  /** Kills the workers that are left if the test fails: they would keep its process alive. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) {
      const exited = once(worker, 'exit');
      if (worker.kill('SIGKILL')) await exited;
    }
  }

  #apply(what: ServingCall): Promise<void> {
    return 'put' in what ? this.serving.put(...what.put) : this.serving.remove(...what.remove);
  }

  #answer(worker: ChildProcess, call: number): void {
    if (worker.connected) worker.send(call, () => {}); // It may die before that.
  }
}

interface Chaos {
  readonly captures: readonly Capture[];
  /** The most kills; there are fewer if all is indexed before. */
  readonly kills: number;
  /** The shortest and the longest time between two kills, in milliseconds. */
  readonly pauses: readonly [min: number, max: number];
}

interface Survived {
  readonly findings: readonly string[];
  readonly serving: MemoryServingIndex;
  /** Exports that had arrived at each kill. */
  readonly appliedAtKill: readonly number[];
}

/** Loads the captures and kills workers meanwhile, until the observers are at rest. */
async function survive({ captures, kills, pauses }: Chaos): Promise<Survived> {
  const random = createRandom(1);
  const folder = temporaryFolder();
  await using fleet = new Fleet(folder);
  const { serving } = fleet;
  for (let i = 0; i < WORKERS; i++) await fleet.start();
  await using percolator = await openPercolator({ folder });
  await createTables(percolator);
  let isLoaded = false;
  const loaded = loadCrawl(percolator, captures, { inFlight: 4 }).then(() => {
    isLoaded = true;
  });
  const over = new AbortController();
  const live = liveFindings(percolator, over.signal);
  const appliedAtKill: number[] = [];
  const isDone = (): boolean => isLoaded && appliedAtKill.at(-QUIET_KILLS) === serving.applied;
  while (appliedAtKill.length < kills && !isDone()) {
    await sleep(random.integer(...pauses));
    appliedAtKill.push(serving.applied);
    await fleet.killOldest();
  }
  await loaded;
  over.abort();
  assert.deepEqual(await live, []);
  await using worker = percolator.startWorker(createObservers(serving));
  await worker.idle();
  await fleet.stop(); // Each worker ends the runs that it has begun.
  await worker.idle();
  return { findings: await checkAtRest(percolator, { captures, serving }), serving, appliedAtKill };
}

/** The findings of checks that run one after the other while workers die. */
async function liveFindings(
  percolator: Percolator,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  do {
    found.push(...(await checkLive(percolator)));
    // If this process owns the store by now, its reads wait for nothing, so no timer would run.
    await sleep(CHECK_PAUSE_MS);
  } while (!signal.aborted);
  return found;
}

async function capturesIn(file: string): Promise<readonly Capture[]> {
  return Array.fromAsync(readCaptures([file], { onDamage: () => {} }));
}

test('workers killed while a crawl loads lose nothing: at rest the index is that of the model', async () => {
  const captures = (await capturesIn(SAMPLE)).slice(0, 60);
  const { findings, serving, appliedAtKill } = await survive({
    captures,
    kills: 5,
    pauses: [50, 500],
  });
  assert.deepEqual(findings, []);
  // A fast machine may be done before the last kill.
  const during = appliedAtKill.filter((applied) => applied < serving.applied);
  assert.ok(during.length > 0, 'there was work left at a kill');
});

const skip = CRAWL === '' && 'CRAWL names no WARC file';
test('workers killed while a whole crawl loads lose nothing', { skip }, async (t) => {
  const captures = await capturesIn(CRAWL);
  const chaos = { captures, kills: Infinity, pauses: [200, 1_500] } as const;
  const { findings, serving, appliedAtKill } = await survive(chaos);
  const { applied, refused, pages } = serving;
  t.diagnostic(
    `${captures.length} captures, ${appliedAtKill.length} kills, ${pages.size} results, ` +
      `${applied} exports; ${refused} were sent a second time, and changed nothing`,
  );
  assert.deepEqual(findings, []);
});
