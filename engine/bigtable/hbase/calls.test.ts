/**
 * Calls that go wrong: by a mistake of this program, too late to be sent, or because regions and
 * tables are not what this process, a server or the master believes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, PercolatorError } from '../../base/index.ts';
import { servicesOf } from '../../testing/hbase/services.ts';
import { SimulatedHBase } from '../../testing/hbase/simulated-hbase.ts';
import { VirtualClock } from '../../testing/index.ts';
import type { Bigtable } from '../bigtable.ts';
import { HBaseFailure } from './failures.ts';
import { messageOf } from './messages.ts';
import { createHBase } from './open-hbase.ts';
import { type Channel, Servers, type Service } from './servers.ts';

const MASTER = 'master:16000';
const TIMEOUT_MS = 10_000;

/**
 * A store whose connections make a mistake with some methods.
 * @param before awaited before a call
 */
function open(
  clock: Clock,
  mistaken: (method: string) => boolean,
  before: (method: string, bytes: number) => Promise<void> = () => Promise.resolve(),
  hbase: SimulatedHBase = newHBase(),
): Bigtable {
  const services = servicesOf(hbase);
  const connect = (address: string, service: Service): Channel => ({
    call: async (method, { type, value, response }) => {
      const parameter = type.append(value).finish();
      await before(method, parameter.length);
      if (mistaken(method)) throw new TypeError('a mistake');
      const answer = services(address, service, method, parameter);
      if ('message' in answer) return response.decode(answer.message);
      const { className, stackTrace } = answer.exception;
      throw HBaseFailure.ofException(className, stackTrace);
    },
    close: () => {},
  });
  return createHBase(new Servers({ clock, connect }), {
    clock,
    servers: [MASTER],
    timeoutMs: TIMEOUT_MS,
  }).store;
}

function newHBase(servers: readonly string[] = ['server:16020']): SimulatedHBase {
  return new SimulatedHBase({ master: MASTER, servers });
}

const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1 } as const;
const mutations = [{ ...set, value: new Uint8Array() }];
const check = { table: 't', row: 'r', anyOf: [], ifNotFound: mutations };
const calls: Readonly<Record<string, (store: Bigtable) => Promise<unknown>>> = {
  readRow: (store) => store.readRow('t', 'r', [{ family: 'f' }]),
  readRange: (store) => store.readRange('t', { limit: 1 }, [{ family: 'f' }]),
  mutateRows: (store) => store.mutateRows([{ table: 't', row: 'r', mutations }]),
  checkAndMutateRow: (store) => store.checkAndMutateRow(check),
  checkAndMutateRows: (store) => store.checkAndMutateRows([check]),
};

for (const where of ['GetTableDescriptors', 'GetMetaRegionLocations', 'Multi', 'Scan', 'Mutate']) {
  test(`a mistake of the program in ${where} is thrown as it is`, async () => {
    const made: string[] = [];
    for (const [name, call] of Object.entries(calls)) {
      const clock = new VirtualClock();
      let isMistaken = false;
      await using store = open(clock, (method) => {
        if (!isMistaken || method !== where) return false;
        made.push(name);
        return true;
      });
      await clock.runUntil(store.createTable('t', { families: ['f'] }));
      if (where === 'GetTableDescriptors') await clock.runUntil(store.dropTable('t'));
      isMistaken = true;
      const [answer] = await Promise.allSettled([clock.runUntil(call(store))]);
      const reason = answer.status === 'rejected' ? answer.reason : undefined;
      assert.equal(reason instanceof TypeError, made.includes(name), name);
    }
    assert.notDeepEqual(made, []);
  });
}

test('in the simulation, only the address of the master has a MasterService', () => {
  const call = servicesOf(newHBase());
  const isUnknownAt = (address: string): boolean => {
    const answer = call(address, 'MasterService', 'NoMethod', new Uint8Array());
    return 'exception' in answer && answer.exception.className.endsWith('UnknownServiceException');
  };
  assert.deepEqual([MASTER, 'server:16020', 'elsewhere:1'].map(isUnknownAt), [false, true, true]);
});

