/**
 * Which calls are sent twice and which never are, and the meaning of a lost answer: with a server
 * whose failures are scripted, and with connections that are lost at the worst moment.
 */
import assert from 'node:assert/strict';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { type Clock, type SleepOptions, systemClock } from '../../base/index.ts';
import type { Bigtable, RowMutation } from '../bigtable.ts';
import { createClients, DataCalls } from './data-calls.ts';
import { type FakeBigtable, startFake } from './fake-bigtable.fixture.ts';
import { openRemote, type RemoteOptions } from './index.ts';
import { until } from '../../testing/until.ts';

const CODES = {
  unknown: 2,
  deadline: 4,
  exhausted: 8,
  aborted: 10,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
};
/** What Google's own client takes for passing. */
const PASSING = {
  'a deadline of the server': { code: CODES.deadline, details: 'too slow' },
  'a used-up quota': { code: CODES.exhausted, details: 'Quota exceeded' },
  'an aborted call': { code: CODES.aborted, details: 'moved' },
  'a stream that was reset': { code: CODES.internal, details: 'Received RST_STREAM with code 2' },
  'a stream that was reset, in other words': { code: CODES.internal, details: 'Rst stream' },
  'a stream without an end': { code: CODES.internal, details: 'unexpected EOS on DATA frame' },
};

const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
const SET = {
  kind: 'set',
  family: 'data',
  qualifier: 'q',
  timestamp: 1,
  value: Buffer.from('v'),
} as const;
const CONDITIONAL = { table: 't', row: 'r', anyOf: [{ family: 'data' }], ifNotFound: [SET] };

const open = (address: string, more?: Partial<RemoteOptions>): Promise<Bigtable> =>
  openRemote({ project: 'p', instance: 'i', plainAddress: address, ...more });

