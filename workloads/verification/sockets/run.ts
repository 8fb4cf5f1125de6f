/**
 * Runs on real sockets: the sharing of the embedded store, and the HBase client. Each is given a
 * seed and knobs, and ends with what its judge found.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom, PercolatorError, systemClock } from '../../../engine/base/index.ts';
import { Client } from '../../../engine/bigtable/embedded/sharing/client.ts';
import { Service } from '../../../engine/bigtable/embedded/sharing/service.ts';
import { socketOf } from '../../../engine/bigtable/embedded/sharing/socket-place.ts';
import { openHBase } from '../../../engine/bigtable/hbase/index.ts';
import { serveHBase } from '../../../engine/bigtable/hbase/simulated-server.fixture.ts';
import type { Bigtable } from '../../../engine/bigtable/index.ts';
import { createMemoryBigtable } from '../../../engine/testing/memory-bigtable.ts';
import type { Violation } from '../judges/index.ts';
import { mutationsOf } from '../simulation/hbase/truth.ts';
import { Crowd, LARGE, LARGE_ROW, type Misbehaviour } from './crowd.ts';
import { FAMILY, SocketLoad, TABLE } from './load.ts';
import { type ConnectionFault, Proxy } from './proxy.ts';

export interface SocketKnobs {
  /** What connections may meet. Default: everything. */
  readonly faults: readonly ConnectionFault[];
  /** Whether the owner of the shared store dies. Default: by the seed. */
  readonly ownerDies: boolean;
  /** Whether the owner sets fences, which also stop what is late. Default: by the seed. */
  readonly fences: boolean;
  /** What other clients of the shared store do, while no connection is disturbed. Default: none. */
  readonly misbehaviour: Misbehaviour;
}

export interface SocketRun {
  readonly violations: readonly Violation[];
  readonly told: SocketLoad['told'];
  /** What each connection was to meet. */
  readonly met: readonly ConnectionFault[];
}

/*
 * The embedded store's sharing: an owner, and clients whose connections to it are
 * disturbed. In half of the runs the owner sets fences. In half of them it dies, and one of the
 * clients owns the store from then on; that one may stand still just before, for longer than its
 * requests may wait.
 *
 * Or no connection is disturbed, and other clients misbehave (crowd.ts).
 *
 * The store itself is one in memory, which outlives its owners: under test is how its processes
 * talk. All are in this process, so when one stands still, all do.
 */

const REQUEST_MS = 400;
/** Where nothing is disturbed, every call is answered in time on any machine. */
const CALM_REQUEST_MS = 20_000;
/** Between two neighbouring lines of code, a busy machine may do something else. */
const SLACK_MS = 600;
/** Far more often than collectors set fences. */
const FENCE_MS = 50;
const STANDSTILL_MS = REQUEST_MS + 2 * SLACK_MS;

export async function runSharedStore(
  seed: number,
  { misbehaviour, ...knobs }: Partial<SocketKnobs> = {},
): Promise<SocketRun> {
  const random = createRandom(seed).fork('shared store');
  const crowd = misbehaviour && new Crowd(misbehaviour);
  const faults = crowd === undefined ? knobs.faults : (['none'] as const);
  const requestMs = crowd === undefined ? REQUEST_MS : CALM_REQUEST_MS;
  const dies = crowd === undefined && (knobs.ownerDies ?? random.fraction() < 0.5);
  const folder = mkdtempSync(path.join(tmpdir(), 'percolator-sockets-'));
  const memory = createMemoryBigtable();
  await memory.createTable(TABLE, { families: [FAMILY] });
  const taken = new Map<string, number[]>();
  const order: string[] = [];
  const store = watched(memory, { taken, order, crowd });
  const proxy = new Proxy(
    { path: path.join(folder, 'socket') },
    { random: random.fork('proxy'), faults, holdMs: STANDSTILL_MS, leftMs: REQUEST_MS / 2 },
  );
  await proxy.listen(path.join(folder, 'proxy'));
  const standsStill = random.fraction() < 0.7;
  const next = path.join(folder, 'next');
  mkdirSync(next);
  const services = [await serve(folder, store)];
  await memory.mutateRows([LARGE]);
  await crowd?.begin(socketOf(folder));
  let isDead = false;
  const own = async (): Promise<Bigtable | undefined> => {
    if (!isDead) return undefined;
    if (standsStill) standStill(STANDSTILL_MS);
    services.push(await serve(next, store));
    proxy.moveTo({ path: socketOf(next) });
    return store;
  };
  const clients = [own, undefined, undefined].map((mayOwn) =>
    clientOf(folder, memory, { own: mayOwn, requestMs }),
  );
  const load = new SocketLoad(() => systemClock.monotonicMs());
  const ended = new AbortController();
  // A crowd confirms no fence.
  const fences = crowd === undefined && (knobs.fences ?? random.fork('fences').fraction() < 0.5);
  const fencing = fences ? fence(services, ended.signal) : Promise.resolve([]);
  const running = clients.map((client, i) =>
    load.run(client, { random: random.fork(`client ${i}`), callers: 3, calls: 25, ordered: true }),
  );
  if (dies) {
    await systemClock.sleep(random.integer(20, 400));
    isDead = true;
    proxy.moveTo(undefined);
  }
  await Promise.all(running);
  ended.abort();
  await crowd?.end();
  proxy.calm();
  await load.judge(memory);
  load.judgeTimes(taken, requestMs + SLACK_MS);
  load.judgeFences(taken, await fencing);
  load.judgeOrder(order);
  if (crowd !== undefined) load.judgeServed();
  await Promise.all(clients.map((client) => client.close()));
  await proxy[Symbol.asyncDispose]();
  await Promise.all(services.map((service) => service.close()));
  rmSync(folder, { recursive: true });
  const violations = [...load.violations, ...(crowd?.violations ?? [])];
  return { violations, told: load.told, met: proxy.met };
}