test('a table that HBase can have under no name is missing at once, and is not made', async () => {
  const clock = new VirtualClock();
  await using store = open(clock, () => false);
  for (const table of ['no name', '-t', '.t', '', 'zookeeper', 't:u']) {
    const read = store.readRow(table, 'r', [{ family: 'f' }]);
    await assert.rejects(clock.runUntil(read), { code: 'TABLE_NOT_FOUND' });
    await clock.runUntil(store.dropTable(table));
    const making = store.createTable(table, { families: ['f'] });
    await assert.rejects(clock.runUntil(making), { code: 'INVALID_ARGUMENT' });
  }
  assert.equal(clock.monotonicMs(), 0);
});

for (const [durability, isFit] of [
  ['ASYNC_WAL', false],
  ['SKIP_WAL', false],
  ['FSYNC_WAL', true],
] as const) {
  test(`a table whose log has the durability ${durability} is ${isFit ? 'used' : 'refused'}`, async () => {
    const clock = new VirtualClock();
    const hbase = newHBase();
    const connect = (): Bigtable => open(clock, () => false, undefined, hbase);
    await using maker = connect();
    await clock.runUntil(maker.createTable('t', { families: ['f'] }));
    const [first, second] = ['DURABILITY', durability].map((text) => Buffer.from(text));
    assert.ok(first !== undefined && second !== undefined);
    const schema = hbase.tables.get('t')?.schema;
    assert.ok(schema !== undefined);
    Object.assign(schema, { attributes: [...schema.attributes, { first, second }] });
    await using store = connect();
    const read = clock.runUntil(store.readRow('t', 'r', [{ family: 'f' }]));
    if (isFit) assert.equal(await read, undefined);
    else await assert.rejects(read, { code: 'TABLE_MISMATCH', message: /has DURABILITY .*_WAL;/ });
  });
}

test('an operation whose region is found only after its deadline is not sent', async () => {
  const clock = new VirtualClock();
  let lookUpMs = 0;
  let sent = 0;
  await using store = open(
    clock,
    (method) => {
      if (method === 'Multi') sent++;
      return false;
    },
    async (method) => {
      if (method === 'GetMetaRegionLocations') await clock.sleep(lookUpMs);
    },
  );
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  lookUpMs = TIMEOUT_MS + 1;
  const refused = { code: 'STORE_UNAVAILABLE', message: /no region was found in time/ };
  await assert.rejects(clock.runUntil(store.checkAndMutateRow(check)), refused);
  await clock.advance(2 * TIMEOUT_MS); // Nor is it sent later.
  assert.equal(sent, 0);
});

for (const how of ['stopped', 'suspended'] as const) {
  test(`P66: a mutation is not sent again by a process that was ${how} in the rest before the next try`, async () => {
    const clock = new VirtualClock();
    let tries = 0;
    const stopping: Clock = {
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      yield: () => clock.yield(),
      sleep: async (...rest) => {
        await clock.sleep(...rest);
        if (how === 'suspended') clock.suspend(3 * TIMEOUT_MS);
        else await clock.sleep(3 * TIMEOUT_MS);
      },
    };
    const moved = HBaseFailure.ofException('org.x.NotServingRegionException', 'not here');
    const before = async (method: string): Promise<void> => {
      if (method !== 'Multi') return;
      tries++;
      throw moved;
    };
    await using store = open(stopping, () => false, before);
    await clock.runUntil(store.createTable('t', { families: ['f'] }));
    for (const call of [calls['mutateRows'], calls['checkAndMutateRow']]) {
      tries = 0;
      await assert.rejects(clock.runUntil(call?.(store) ?? assert.fail()), { code: /^STORE_/ });
      assert.equal(tries, 1);
    }
  });
}

