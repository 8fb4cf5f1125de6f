/**
 * Claims of a stay that goes over to another connection, whose first beat may be late: for the
 * service the process lives all the time.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import type { ClientDuplexStream, ServerDuplexStream } from '@grpc/grpc-js';
import { systemClock } from '../base/index.ts';
import { HOSTS, identity, Source } from '../rpc/identities.fixture.ts';
import { connect, methodOf, type StreamLine, startServer, versioned } from '../rpc/index.ts';
import { until } from '../testing/index.ts';
import { connectLockService } from './client.ts';
import { serveLocks } from './server.ts';
import { type Beat, type LivenessChanges, lockService } from './service.ts';

type Stay = ClientDuplexStream<Beat, LivenessChanges>;

function stayOn(t: TestContext, { channel }: StreamLine): Stay {
  const { path, requestSerialize, responseDeserialize } = methodOf(lockService(), 'Stay');
  const stay = channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize) as Stay;
  stay.on('error', () => {});
  t.after(() => stay.cancel());
  return stay;
}

const beatOf = (token: string): Beat => versioned({ token, ttlMs: 60_000 });

test('a service answers a stay when its first beat has arrived, and not before', async (t) => {
  const server = await serveLocks();
  t.after(() => server.close());
  const client = connect(server.address, lockService, { clock: systemClock });
  t.after(() => client.close());
  const line = await client.open();
  const [waiting, other] = [stayOn(t, line), stayOn(t, line)];
  let heard = 0;
  waiting.on('data', () => heard++);
  other.write(beatOf('other'));
  await once(other, 'data'); // What was sent before on the same connection has arrived.
  assert.equal(heard, 0);
  waiting.write(beatOf('waiting'));
  await until(() => heard > 0);
});

test('a process beats on its former connections until its first beat on the new one is answered', async (t) => {
  const beats: number[] = [];
  const answers: (() => void)[] = [];
  let ended = 0;
  const Stay = (stay: ServerDuplexStream<Beat, LivenessChanges>): void => {
    const number = beats.push(0) - 1;
    answers.push(() => void stay.write(versioned({})));
    stay.on('data', () => void (beats[number] = (beats[number] ?? 0) + 1));
    stay.on('cancelled', () => void (ended += 1)).on('error', () => {});
    stay.on('end', () => stay.end());
    if (number === 0) answers[0]?.();
  };
  const tls = new Source(identity({ name: 'the locks', hosts: HOSTS }));
  const server = await startServer(lockService, { Stay }, { tls });
  t.after(() => server.close());
  const own = new Source(identity());
  const local = { self: 'me', isDead: () => false };
  const shared = { addresses: [server.address], local, timeToLiveMs: 600 };
  const client = connectLockService({ ...shared, tls: own });
  t.after(() => client.close());
  await until(() => client.isConnected && (beats[0] ?? 0) > 0);
  for (const newest of [1, 2]) {
    own.renew(identity());
    await until(() => (beats[newest] ?? 0) > 0);
    const before = [...beats];
    await until(() => before.every((count, i) => (beats[i] ?? 0) >= count + 2));
    assert.equal(ended, 0);
  }
  answers[2]?.();
  await until(() => ended === 2);
  assert.equal(client.isConnected, true);
});
