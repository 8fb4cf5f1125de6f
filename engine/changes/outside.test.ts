/** What is made of changes for programs outside: values of one cell, JSON, server-sent events. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { textOf } from '../base/index.ts';
import { openDatabase, type Percolator } from '../database.ts';
import { cell, createMemoryBigtable, put } from '../testing/index.ts';
import {
  type Change,
  changeJson,
  changesResponse,
  debeziumEnvelope,
  sendChanges,
} from './index.ts';
import type { ChangesOptions } from './changes.ts';
import type { WithChanges } from './server-sent-events.ts';

async function openWithTable(t: TestContext): Promise<Percolator> {
  const percolator = await openDatabase({ store: createMemoryBigtable() });
  t.after(() => percolator.close());
  await percolator.createTable('t');
  return percolator;
}

async function write(percolator: Percolator, values: Parameters<typeof put>[1]): Promise<void> {
  await percolator.transact(async (transaction) => put(transaction, values));
}

test('a watched cell has its value, and then each one that is committed to it', async (t) => {
  const percolator = await openWithTable(t);
  await write(percolator, { x: 'first', y: 'another' });
  const values = percolator.watch(cell('x'));
  const next = async (): Promise<string | undefined> => {
    const { value } = await values.next();
    return value?.value && textOf(value.value);
  };
  assert.equal(await next(), 'first');
  await write(percolator, { x: 'second', 'x\0': 'another row', 'x:d': 'another column' });
  await write(percolator, { x: undefined, y: 'another' });
  await write(percolator, { x: 'third' });
  assert.deepEqual([await next(), await next(), await next()], ['second', undefined, 'third']);
  await values.return();
  assert.throws(() => percolator.watch(cell('x:ack_o:c')), { code: 'INVALID_ARGUMENT' });
});

test('a value that is committed between the first one and the wait is not left out', async (t) => {
  const percolator = await openWithTable(t);
  const controller = new AbortController();
  const values = percolator.watch(cell('x'), { signal: controller.signal });
  const seen: (string | undefined)[] = [];
  for await (const { value } of values) {
    seen.push(value && textOf(value));
    if (seen.length < 4) await write(percolator, { x: `${seen.length}` });
    else controller.abort();
  }
  assert.deepEqual(seen, [undefined, '1', '2', '3']);
});

test('events are JSON, with bytes in base64, and Debezium knows creations and updates', async (t) => {
  const percolator = await openWithTable(t);
  await write(percolator, { x: 'one' });
  await percolator.transact(async (transaction) =>
    transaction.set(cell('x'), new Uint8Array([0xff, 0])),
  );
  await write(percolator, { x: undefined });
  const events = await Array.fromAsync(percolator.changes('t', { from: 0, before: true }));
  const changes = events.filter((event): event is Change => event.kind === 'change');
  const values = changes.map((change) => changeJson(change) as { value: unknown; before: unknown });
  assert.deepEqual(
    values.map(({ value, before }) => [value, before]),
    [
      ['one', null],
      [{ base64: '/wA=' }, 'one'],
      [null, { base64: '/wA=' }],
    ],
  );
  const [last] = events.slice(-1);
  assert.ok(last?.kind === 'resolved');
  assert.deepEqual(Object.keys(changeJson(last)), ['kind', 'table', 'timestamp', 'cursor']);
  const [first] = changes;
  assert.ok(first !== undefined);
  const envelopes = changes.map((change) => debeziumEnvelope(change, { name: 'db', nowMs: 5 }));
  assert.deepEqual(
    envelopes.map((one) => Reflect.get(one, 'op') as unknown),
    ['c', 'u', 'd'],
  );
  assert.deepEqual(envelopes[0], {
    before: null,
    after: { row: 'x', column: 'c', value: 'one' },
    source: {
      connector: 'percolator',
      name: 'db',
      db: 'db',
      table: 't',
      snapshot: 'false',
      txId: first.startTimestamp,
      commitTimestamp: first.commitTimestamp,
      cursor: first.cursor,
    },
    op: 'c',
    ts_ms: 5,
    transaction: { id: `${first.commitTimestamp}` },
  });
});

/** Reads events of a stream until one is a change; its id, and its data. */
async function changeFrom(body: ReadableStream<Uint8Array> | null): Promise<{
  readonly id: string;
  readonly data: { readonly row: string; readonly value: string };
}> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const found = /id: (.*)\nevent: change\ndata: (.*)\n\n/.exec(text);
    if (found?.[1] === undefined || found[2] === undefined) continue;
    return { id: found[1], data: JSON.parse(found[2]) as { row: string; value: string } };
  }
  throw new Error(`there was no change in ${text}`);
}