describe('the remote store', () => {
  for (const [name, code] of Object.entries(CODES)) {
    test(`a conditional mutation that fails with ${name} is in doubt, and sent once`, async () => {
      await using fake = await startFake();
      fake.answer('CheckAndMutateRow', { code, details: 'no' });
      await using store = await open(fake.address);
      await assert.rejects(store.checkAndMutateRow(CONDITIONAL), { code: 'STORE_IN_DOUBT' });
      const [answer] = await store.checkAndMutateRows([CONDITIONAL]);
      assert.equal((answer as { code?: unknown }).code, 'STORE_IN_DOUBT');
      assert.equal(sent(fake, 'CheckAndMutateRow'), 2, 'once for each of the two calls');
    });
  }

  test('the first use of a table ends at the deadline, too, and so does a list of tables', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address, { timeoutMs: 300 });
    for (const method of ['GetTable', 'ListTables']) {
      fake.answer(method, { code: CODES.unavailable, details: 'no' });
    }
    const beganMs = systemClock.monotonicMs();
    const read = store.readRow('t', 'r', [{ family: 'data' }]);
    await assert.rejects(read, { code: 'STORE_UNAVAILABLE' });
    await assert.rejects(store.listTables(), { code: 'STORE_UNAVAILABLE' });
    assert.ok(
      systemClock.monotonicMs() - beganMs < 10_000,
      'the deadline of a store without options',
    );
  });

  test('the first use of a table is repeated while the server is unavailable', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    const no = { code: CODES.unavailable, details: 'no' };
    const table = { name: 'projects/p/instances/i/tables/t', columnFamilies: { data: {} } };
    fake.answer('GetTable', no, no, { answers: [table] });
    assert.equal(await store.readRow('t', 'r', [{ family: 'data' }]), undefined);
    assert.equal(sent(fake, 'GetTable'), 3);
  });

  test('data that the server has lost is damage, and is not asked for again', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    fake.answer('ReadRows', { code: CODES.dataLoss, details: 'corrupt' });
    const read = store.readRow('t', 'r', [{ family: 'data' }]);
    await assert.rejects(read, { code: 'STORE_DAMAGED', message: /reading t: corrupt/ });
    assert.equal(sent(fake, 'ReadRows'), 1);
  });

  test('a conditional mutation that the server refuses was not applied', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    for (const [code, meaning] of [
      [3, 'INVALID_ARGUMENT'],
      [5, 'TABLE_NOT_FOUND'],
      [7, 'STORE_REFUSED'],
      [9, 'STORE_REFUSED'],
      [16, 'STORE_REFUSED'],
    ] as const) {
      fake.answer('CheckAndMutateRow', { code, details: 'no' });
      await assert.rejects(store.checkAndMutateRow(CONDITIONAL), { code: meaning });
    }
  });

  test('a mutation that cannot be sent was not applied', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address, { timeoutMs: 300 });
    await until(() => succeeds(store.checkAndMutateRow(CONDITIONAL)));
    await fake.stop();
    const unsent = { code: 'STORE_UNAVAILABLE' };
    await untilRejected(() => store.checkAndMutateRow(CONDITIONAL), unsent.code);
    await assert.rejects(store.mutateRows([mutation('r')]), unsent);
    await assert.rejects(store.mutateRows([mutation('r'), mutation('s')]), unsent);
    await assert.rejects(store.readRow('t', 'r', [{ family: 'data' }]), unsent);
  });

  test('a read and a blind mutation are sent again while the server is unavailable', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    const no = { code: CODES.unavailable, details: 'no' };
    fake.answer('ReadRows', no, no, { answers: [] });
    assert.equal(await store.readRow('t', 'r', [{ family: 'data' }]), undefined);
    assert.equal(sent(fake, 'ReadRows'), 3);
    fake.answer('MutateRow', no, no, { answers: [{}] });
    await store.mutateRows([mutation('r')]);
    assert.equal(sent(fake, 'MutateRow'), 3);
  });

  for (const [name, no] of Object.entries(PASSING)) {
    test(`what may be sent twice is sent again after ${name}, and a conditional mutation is not`, async () => {
      await using fake = await startFake();
      await using store = await open(fake.address);
      fake.answer('ReadRows', no, { answers: [] });
      assert.equal(await store.readRow('t', 'r', [{ family: 'data' }]), undefined);
      fake.answer('SampleRowKeys', no, { answers: [] });
      assert.deepEqual(await store.sampleRowKeys('t'), []);
      fake.answer('MutateRow', no, { answers: [{}] });
      await store.mutateRows([mutation('r')]);
      const failed = { code: no.code, message: no.details };
      const some = { entries: [{ index: 0 }, { index: 1, status: failed }] };
      fake.answer('MutateRows', no, { answers: [some] }, entries([0]));
      await store.mutateRows(['a', 'b'].map(mutation));
      assert.deepEqual(rowsSent(fake), ['a b', 'a b', 'b']);
      fake.answer('CheckAndMutateRow', no, { answers: [{}] });
      await assert.rejects(store.checkAndMutateRow(CONDITIONAL), { code: 'STORE_IN_DOUBT' });
      const methods = ['ReadRows', 'SampleRowKeys', 'MutateRow', 'CheckAndMutateRow'];
      assert.deepEqual(
        methods.map((method) => sent(fake, method)),
        [2, 2, 2, 1],
      );
    });
  }

  for (const after of ['headers', 'a message', 'nothing']) {
    test(`a read is sent again when its stream is reset after ${after}`, async () => {
      await using server = await startSilent('ReadRows', (stream, call) => {
        if (call > 1 || after !== 'nothing') stream.respond(GRPC, { waitForTrailers: call > 1 });
        if (call > 1) {
          stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
          stream.end();
        } else if (after === 'a message') {
          stream.write(Buffer.alloc(5), () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
        } else {
          stream.close(constants.NGHTTP2_INTERNAL_ERROR);
        }
      });
      await using store = await open(server.address);
      assert.equal(await store.readRow('t', 'r', [{ family: 'data' }]), undefined);
    });
  }

  test('a message that gRPC finds too large was not applied, and is not sent again', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    const details = 'grpc: received message larger than max (9 vs. 4)';
    for (const method of ['MutateRow', 'CheckAndMutateRow']) {
      fake.answer(method, { code: CODES.exhausted, details });
    }
    const refusal = { code: 'INVALID_ARGUMENT', message: /larger than max/ };
    await assert.rejects(store.mutateRows([mutation('r')]), refusal);
    await assert.rejects(store.checkAndMutateRow(CONDITIONAL), refusal);
    assert.equal(sent(fake, 'MutateRow'), 1);
  });

  test('an answer about a row that was not sent makes no sense, and leaves the rows in doubt', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    for (const index of [3, -1]) {
      fake.answer('MutateRows', { answers: [{ entries: [{ index, status: { code: 0 } }] }] });
      await assert.rejects(store.mutateRows(['a', 'b', 'c'].map(mutation)), {
        code: 'STORE_IN_DOUBT',
        message: `the storage's answer makes no sense: it speaks of row ${index} of a call with 3, which begin at 0`,
      });
    }
  });

  test('a read and a blind mutation are sent again when their connection is reset', async () => {
    await using fake = await startFake();
    await using cutting = await startCutting(fake.address);
    await using store = await open(cutting.address);
    fake.answer('MutateRows', entries([0, 0]));
    await store.mutateRows([mutation('r')]);
    cutting.cutAtNextRequest();
    assert.equal(await store.readRow('t', 'r', [{ family: 'data' }]), undefined);
    cutting.cutAtNextRequest();
    await store.mutateRows([mutation('r')]);
    cutting.cutAtNextRequest();
    await store.mutateRows(['r', 's'].map(mutation));
  });

  test('a blind mutation to a server that stays unavailable is in doubt, a read is not', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address, { timeoutMs: 1_000 });
    const no = { code: CODES.unavailable, details: 'no' };
    fake.answer('MutateRow', no);
    await assert.rejects(store.mutateRows([mutation('r')]), { code: 'STORE_IN_DOUBT' });
    fake.answer('ReadRows', no);
    const read = store.readRow('t', 'r', [{ family: 'data' }]);
    await assert.rejects(read, { code: 'STORE_UNAVAILABLE' });
  });

  test('making or dropping a table without an answer is in doubt, looking at tables is not', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    const no = { code: CODES.internal, details: 'no' };
    for (const method of ['ListTables', 'GetTable', 'DeleteTable']) fake.answer(method, no);
    await assert.rejects(store.listTables(), { code: 'STORE_UNAVAILABLE' });
    await assert.rejects(store.readRow('t', 'r', [{ family: 'data' }]), {
      code: 'STORE_UNAVAILABLE',
    });
    await assert.rejects(store.dropTable('t'), { code: 'STORE_IN_DOUBT' });
    fake.answer('GetTable', { code: 5, details: 'not found' });
    fake.answer('CreateTable', no);
    const made = store.createTable('t', { families: ['data'] });
    await assert.rejects(made, { code: 'STORE_IN_DOUBT' });
  });

  test('a blind mutation that was lost once stays in doubt when it cannot be sent again', async () => {
    await using fake = await startFake();
    await using cutting = await startCutting(fake.address);
    await using store = await open(cutting.address, { timeoutMs: 2_000 });
    await store.mutateRows([mutation('r')]);
    cutting.cutAtNextRequest();
    const mutated = store.mutateRows([mutation('r')]);
    await Promise.all([
      assert.rejects(mutated, { code: 'STORE_IN_DOUBT' }),
      cutting[Symbol.asyncDispose](),
    ]);
  });

  test('of several rows only those that failed and may still succeed are sent again', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    fake.answer('MutateRows', entries([0, CODES.unavailable, 0]), entries([0]));
    await store.mutateRows(['a', 'b', 'c'].map(mutation));
    assert.deepEqual(rowsSent(fake), ['a b c', 'b']);
  });

  test('a row without an answer is sent again', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    fake.answer('MutateRows', entries([0, 0]), entries([0]));
    await store.mutateRows(['a', 'b', 'c'].map(mutation));
    assert.deepEqual(rowsSent(fake), ['a b c', 'c']);
  });

  test('a row that fails for good fails the call, and no row is sent again', async () => {
    await using fake = await startFake();
    await using store = await open(fake.address);
    fake.answer('MutateRows', entries([CODES.unavailable, 3, CODES.unavailable]));
    const code = 'INVALID_ARGUMENT';
    await assert.rejects(store.mutateRows(['a', 'b', 'c'].map(mutation)), { code });
    assert.deepEqual(rowsSent(fake), ['a b c']);
  });

  test('a blind mutation is not sent again after its deadline, not even by a process that stopped meanwhile', async () => {
    await using fake = await startFake();
    const clock = new StoppableClock('stop');
    await using store = await open(fake.address, { clock });
    fake.answer('MutateRow', { code: CODES.unavailable, details: 'later' }, { answers: [{}] });
    clock.stopInNextSleepMs = 600_000;
    await assert.rejects(store.mutateRows([mutation('r')]), { code: 'STORE_IN_DOUBT' });
    assert.equal(sent(fake, 'MutateRow'), 1);
  });

  test('P59: nor by one whose machine was suspended, so that its monotonic clock stood', async () => {
    await using fake = await startFake();
    const clock = new StoppableClock('suspend');
    await using store = await open(fake.address, { clock });
    fake.answer('MutateRow', { code: CODES.unavailable, details: 'later' }, { answers: [{}] });
    clock.stopInNextSleepMs = 600_000;
    await assert.rejects(store.mutateRows([mutation('r')]), { code: 'STORE_IN_DOUBT' });
    await store.checkAndMutateRow(CONDITIONAL); // Arrives after all that was sent before it.
    assert.equal(sent(fake, 'MutateRow'), 1);
  });

  test('a call to a silent server ends at the deadline', async () => {
    await using silent = await startSilent('CheckAndMutateRow');
    await using store = await open(silent.address, { timeoutMs: 1_000 });
    const startedMs = performance.now();
    await assert.rejects(store.checkAndMutateRow(CONDITIONAL), { code: 'STORE_IN_DOUBT' });
    const tookMs = performance.now() - startedMs;
    // The deadline of a store without options is 10 s.
    assert.ok(tookMs > 900 && tookMs < 10_000, `${tookMs} ms`);
  });

  for (const [name, rstCode, code] of [
    ['refuses', constants.NGHTTP2_REFUSED_STREAM, 'STORE_UNAVAILABLE'],
    ['cancels', constants.NGHTTP2_CANCEL, 'STORE_IN_DOUBT'],
    ['finds too busy', constants.NGHTTP2_ENHANCE_YOUR_CALM, 'STORE_IN_DOUBT'],
  ] as const) {
    test(`a conditional mutation whose stream the server ${name} ends with ${code}`, async () => {
      const reset = (stream: ServerHttp2Stream): void => stream.close(rstCode);
      await using server = await startSilent('CheckAndMutateRow', reset);
      await using store = await open(server.address);
      await assert.rejects(store.checkAndMutateRow(CONDITIONAL), { code });
    });
  }

  for (const { how, isSuspended } of [
    { how: 'process stood still', isSuspended: false },
    { how: 'machine was suspended', isSuspended: true }, // Its monotonic clock stood still, too.
  ]) {
    test(`P59: a call whose ${how} until the connection was made is not sent`, async () => {
      await using fake = await startFake();
      let awayMs = 0;
      const clock = {
        ...systemClock,
        wallMs: () => systemClock.wallMs() + awayMs,
        monotonicMs: () => systemClock.monotonicMs() + (isSuspended ? 0 : awayMs),
      };
      const clients = await createClients(fake.address);
      const calls = new DataCalls(clients, { clock, timeoutMs: 1_000, instance: 'i' });
      const called = calls.checkAndMutateRow('t', {});
      awayMs = 3_600_000;
      await assert.rejects(called, { code: 'STORE_UNAVAILABLE' });
      awayMs = 0;
      await calls.checkAndMutateRow('t', {}); // Arrives after all that was sent before it.
      assert.equal(sent(fake, 'CheckAndMutateRow'), 1);
      await clients.close();
    });
  }

  test('a lost connection leaves sent mutations in doubt, and is reconnected', async () => {
    await using fake = await startFake();
    await using cutting = await startCutting(fake.address);
    await using store = await open(cutting.address);
    await store.checkAndMutateRow(CONDITIONAL);
    cutting.cutAtNextRequest();
    await assert.rejects(store.checkAndMutateRow(CONDITIONAL), { code: 'STORE_IN_DOUBT' });
    assert.equal(await store.readRow('t', 'r', [{ family: 'data' }]), undefined);
    assert.equal(await store.checkAndMutateRow(CONDITIONAL), true);
  });
});