test('the rows of one call wait for their regions together, not one after the other', async () => {
  const clock = new VirtualClock();
  let isBroken = false;
  await using store = open(
    clock,
    () => false,
    async (method) => {
      if (!isBroken || method !== 'GetMetaRegionLocations') return;
      throw new HBaseFailure('unsent', 'no server');
    },
  );
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  isBroken = true;
  const rows = Array.from({ length: 20 }, (_, i) => `r${i}`);
  const begunMs = clock.monotonicMs();
  const reading = clock.runUntil(store.readRows('t', rows, [{ family: 'f' }]));
  await assert.rejects(reading, { code: 'STORE_UNAVAILABLE' });
  assert.ok(clock.monotonicMs() - begunMs < 2 * TIMEOUT_MS);
});

test('a scan that has reached its limit is not left open at the server', async () => {
  const clock = new VirtualClock();
  const servers = ['server:16020'];
  const hbase = new SimulatedHBase({ master: MASTER, servers, rowsPerAnswer: 3 });
  await using store = open(
    clock,
    () => false,
    async () => {},
    hbase,
  );
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  const rows = Array.from({ length: 9 }, (_, i) => ({ table: 't', row: `r${i}`, mutations }));
  await clock.runUntil(store.mutateRows(rows));
  for (const limit of [2, 3, 5, 6, 9, 10]) {
    const found = await clock.runUntil(store.readRange('t', { limit }, [{ family: 'f' }]));
    assert.equal(found.length, Math.min(limit, 9));
    assert.equal(hbase.servers[0]?.scans.size, 0, `after a scan of ${limit} rows`);
  }
});

test('many rows of a table that was not used before ask once for its families', async () => {
  const clock = new VirtualClock();
  const hbase = newHBase();
  let asked = 0;
  const openOne = (): Bigtable =>
    open(
      clock,
      () => false,
      async (method) => {
        if (method === 'GetTableDescriptors') asked++;
      },
      hbase,
    );
  await using store = openOne();
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  asked = 0;
  await using other = openOne();
  const checks = Array.from({ length: 20 }, (_, i) => ({ ...check, row: `r${i}` }));
  await clock.runUntil(other.checkAndMutateRows(checks));
  assert.equal(asked, 1);
});

test('no call is so large that HBase refuses it, however large the rows are', async () => {
  const clock = new VirtualClock();
  const sizes: number[] = [];
  await using store = open(
    clock,
    () => false,
    async (method, bytes) => {
      if (method === 'Multi') sizes.push(bytes);
    },
  );
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  const large = [{ ...set, value: new Uint8Array(270_000) }];
  const names = Array.from({ length: 100 }, (_, i) => `r${i}`);
  const rows = names.map((row) => ({ table: 't', row, mutations: large }));
  await clock.runUntil(store.mutateRows(rows));
  const checks = names.map((row) => ({ ...check, row, ifNotFound: large }));
  await clock.runUntil(store.checkAndMutateRows(checks));
  assert.ok(Math.max(...sizes) < 5 << 20, String(sizes)); // calls.ts fills a call up to 4 MiB.
  assert.ok(sizes.length < 20, 'and none is small');
  const found = await clock.runUntil(store.readRows('t', names, [{ family: 'f' }]));
  assert.ok(found.every((row) => row !== undefined));
});

test('a failed look at a table is repeated, and is never a mutation in doubt', async () => {
  for (const failuresMax of [1, Infinity]) {
    const clock = new VirtualClock();
    let failures = 0;
    let isBroken = false;
    const broken = HBaseFailure.ofException('java.io.IOException', 'broken');
    await using store = open(
      clock,
      () => false,
      async (method) => {
        if (isBroken && method === 'GetTableDescriptors' && ++failures <= failuresMax) throw broken;
      },
    );
    await clock.runUntil(store.createTable('t', { families: ['f'] }));
    await clock.runUntil(store.dropTable('t'));
    isBroken = true;
    const code = failuresMax === 1 ? 'TABLE_NOT_FOUND' : 'STORE_UNAVAILABLE';
    await assert.rejects(clock.runUntil(store.readRow('t', 'r', [{ family: 'f' }])), { code });
    await assert.rejects(clock.runUntil(store.checkAndMutateRow(check)), { code });
  }
});

