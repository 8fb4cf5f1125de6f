/**
 * The claims of two versions at once (P86): of two processes, the older one refuses what it does
 * not know, in a sentence that says which one to update. The newer ones here are made by hand.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { systemClock, type Warning } from '../base/index.ts';
import { connectLockService } from '../lock-service/client.ts';
import { serveLocks } from '../lock-service/server.ts';
import type { Beat } from '../lock-service/service.ts';
import { lockService } from '../lock-service/service.ts';
import { connectOracle } from '../oracle/client.ts';
import { openAllocator } from '../oracle/index.ts';
import { serveOracle } from '../oracle/server.ts';
import { oracleService } from '../oracle/service.ts';
import { createMemoryBigtable } from '../testing/index.ts';
import { connect, methodOf, startServer } from './index.ts';
import { describingService } from './service.ts';

const NEWER = 'speaks version 2 of the protocol, and this process version 1: update this process';

function client(t: TestContext, address: string, service = oracleService) {
  const opened = connect(address, service, { clock: systemClock });
  t.after(() => opened.close());
  return opened;
}

test('P86: a newer client, and one from before there were versions, are refused by the server', async (t) => {
  const source = await openAllocator(createMemoryBigtable());
  const server = await serveOracle(source);
  t.after(() => server.close());
  const raw = client(t, server.address);
  const ask = (version: number): Promise<object> =>
    raw.call('Allocate', { count: 1, version }, { deadlineMs: 10_000 });
  await assert.rejects(ask(2), { code: 'WRONG_VERSION', message: `the client ${NEWER}` });
  await assert.rejects(ask(0), {
    code: 'WRONG_VERSION',
    message:
      'the client speaks version 0 of the protocol, and this process version 1: update the client',
  });
  assert.partialDeepStrictEqual(await ask(1), { first: 1, version: 1 });
  const described = await client(t, server.address, describingService).call(
    'Describe',
    { version: 2 },
    { deadlineMs: 10_000 },
  );
  const service = 'percolator.oracle.v1.TimestampOracle';
  const { identity: database } = source;
  assert.deepEqual(described, { service, database, isStandby: false, version: 1 });
});

test('P86: a newer server is left by a client at once; an older oracle is asked in its place', async (t) => {
  const newer = await startServer(oracleService, {
    Allocate: (_call: unknown, answer: (error: null, response: object) => void) =>
      answer(null, { first: 1_000_000, identity: 'x', version: 2 }),
  });
  t.after(() => newer.close());
  const alone = connectOracle({ addresses: [newer.address], timeoutMs: 3_600_000 });
  t.after(() => alone.close());
  await assert.rejects(alone.next(), {
    code: 'WRONG_VERSION',
    message: `the timestamp oracle at ${newer.address} cannot be used: the server at ${newer.address} ${NEWER}`,
  });
  const server = await serveOracle(await openAllocator(createMemoryBigtable()));
  t.after(() => server.close());
  const both = connectOracle({ addresses: [newer.address, server.address] });
  t.after(() => both.close());
  assert.equal(await both.next(), 1);
});

test('P86: a newer client of the lock service is refused before its token counts', async (t) => {
  const server = await serveLocks();
  t.after(() => server.close());
  const { channel } = await client(t, server.address, lockService).open();
  const { path, requestSerialize, responseDeserialize } = methodOf(lockService(), 'Stay');
  const stay = channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  const refused = new Promise((resolve) => {
    stay.on('error', (error) => resolve(error.message));
  });
  stay.resume();
  const beat: Beat & { version: number } = { token: 'newer', ttlMs: 1_000, version: 2 };
  stay.write(beat);
  assert.equal(await refused, `11 OUT_OF_RANGE: the client ${NEWER}`);
});

test('P86: a newer lock service is a warning of its client', async (t) => {
  const newer = await startServer(lockService, {
    Stay: (stay: { write(message: object): void }) => stay.write({ dead: ['a'], version: 2 }),
  });
  t.after(() => newer.close());
  const { promise, resolve } = Promise.withResolvers<Warning>();
  const locks = connectLockService({
    addresses: [newer.address],
    local: { self: 'me', isDead: () => false },
    timeToLiveMs: 3_600_000,
    onWarning: resolve,
  });
  t.after(() => locks.close());
  assert.match(
    (await promise).sentence,
    new RegExp(`cannot be used \\(the server at \\S+ ${NEWER}\\)`),
  );
  assert.equal(locks.isDead('a'), false);
});
