/**
 * A client of the brokerage as a process: customers, exchange and the client library of the system,
 * as in the paper. It serves all runs on a system, so that compiled code and connections are warm.
 * Before each run it forgets the limit orders that still wait for their price, and one client
 * cancels them in the brokerage, as the specification requires.
 */
import { type Clock, createRandom, systemClock } from '#engine';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { serve, tellParent } from '../harness/processes/index.ts';
import { countsPerUnit, copyCounts, type StoreCounts } from '../harness/watched-stores.ts';
import {
  CustomerEmulator,
  type EmulatorResult,
  inFlightMaxOf,
} from './driver/customer-emulator.ts';
import {
  type ClientAnswer,
  type ClientProcessOptions,
  encodeRecords,
  type ClientOrder,
  type PrepareOrder,
  type RunOrder,
} from './messages.ts';
import { createPopulation } from './population/population.ts';
import { openBrokerage } from './systems/database.ts';

/** The clock that all processes of a machine share. */
const sharedClock: Clock = { ...systemClock, monotonicMs };

await serve<ClientOrder>(async (options: ClientProcessOptions) => {
  const { address, scale, seed, client, clients, firstTradeId, originMs } = options;
  const population = createPopulation(scale, seed);
  const opened = await openBrokerage(address);
  const stopped = new AbortController();
  let trades = 0;
  const emulator = new CustomerEmulator({
    clock: sharedClock,
    random: createRandom(seed).fork(`client ${client} from trade ${firstTradeId}`),
    population,
    brokerage: opened.brokerage,
    range: rangeOf(population.roster.customers, client, clients),
    nextTradeId: () => firstTradeId + client + clients * trades++,
    originMs,
    inFlightMax: inFlightMaxOf(clients),
  });
  const prepare = async ({ cleansUp, collects }: PrepareOrder): Promise<void> => {
    await emulator.prepare({ cleansUp });
    if (collects) await opened.collect();
    tellParent({ kind: 'prepared' } satisfies ClientAnswer);
  };
  /** Resolves when the collector has stopped, too: nothing is in flight then. */
  const emulate = async (order: RunOrder): Promise<EmulatorResult> => {
    const isFirst = client === 0;
    await using meanwhile = new AsyncDisposableStack();
    if (isFirst) meanwhile.use(opened.startCollecting());
    return await emulator.run({ ...order, hasMaintenance: isFirst, signal: stopped.signal });
  };
  const run = async (order: RunOrder): Promise<void> => {
    const store = watchStore(opened.counts, order, stopped.signal);
    const emulated = await emulate(order);
    const records = encodeRecords(emulated.records);
    tellParent({
      kind: 'finished',
      ...emulated,
      records,
      store: await store,
    } satisfies ClientAnswer);
  };
  return {
    onMessage: (order) => void (order.kind === 'run' ? run(order) : prepare(order)).catch(fail),
    stop: async () => {
      stopped.abort(new Error('asked to stop'));
      emulator.exchange.close();
      await opened.close();
    },
  };
});

function rangeOf(
  customers: number,
  client: number,
  clients: number,
): { readonly first: number; readonly end: number } {
  const at = (index: number): number => Math.floor((customers * index) / clients);
  return { first: at(client), end: at(client + 1) };
}

/** Counts the calls of the store within the measured interval. */
async function watchStore(
  counts: StoreCounts | null,
  { fromMs, toMs }: RunOrder,
  signal: AbortSignal,
): Promise<StoreCounts | null> {
  if (counts === null) return null;
  await sharedClock.sleep(fromMs - sharedClock.monotonicMs(), signal);
  const before = copyCounts(counts);
  await sharedClock.sleep(toMs - sharedClock.monotonicMs(), signal);
  return countsPerUnit(copyCounts(counts), before, 1);
}

/** The error ends this process; the parent then names this client and ends the run. */
function fail(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