test('a table that is being created, whose regions no server has yet, is waited for', async () => {
  const clock = new VirtualClock();
  const hbase = newHBase();
  await using store = open(
    clock,
    () => false,
    async () => {},
    hbase,
  );
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  const [region] = hbase.regionsOf('t');
  const [server] = hbase.servers;
  assert.ok(region !== undefined && server !== undefined);
  hbase.close(region);
  region.location = ''; // As CreateTable leaves it in `hbase:meta` before it assigns the region.
  const reading = store.readRow('t', 'r', [{ family: 'f' }]);
  await clock.advance(500);
  hbase.open(region, server);
  assert.equal(await clock.runUntil(reading), undefined);
});

test('a table is not taken for dropped because a server that stood still does not know it', async () => {
  const clock = new VirtualClock();
  const hbase = newHBase(['first:16020', 'second:16020']);
  const [first, second] = hbase.servers;
  assert.ok(first !== undefined && second !== undefined);
  await using store = open(
    clock,
    () => false,
    async () => {},
    hbase,
  );
  const read = (table: string): Promise<unknown> =>
    clock.runUntil(store.readRow(table, 'r', [{ family: 'f' }]));
  await clock.runUntil(store.createTable('known', { families: ['f'] }));
  await read('known');
  for (const region of hbase.expire(first)) hbase.open(region, second);
  await clock.runUntil(store.createTable('created-since', { families: ['f'] }));
  assert.equal(await read('created-since'), undefined);
});

for (const qualifiers of [[], ['q', 'other']]) {
  const name = `a check of ${qualifiers.length} columns that writes nothing`;
  test(`P64: ${name} proves nothing, and is not believed of a server that stood still`, async () => {
    const clock = new VirtualClock();
    const hbase = newHBase(['first:16020', 'second:16020']);
    const openOne = (): Bigtable =>
      open(
        clock,
        () => false,
        async () => {},
        hbase,
      );
    await using store = openOne();
    await using other = openOne();
    await clock.runUntil(store.createTable('t', { families: ['f'] }));
    const anyOf = qualifiers.map((qualifier) => ({ family: 'f', qualifier }));
    const checking = { table: 't', row: 'r', anyOf, ifFound: mutations };
    assert.equal(await clock.runUntil(store.checkAndMutateRow(checking)), false);
    const old = hbase.servers.find((server) => server === hbase.regionsOf('t')[0]?.server);
    const next = hbase.servers.find((server) => server !== old);
    assert.ok(old !== undefined && next !== undefined);
    for (const region of hbase.expire(old)) hbase.open(region, next);
    await clock.runUntil(other.mutateRows([{ table: 't', row: 'r', mutations }]));
    await clock.advance(5000); // Older proofs no longer count.
    const isFound = await clock.runUntil(store.checkAndMutateRow(checking));
    assert.equal(isFound, qualifiers.length > 0);
    assert.ok(await clock.runUntil(store.readRow('t', 'r', [{ family: 'f' }])));
  });
}

// tables.ts asks every 20 ms, for ten minutes: 30,000 times.
for (const { how, state, asksMax } of [
  { how: 'has forgotten', state: 0, asksMax: 1 },
  { how: 'never ends', state: 1, asksMax: 40_000 },
]) {
  test(`whether a table was made is in doubt if the master ${how} the procedure that makes it`, async () => {
    const clock = new VirtualClock();
    const services = servicesOf(newHBase());
    const answered = messageOf('GetProcedureResultResponse').encode({ state });
    let asked = 0;
    const connect = (address: string, service: Service): Channel => ({
      call: async (method, { type, value, response }) => {
        assert.ok(asked <= asksMax, 'it is asked about forever');
        if (method === 'getProcedureResult') asked++;
        if (method === 'getProcedureResult') return response.decode(answered);
        const answer = services(address, service, method, type.append(value).finish());
        assert.ok('message' in answer, JSON.stringify(answer));
        return response.decode(answer.message);
      },
      close: () => {},
    });
    const options = { clock, servers: [MASTER] };
    await using store = createHBase(new Servers({ clock, connect }), options).store;
    const created = clock.runUntil(store.createTable('t', { families: ['f'] }));
    await assert.rejects(created, { code: 'STORE_IN_DOUBT' });
  });
}

