/** How workers end, which oracle has the lease, and what a process that comes back has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLeasedAllocator, serveOracle, systemClock } from '#engine';
import { createMemoryBigtable, freePorts, HOST } from '#engine/testing';
import { type Crew, startEngine } from './index.ts';

const ENGINE = { store: { kind: 'hbase', servers: [] }, oracles: 2 } as const;
const WORKERS = { program: new URL('child.fixture.ts', import.meta.url), options: {} };

interface StartedProcess {
  readonly name: string;
  readonly options: unknown;
  readonly onMessage?: (message: unknown) => void;
}

/** A crew of processes that are not real and do not stop in time. */
async function slowCrew(): Promise<{
  readonly crew: Crew;
  readonly started: readonly StartedProcess[];
  /** The names of those that it kills. */
  readonly killed: readonly string[];
}> {
  const [started, killed]: [StartedProcess[], string[]] = [[], []];
  const addresses = (await freePorts(3)).map((port) => `${HOST}:${port}`);
  const crew = {
    placeOf: () => undefined,
    start: async (options: StartedProcess) => {
      const ready = Promise.resolve({ address: addresses[started.push(options) - 1] });
      return { name: options.name, ready };
    },
    stop: () => Promise.reject(new Error('asked to stop, worker-1 ended with exit code 1')),
    kill: ({ name }: StartedProcess) => Promise.resolve(void killed.push(name)),
  };
  return { crew: crew as unknown as Crew, started, killed };
}

test('workers that do not have to end in good order are killed, however long their runs would still take', async () => {
  const { crew, killed } = await slowCrew();
  const engine = await startEngine(crew, ENGINE);
  await engine.startWorkers(2, WORKERS);
  await assert.rejects(engine.endWorkers({ inGoodOrder: true }), /asked to stop/);
  await engine.endWorkers({ inGoodOrder: false });
  assert.deepEqual(killed, ['worker-1', 'worker-2']);
});

test('the oracle to be killed is the one that holds the lease at that moment', async () => {
  const { crew } = await slowCrew();
  const engine = await startEngine(crew, ENGINE);
  const store = createMemoryBigtable();
  await using cleanup = new AsyncDisposableStack();
  const sources = [];
  for (const address of engine.database.oracles) {
    const source = cleanup.use(await openLeasedAllocator(store, systemClock));
    const server = await serveOracle(source, { address });
    cleanup.defer(() => server.close());
    sources.push(source);
  }
  assert.equal(await engine.leasedOracle(), 'oracle-1');
  await sources[0]?.close();
  assert.equal(await engine.leasedOracle(), 'oracle-2');
});

test('a service that is started again has its old address, and a worker has another life', async () => {
  const { crew, started } = await slowCrew();
  const engine = await startEngine(crew, ENGINE);
  const lives: number[] = [];
  await engine.startWorkers(2, { ...WORKERS, onMessage: (_, life) => void lives.push(life) });
  for (const name of ['oracle-2', 'worker-1']) {
    await engine.start(name); // It runs already.
    await engine.kill(name);
    await engine.start(name);
  }
  const again = started.slice(5).map(({ name, options }) => [name, options]);
  const address = engine.database.oracles[1];
  assert.deepEqual(again, [
    ['oracle-2', { store: ENGINE.store, address }],
    ['worker-1', {}],
  ]);
  for (const { onMessage } of started) onMessage?.('hello');
  assert.deepEqual(lives, [0, 1, 2]);
});
