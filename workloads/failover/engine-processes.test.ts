/** How workers end, and which oracle fails; the processes themselves are not started. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLeasedAllocator, serveOracle, systemClock } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import type { Crew } from '../harness/processes/index.ts';
import { EngineProcesses } from './engine-processes.ts';

const OPTIONS = {
  store: { kind: 'hbase', servers: [] },
  workload: 'crawl-rate',
  workers: 2,
  concurrency: 2,
} as const;

/** A crew whose members do not stop in time; the names of those that it kills. */
function slowCrew(): { readonly crew: Crew; readonly killed: string[] } {
  const killed: string[] = [];
  const crew = {
    start: ({ name }: { readonly name: string }) => Promise.resolve({ name }),
    stop: () => Promise.reject(new Error('asked to stop, worker-1 ended with exit code 1')),
    kill: ({ name }: { readonly name: string }) => Promise.resolve(void killed.push(name)),
  };
  return { crew: crew as unknown as Crew, killed };
}

test('workers that need not end in good order are killed, however long their runs would still take', async () => {
  const { crew, killed } = slowCrew();
  const processes = await EngineProcesses.start(crew, OPTIONS);
  await processes.startWorkers(() => {});
  await assert.rejects(processes.endWorkers({ inGoodOrder: true }), /asked to stop/);
  await processes.endWorkers({ inGoodOrder: false });
  assert.deepEqual(killed, ['worker-1', 'worker-2']);
});

test('the oracle to be killed is the one that holds the lease at that moment', async () => {
  const processes = await EngineProcesses.start(slowCrew().crew, OPTIONS);
  const store = createMemoryBigtable();
  await using cleanup = new AsyncDisposableStack();
  const sources = [];
  for (const address of processes.database.oracles) {
    const source = cleanup.use(await openLeasedAllocator(store, systemClock));
    const server = await serveOracle(source, { address });
    cleanup.defer(() => server.close());
    sources.push(source);
  }
  assert.equal(await processes.leasedOracle(), 'oracle-1');
  await sources[0]?.close();
  assert.equal(await processes.leasedOracle(), 'oracle-2');
});
