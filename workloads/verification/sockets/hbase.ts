/**
 * The HBase client on real sockets: a proxy for each server of the simulated HBase, and
 * clients whose connections to them are disturbed. HBase promises nothing about deadlines.
 */
import type { AddressInfo } from 'node:net';
import { createRandom } from '../../../engine/base/index.ts';
import { openHBase } from '../../../engine/bigtable/hbase/index.ts';
import { serveHBase } from '../../../engine/bigtable/hbase/simulated-server.fixture.ts';
import type { Bigtable } from '../../../engine/bigtable/index.ts';
import { mutationsOf } from '../simulation/hbase/mirror.ts';
import { FAMILY, Load, TABLE } from './load.ts';
import { Proxy } from './proxy.ts';
import type { SocketKnobs, SocketRun } from './run.ts';

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
  const load = new Load(() => 0);
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

async function judgeThrough(store: Bigtable, load: Load): Promise<void> {
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
