/**
 * Which answers of a region server count: those of a server that surely still owns its regions. And
 * which failed calls are sent again.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { momentOf } from '../../base/index.ts';
import { VirtualClock } from '../../testing/index.ts';
import { errorOf, HBaseFailure, mayRepeat } from './failures.ts';
import { Servers } from './servers.ts';

const SERVER = 'host:16020';

function setUp(proofMs?: number): {
  clock: VirtualClock;
  servers: Servers;
  proofs: () => number;
  ask: Ask;
} {
  const clock = new VirtualClock();
  const servers = new Servers({ clock, proofMs, connect: () => assert.fail('no call is made') });
  let sent = 0;
  const ask: Ask = (prove = async () => {}) =>
    servers.confirm(SERVER, () => {
      sent++;
      return prove();
    });
  return { clock, servers, proofs: () => sent, ask };
}

type Ask = (prove?: () => Promise<void>) => Promise<void>;

test('the first answer of a server needs a proof, and those soon after do not', async () => {
  const { clock, proofs, ask } = setUp();
  for (let i = 0; i < 9; i++) {
    await ask();
    await clock.advance(100);
  }
  assert.equal(proofs(), 1);
});

test('P64: answers alone are no proof for long: a server that is cut off may give them forever', async () => {
  const { clock, proofs, ask } = setUp();
  for (let i = 0; i < 100; i++) {
    await ask();
    await clock.advance(100);
  }
  assert.equal(proofs(), 10);
});

test('P64: where no answer may count without a mutation after it, each has its own', async () => {
  const { servers, clock, proofs, ask } = setUp(0);
  servers.applied(SERVER, momentOf(clock));
  await ask();
  await ask();
  assert.equal(proofs(), 2);
});

test('after a silence, an answer needs a proof again', async () => {
  const { clock, proofs, ask } = setUp();
  await ask();
  await clock.advance(1100); // A proof lasts 1,000 ms (servers.ts).
  await ask();
  assert.equal(proofs(), 2);
});

test('P59: a proof ends as soon as either clock says so', async () => {
  for (const pass of [
    (clock: VirtualClock) => clock.advance(2100),
    async (clock: VirtualClock) => clock.suspend(5000), // The monotonic clock stands.
    async (clock: VirtualClock) => clock.jumpWall(-3_600_000),
  ]) {
    const { clock, servers, proofs, ask } = setUp();
    await ask();
    assert.equal(servers.isProven(SERVER), true);
    await pass(clock);
    assert.equal(servers.isProven(SERVER), false);
    await ask();
    assert.equal(proofs(), 2);
  }
});

test('an answer without a proof is refused, and so is the next one', async () => {
  const { ask } = setUp();
  const fails = (): Promise<void> => Promise.reject(new Error('not the owner'));
  await assert.rejects(ask(fails), /not the owner/);
  await assert.rejects(ask(fails), /not the owner/);
  await assert.doesNotReject(ask());
});

test('a mutation that was applied is a proof', async () => {
  const { clock, servers, proofs, ask } = setUp();
  servers.applied(SERVER, momentOf(clock));
  await clock.advance(900);
  await ask();
  assert.equal(proofs(), 0);
});

test('a proof that was sent before an answer came does not count for it', async () => {
  const { clock, proofs, ask } = setUp();
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = ask(() => promise);
  await clock.advance(3000);
  const second = ask();
  resolve();
  await Promise.all([first, second]);
  assert.equal(proofs(), 2);
});

test('P65: a conditional mutation is repeated only if it did not leave the process, or the server touched nothing', () => {
  const moved = HBaseFailure.ofException('org.x.NotServingRegionException', 'not here\n at ...');
  const unknown = HBaseFailure.ofException('java.io.IOException', 'java.io.IOException: broken');
  assert.equal(mayRepeat(moved, 'conditional'), true);
  assert.equal(mayRepeat(new HBaseFailure('unsent', 'no connection'), 'conditional'), true);
  for (const failure of [unknown, new HBaseFailure('lost', ''), new HBaseFailure('late', '')]) {
    assert.equal(mayRepeat(failure, 'conditional'), false);
    assert.equal(mayRepeat(failure, 'mutation'), true);
    assert.equal(errorOf(failure, 'conditional', 'x').code, 'STORE_IN_DOUBT');
    assert.equal(errorOf(failure, 'read', 'x').code, 'STORE_UNAVAILABLE');
  }
  assert.equal(errorOf(moved, 'conditional', 'x').code, 'STORE_UNAVAILABLE');
  assert.equal(errorOf(unknown, 'read', 'x').message, 'x: IOException: broken');
});