const unsent = new HBaseFailure('unsent', 'no connection');
const held = HBaseFailure.ofException('org.apache.hadoop.hbase.PleaseHoldException', 'later');
const untrusted = new PercolatorError('STORE_REFUSED', 'a certificate that is not trusted');
for (const { failing, failure, call, code } of [
  {
    failing: 'getProcedureResult',
    failure: untrusted,
    call: 'createTable',
    code: 'STORE_IN_DOUBT',
  },
  { failing: 'DeleteTable', failure: untrusted, call: 'dropTable', code: 'STORE_IN_DOUBT' },
  { failing: 'CreateTable', failure: untrusted, call: 'createTable', code: 'STORE_REFUSED' },
  { failing: 'getProcedureResult', failure: unsent, call: 'createTable', code: 'STORE_IN_DOUBT' },
  { failing: 'getProcedureResult', failure: held, call: 'createTable', code: 'STORE_IN_DOUBT' },
  { failing: 'DeleteTable', failure: unsent, call: 'dropTable', code: 'STORE_IN_DOUBT' },
  { failing: 'DisableTable', failure: unsent, call: 'dropTable', code: 'STORE_UNAVAILABLE' },
  {
    failing: 'GetTableDescriptors',
    failure: new HBaseFailure('late', 'no answer'),
    call: 'createTable',
    code: 'STORE_UNAVAILABLE',
  },
] as const) {
  test(`${call} fails with ${code} if ${failing} does with: ${failure.message}`, async () => {
    const clock = new VirtualClock();
    let isFailing = false;
    await using store = open(
      clock,
      () => false,
      async (method) => {
        if (isFailing && method === failing) throw failure;
      },
    );
    if (call === 'dropTable') await clock.runUntil(store.createTable('t', { families: ['f'] }));
    isFailing = true;
    const called =
      call === 'dropTable' ? store.dropTable('t') : store.createTable('t', { families: ['f'] });
    await assert.rejects(clock.runUntil(called), { code });
  });
}

test('a table that the master does not know either is missing at once', async () => {
  const clock = new VirtualClock();
  const hbase = newHBase();
  await using store = open(
    clock,
    () => false,
    async () => {},
    hbase,
  );
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  hbase.dropTable('t'); // By another process: this one still knows its families.
  const begunMs = clock.monotonicMs();
  const reading = clock.runUntil(store.readRow('t', 'r', [{ family: 'f' }]));
  await assert.rejects(reading, { code: 'TABLE_NOT_FOUND' });
  assert.equal(clock.monotonicMs(), begunMs);
});

test('a file that the region server cannot read is damage, and is not asked for again', async () => {
  const clock = new VirtualClock();
  const name = 'org.apache.hadoop.hbase.io.hfile.CorruptHFileException';
  const corrupt = HBaseFailure.ofException(name, `${name}: Problem reading HFile Trailer`);
  let asked = 0;
  await using store = open(
    clock,
    () => false,
    async (method) => {
      if (!isDamaged || method !== 'Multi') return;
      asked++;
      throw corrupt;
    },
  );
  let isDamaged = false;
  await clock.runUntil(store.createTable('t', { families: ['f'] }));
  isDamaged = true;
  await assert.rejects(clock.runUntil(store.readRow('t', 'r', [{ family: 'f' }])), {
    code: 'STORE_DAMAGED',
    message: /reading t\/r: CorruptHFileException: Problem/,
  });
  assert.equal(asked, 1);
});