test('a browser that connects again gets what came meanwhile, through node:http', async (t) => {
  const percolator = await openWithTable(t);
  const sending = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const table = request.url?.slice(1) ?? '';
    sending.add(sendChanges(percolator, table, { request, response }, { from: 0 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await write(percolator, { x: 'one', y: 'two' });
  const first = await fetch(`${url}/t`);
  assert.equal(first.headers.get('content-type'), 'text/event-stream');
  const change = await changeFrom(first.body);
  assert.deepEqual([change.data.row, change.data.value], ['x', 'one']);
  const again = await fetch(`${url}/t`, { headers: { 'last-event-id': change.id } });
  assert.equal((await changeFrom(again.body)).data.row, 'y');
  const missing = await fetch(`${url}/nothing`);
  assert.deepEqual(
    [missing.status, await missing.text()],
    [404, 'there is no Percolator table nothing'],
  );
  await Promise.all(sending); // Each has noticed that its browser has left.
});

test('the same for a Request, and a cursor that is too old is gone', async (t) => {
  const percolator = await openWithTable(t);
  await write(percolator, { x: 'one' });
  const ask = (lastId?: string): Promise<Response> => {
    const headers = lastId === undefined ? {} : { 'last-event-id': lastId };
    const request = new Request('http://localhost/', { headers });
    return changesResponse(percolator, 't', request, { from: 0 });
  };
  const { id, data } = await changeFrom((await ask()).body);
  assert.equal(data.value, 'one');
  await write(percolator, { x: 'two' });
  assert.equal((await changeFrom((await ask(id)).body)).data.value, 'two');
  await percolator.dropTable('t');
  await percolator.createTable('t');
  const gone = await ask(id);
  assert.equal(gone.status, 410);
  assert.match(await gone.text(), /read a snapshot of it/);
  assert.equal((await ask('nonsense')).status, 400);
});

test('an answer ends when the database is closed', async (t) => {
  const percolator = await openWithTable(t);
  const { body } = await changesResponse(percolator, 't', new Request('http://localhost/'));
  const reading = Array.fromAsync(body ?? []);
  await percolator.close();
  assert.ok((await reading).length > 0);
});

/** Sends changes with node:http to a browser that asks, and reads nothing. */
async function answered(
  t: TestContext,
  percolator: WithChanges,
  by: {
    readonly options?: ChangesOptions;
    readonly browser?: (socket: Socket) => void;
    readonly answers?: (response: ServerResponse) => Promise<unknown>;
  },
): Promise<{ readonly sending: Promise<void>; readonly response: ServerResponse }> {
  const { options = {}, browser, answers } = by;
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  browser?.(socket);
  await answers?.(response);
  return { sending: sendChanges(percolator, 't', { request, response }, options), response };
}

test('an answer whose changes end with a bug ends, too, and its caller hears of the bug', async (t) => {
  const percolator = await openWithTable(t);
  const broken: WithChanges = {
    async *changes(table) {
      yield* percolator.changes(table);
      throw new Error('a bug');
    },
  };
  const { sending, response } = await answered(t, broken, {});
  await assert.rejects(sending, /^Error: a bug$/);
  assert.ok(response.writableEnded);
});

test('a browser that has left before its answer begins is left alone', async (t) => {
  const percolator = await openWithTable(t);
  const { sending } = await answered(t, percolator, {
    browser: (socket) => socket.destroy(),
    answers: (response) => once(response, 'close'),
  });
  await assert.doesNotReject(sending);
});

test('the signal of the caller ends an answer, also one that its browser does not read', async (t) => {
  const percolator = await openWithTable(t);
  for (let i = 0; i < 8; i++) await write(percolator, { [`x${i}`]: 'x'.repeat(2 ** 20) });
  const ending = new AbortController();
  const options = { from: 0, signal: ending.signal };
  const { sending, response } = await answered(t, percolator, { options });
  while (!response.writableNeedDrain) await new Promise((resolve) => setTimeout(resolve, 5));
  ending.abort();
  await assert.doesNotReject(sending);
  const quiet = new AbortController();
  const request = new Request('http://localhost/');
  const { body } = await changesResponse(percolator, 't', request, { signal: quiet.signal });
  const reading = Array.fromAsync(body ?? []);
  quiet.abort();
  await assert.doesNotReject(reading);
});

test('changes end with the request, and with the body, although nothing reads them', async (t) => {
  const percolator = await openWithTable(t);
  for (const end of ['request', 'body', 'options'] as const) {
    const ended = Promise.withResolvers<void>();
    const watched: WithChanges = {
      changes: async function* noted(...given) {
        try {
          yield* percolator.changes(...given);
        } finally {
          ended.resolve();
        }
      },
    };
    const [leaving, stopping] = [new AbortController(), new AbortController()];
    const request = new Request('http://localhost/', { signal: leaving.signal });
    const options = { signal: stopping.signal };
    const { body } = await changesResponse(watched, 't', request, options);
    await new Promise((resolve) => setImmediate(resolve));
    if (end === 'request') leaving.abort();
    else if (end === 'body') await body?.cancel();
    else stopping.abort();
    await assert.doesNotReject(ended.promise, end);
  }
});