async function serve(folder: string, store: Bigtable): Promise<Service> {
  const service = new Service(folder, store, { fsync: true, store: 1 });
  await service.start();
  return service;
}

/** Resolves to when fences were set. */
async function fence(services: readonly Service[], ended: AbortSignal): Promise<readonly number[]> {
  const fencesMs: number[] = [];
  while (!ended.aborted) {
    await systemClock.sleep(FENCE_MS, ended);
    for (const service of services) service.fence();
    fencesMs.push(systemClock.monotonicMs());
  }
  return fencesMs;
}

function clientOf(
  folder: string,
  { manifest }: Bigtable,
  {
    own,
    requestMs,
  }: {
    readonly own: (() => Promise<Bigtable | undefined>) | undefined;
    readonly requestMs: number;
  },
): Bigtable {
  return new Client({
    manifest,
    fsync: true,
    readOnly: false,
    attachMs: requestMs,
    requestMs,
    socketPath: () => path.join(folder, 'proxy'),
    own,
    refusal: (reason) => new PercolatorError('STORE_UNAVAILABLE', reason),
  });
}

/** Nothing of this process runs meanwhile, as after SIGSTOP: no timer fires. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Notes when and in which order the mutations of rows are taken, and what the crowd is given. */
function watched(
  store: Bigtable,
  {
    taken,
    order,
    crowd,
  }: {
    readonly taken: Map<string, number[]>;
    readonly order: string[];
    readonly crowd: Crowd | undefined;
  },
): Bigtable {
  const note = (row: string): void => {
    order.push(row);
    taken.set(row, [...(taken.get(row) ?? []), systemClock.monotonicMs()]);
  };
  return {
    ...bound(store),
    readRow: (...given) => {
      if (given[1] === LARGE_ROW) crowd?.gave();
      return store.readRow(...given);
    },
    checkAndMutateRow: (one) => {
      note(one.row);
      return store.checkAndMutateRow(one);
    },
    checkAndMutateRows: (all) => {
      for (const { row } of all) note(row);
      return store.checkAndMutateRows(all);
    },
    mutateRows: (all) => {
      for (const { row } of all) note(row);
      return store.mutateRows(all);
    },
  };
}

/** The memory store has no state of an owner: closing one does not close it. */
function bound(store: Bigtable): Bigtable {
  const close = async (): Promise<void> => {};
  return {
    manifest: store.manifest,
    readRow: (...given) => store.readRow(...given),
    readRows: (...given) => store.readRows(...given),
    readRange: (...given) => store.readRange(...given),
    checkAndMutateRow: (given) => store.checkAndMutateRow(given),
    checkAndMutateRows: (given) => store.checkAndMutateRows(given),
    mutateRows: (given) => store.mutateRows(given),
    sampleRowKeys: (table) => store.sampleRowKeys(table),
    createTable: (...given) => store.createTable(...given),
    listTables: () => store.listTables(),
    dropTable: (table) => store.dropTable(table),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/*
 * The HBase client: a proxy for each server of the simulated HBase, and
 * clients whose connections to them are disturbed. HBase promises nothing about deadlines.
 */

const TIMEOUT_MS = 600;
const QUICK = { sessionTimeoutMs: 3_000, timeoutMs: TIMEOUT_MS };
const CLIENTS = 2;

export async function runHBase(
  seed: number,
  { faults }: Partial<SocketKnobs> = {},
): Promise<SocketRun> {
  const random = createRandom(seed).fork('hbase');
  const proxies: Proxy[] = [];
  const applied = new Map<string, number[]>();
  await using served = await serveHBase({
    front: async (listener) => {
      const target = listener.address() as AddressInfo;
      const own = random.fork(`proxy ${proxies.length}`);
      const proxy = new Proxy(
        { port: target.port },
        { random: own, faults, holdMs: 2 * TIMEOUT_MS },
      );
      proxies.push(proxy);
      return proxy.listen(0);
    },
    // A server proves by a harmless erasure that it owns its regions (servers.ts).
    onApplied: (_, row, protos) => {
      if (!mutationsOf(protos).some(({ kind }) => kind === 'set')) return;
      applied.set(row, [...(applied.get(row) ?? []), 0]);
    },
  });
  const { master } = served;
  const made = await patiently(() => openHBase({ servers: [master], ...QUICK, timeoutMs: 10_000 }));
  await patiently(() =>
    made.createTable(TABLE, { families: [FAMILY], splits: ['row-2', 'row-5'] }),
  );
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, () =>
      patiently(() => openHBase({ servers: [master], ...QUICK })),
    ),
  );
  const load = new SocketLoad(() => 0);
  await Promise.all(
    clients.map((client, i) =>
      load.run(client, { random: random.fork(`client ${i}`), callers: 4, calls: 20 }),
    ),
  );
  for (const proxy of proxies) proxy.calm();
  await judgeThrough(made, load);
  load.judgeTimes(applied, Infinity);
  await Promise.all([made, ...clients].map((client) => client.close()));
  const met = proxies.flatMap((proxy) => proxy.met);
  await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
  return { violations: load.violations, told: load.told, met };
}

async function judgeThrough(store: Bigtable, load: SocketLoad): Promise<void> {
  await patiently(() => load.judge(store));
}

/** Through connections with faults: what a user would do again. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (tries >= 100) throw error;
    }
  }
}