/** The clock of a process that stops in the middle of a sleep, or whose machine is suspended. */
class StoppableClock implements Clock {
  stopInNextSleepMs = 0;
  readonly #how: 'stop' | 'suspend';
  #stoodStillMs = 0;

  constructor(how: 'stop' | 'suspend') {
    this.#how = how;
  }

  wallMs(): number {
    return systemClock.wallMs() + this.#stoodStillMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + (this.#how === 'stop' ? this.#stoodStillMs : 0);
  }

  async sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void> {
    await systemClock.sleep(ms, signal, options);
    this.#stoodStillMs += this.stopInNextSleepMs;
    this.stopInNextSleepMs = 0;
  }

  yield(): Promise<void> {
    return systemClock.yield();
  }
}

function mutation(row: string): RowMutation {
  return { table: 't', row, mutations: [SET] };
}

function entries(codes: readonly number[]): { readonly answers: readonly object[] } {
  return { answers: [{ entries: codes.map((code, index) => ({ index, status: { code } })) }] };
}

function sent({ calls }: FakeBigtable, method: string): number {
  return calls.filter((call) => call.method === method).length;
}

/** The rows of each MutateRows. */
function rowsSent({ calls }: FakeBigtable): readonly string[] {
  return calls
    .filter(({ method }) => method === 'MutateRows')
    .map(({ request }) => {
      const { entries: rows } = request as { entries: { rowKey: Uint8Array }[] };
      return rows.map(({ rowKey }) => Buffer.from(rowKey).toString()).join(' ');
    });
}

