/** A point of bench:oracle: its processes, and what it makes of the results of its clients. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { execaNode } from 'execa';
import { createRun } from '#results';
import { temporaryFolder } from '#engine/testing';
import { findingsOf } from './findings.ts';
import { processesNaming } from '../../harness/testing/processes-naming.ts';
import { clientOptionsOf, measurePoint, pointOf } from './measure.ts';
import type { ClientOptions, ClientResult, ServerReady } from './messages.ts';

const SERVER = new URL('server-process.ts', import.meta.url);
const CLIENT = new URL('client-process.ts', import.meta.url);

const LOAD = { clients: 1, callers: 64, warmUpSeconds: 0, seconds: 0.1 };
const RESULT: ClientResult = {
  kind: 'measured',
  timestamps: 64,
  smallest: 1,
  largest: 64,
  wallMs: 150,
  cpuMs: 20,
  latencies: [],
};

test('a point in which no caller got a second timestamp has a rate, no latency, and a record', () => {
  const point = pointOf(LOAD, [RESULT]);
  assert.deepEqual([point.samples, point.p50Ms, point.p99Ms], [0, null, null]);
  assert.equal(Math.round(point.perSecond), 427);
  const { targets, ...found } = findingsOf([point], point);
  const run = createRun(temporaryFolder(), {
    experiment: 'oracle',
    profile: 'custom',
    commandLine: '',
    parameters: {},
    seed: 0,
    repeats: 1,
    store: { name: 'embedded', durability: '' },
  });
  run.describe({ findings: { kicker: '', title: '', ...found }, targets });
  assert.equal(run.record.findings?.tables[0]?.rows[0]?.[6], null);
});

test('a point whose clients got the same timestamps is refused', () => {
  assert.throws(() => pointOf(LOAD, [RESULT, RESULT]), /handed out twice/);
});

test('the clients of a point together have as many callers as it shows', () => {
  for (const [clients, callers] of [
    [1, 5],
    [4, 4],
    [8, 60_001],
  ] as const) {
    const options = clientOptionsOf('', { ...LOAD, clients, callers });
    assert.equal(options.length, clients);
    const sum = options.reduce((total, one) => total + one.callers, 0);
    assert.equal(sum, callers);
    assert.ok(options.every((one) => one.callers > 0));
  }
});

test('a ctrl-C that reaches oracle and client, as at a terminal, ends neither', async () => {
  const processes = { ipc: true, reject: false } as const;
  await using cleanup = new AsyncDisposableStack();
  const server = execaNode(SERVER, [temporaryFolder()], processes);
  cleanup.defer(() => void server.kill());
  const { address } = (await server.getOneMessage()) as unknown as ServerReady;
  const options: ClientOptions = { address, callers: 1, warmUpSeconds: 0, seconds: 0.1 };
  const client = execaNode(CLIENT, [JSON.stringify(options)], processes);
  cleanup.defer(() => void client.kill());
  await client.getOneMessage(); // Connected.
  for (const one of [server, client]) one.kill('SIGINT');
  const measured = client.getOneMessage();
  await client.sendMessage('begin');
  const { kind, timestamps } = (await measured) as unknown as ClientResult;
  assert.equal(kind, 'measured');
  assert.ok(timestamps > 0);
});

test('a client that ends early fails the point, and no other client is left', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has a /proc to find the clients in');
  await using cleanup = new AsyncDisposableStack();
  const server = execaNode(SERVER, [temporaryFolder()], { ipc: true, reject: false });
  cleanup.defer(() => void server.kill());
  const { address } = (await server.getOneMessage()) as unknown as ServerReady;
  const load = { ...LOAD, clients: 2, seconds: 60 };
  const measured = measurePoint(address, load, new AbortController().signal);
  const failed = assert.rejects(measured, /exited|disconnect/);
  let clients: readonly string[] = [];
  while (clients.length < load.clients) {
    await setTimeout(20);
    clients = processesNaming(address);
  }
  process.kill(Number(clients[0]), 'SIGKILL');
  await failed;
  return assert.deepEqual(processesNaming(address), []);
});
