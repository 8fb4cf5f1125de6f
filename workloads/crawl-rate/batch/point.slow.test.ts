/** What a point of the batch says about its runs, with an engine that only takes time. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { type BatchEngine, batchCpuSeconds } from '../../harness/batch-engines.ts';
import type { Check } from '../check.ts';
import {
  CYCLES_MIN,
  type Cycle,
  type MapReducePoint,
  type MapReducePointOptions,
  measureMapReduce,
} from './point.ts';

const RUN_MS = 30;
/** A document each millisecond. */
const PER_SECOND = 1_000;

/** Its clusters are wrong, because it finds none. */
function idleFor(runMs: number): BatchEngine {
  return {
    name: 'idle',
    run: async ({ outputFolder }) => {
      await setTimeout(runMs);
      await mkdir(outputFolder);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

const idle = idleFor(RUN_MS);

function measure(
  arrivals: number,
  given: Partial<MapReducePointOptions> = {},
): Promise<MapReducePoint> {
  return measureMapReduce({
    engine: idle,
    serverPids: [],
    folder: temporaryFolder(),
    documents: { repository: 10, documentBytes: 200, seed: 1 },
    repositoryFiles: [],
    arrivals: { file: 'arrivals', documents: arrivals },
    perSecond: PER_SECOND,
    seconds: 0.1,
    signal: new AbortController().signal,
    ...given,
  });
}

test('time and documents are measured from the end of the warm-up to the end of the last run', async () => {
  const { cycles, documents, seconds, series } = await measure(1_000_000);
  assert.ok(cycles.length >= CYCLES_MIN);
  const [lastOfWarmUp] = series.slice(-cycles.length - 1);
  assert.equal(seconds, (series.at(-1)?.seconds ?? 0) - (lastOfWarmUp?.seconds ?? 0));
  assert.equal(documents, (series.at(-1)?.completed ?? 0) - (lastOfWarmUp?.completed ?? 0));
});

test('the interval is measured in full, from the end of the warm-up', async () => {
  const { seconds } = await measure(1_000_000, { engine: idleFor(50), seconds: 1 });
  assert.ok(seconds >= 1, `${seconds} s`);
});

test('runs for which no more documents arrive are not measured', async () => {
  const { cycles, documents, seconds } = await measure(3 * RUN_MS);
  assert.ok(cycles.length < CYCLES_MIN);
  assert.equal(documents === 0, cycles.length === 0);
  assert.equal(seconds === 0, cycles.length === 0);
});

test('the check of a point has a heap of its own', async () => {
  const workerData = { folder: temporaryFolder(), repository: 400_000 };
  const fixture = new URL('checked-point.fixture.ts', import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb: 48 }; // The check needs three times as much.
  const [check] = await once(new Worker(fixture, { workerData, resourceLimits }), 'message');
  assert.match((check as Check).detail, /^document 0+ is in no cluster/);
});

test('the cost on a cluster is not that of the program that asks it', async (t) => {
  if (batchCpuSeconds(idle) === null) return t.skip('only Linux tells the time of processes');
  assert.ok((await measure(1_000_000)).cpuSecondsPerDocument !== null);
  const elsewhere = await measure(1_000_000, { engine: { ...idle, mayWorkElsewhere: true } });
  return assert.equal(elsewhere.cpuSecondsPerDocument, null);
});

test('the cost is not that of the servers of a store that the program has started', async (t) => {
  if (batchCpuSeconds(idle) === null) return t.skip('only Linux tells the time of processes');
  await using server = spinning();
  const { cycles } = await measure(1_000_000, { engine: idleFor(100), serverPids: [server.pid] });
  const sum = (of: (cycle: Cycle) => number): number =>
    cycles.reduce((all, one) => all + of(one), 0);
  const cpuSeconds = sum((cycle) => cycle.cpuSeconds ?? Number.NaN);
  const seconds = sum((cycle) => cycle.seconds);
  return assert.ok(
    cpuSeconds < 0.25 * seconds,
    `${cpuSeconds} s of processor time in ${seconds} s`,
  );
});

/** A process that is always busy. */
function spinning(): AsyncDisposable & { readonly pid: number } {
  const child = execa('sh', ['-c', 'while :; do :; done'], { reject: false });
  const { pid } = child;
  assert.ok(pid !== undefined);
  const dispose = async (): Promise<void> => {
    child.kill('SIGKILL');
    await child;
  };
  return { pid, [Symbol.asyncDispose]: dispose };
}