/** On a busy machine, a call of an impatient client may be late. */
function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

/** The first calls after a server has gone may have been sent on the old connection. */
async function untilRejected(call: () => Promise<unknown>, code: string): Promise<void> {
  for (let i = 0; i < 50; i++) {
    const answer = await call().then(
      () => undefined,
      (error: { code?: unknown }) => error.code,
    );
    if (answer === code) return;
  }
  assert.fail(`no call was rejected with ${code}`);
}

interface Between extends AsyncDisposable {
  readonly address: string;
}

/**
 * Passes all bytes on to `target`, until told to break the connection at the next bytes of a
 * client.
 */
async function startCutting(target: string): Promise<Between & { cutAtNextRequest(): void }> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  let isCutting = false;
  const server = createTcpServer((client) => {
    const upstream = connect(Number(port), host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (isCutting) client.resetAndDestroy();
      else upstream.write(bytes);
      isCutting = false;
    });
    upstream.on('data', (bytes) => client.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAtNextRequest: () => {
      isCutting = true;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/**
 * Answers administrative calls as an instance with the table would, and never answers `method`, or
 * as `answer` does.
 */
async function startSilent(
  method: string,
  answer?: (stream: ServerHttp2Stream, call: number) => void,
): Promise<Between> {
  const server = createServer();
  const streams = new Set<ServerHttp2Stream>();
  let calls = 0;
  server.on('stream', (stream, headers) => {
    streams.add(stream);
    stream.on('error', () => {});
    if (String(headers[':path']).endsWith(`/${method}`)) {
      calls++;
      answer?.(stream, calls);
      return;
    }
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(SILENT_ANSWERS.get(String(headers[':path']).split('/').at(-1) ?? ''));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const stream of streams) stream.session?.destroy();
      server.close();
    },
  };
}

/**
 * In bytes: `columnFamilies: { data: {} }`, and a profile with `singleClusterRouting` that allows
 * transactions.
 */
const SILENT_ANSWERS: ReadonlyMap<string, Buffer> = new Map([
  ['ListTables', Buffer.from([0, 0, 0, 0, 0])],
  ['GetTable', Buffer.from([0, 0, 0, 0, 10, 0x1a, 8, 0x0a, 4, ...Buffer.from('data'), 0x12, 0])],
  ['GetAppProfile', Buffer.from([0, 0, 0, 0, 4, 0x32, 2, 0x10, 1])],
]);
