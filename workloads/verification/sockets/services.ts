/**
 * Oracle and lock services on real sockets, where they disagree, or are of different versions.
 *
 *     lock services     one is cut off from a process that lives, again and again, and takes it for
 *                       dead; the other one hears it. Then one of them, or none, is gone, and a
 *                       process leaves
 *     versions          an oracle and a lock service of the next version are among those of this
 *                       one, and so are their clients. By the same fields they mean something else:
 *                       theirs counts from another beginning, and lists the living
 *
 * What the newer ones say is made by hand. All else is the engine's; all is in this process, so
 * when one stands still, all do. What a lock service says is asked by a witness that knows no other
 * one.
 */
import type { AddressInfo } from 'node:net';
import { createRandom, hasCode, type Random, systemClock } from '../../../engine/base/index.ts';
import { connectLockService, type LockServiceClient } from '../../../engine/lock-service/client.ts';
import { serveLocks } from '../../../engine/lock-service/server.ts';
import { lockService } from '../../../engine/lock-service/service.ts';
import { connectOracle } from '../../../engine/oracle/client.ts';
import { openAllocator } from '../../../engine/oracle/index.ts';
import { serveOracle } from '../../../engine/oracle/server.ts';
import { oracleService } from '../../../engine/oracle/service.ts';
import { connect, methodOf, startServer } from '../../../engine/rpc/index.ts';
import { createMemoryBigtable } from '../../../engine/testing/memory-bigtable.ts';
import type { Violation } from '../judges/index.ts';
import { Proxy } from './proxy.ts';

export interface ServicesRun {
  readonly violations: readonly Violation[];
  /** Looks at which one service took a living process for dead, and the other one did not. */
  readonly disagreements: number;
  /** Messages of the other version that were refused. */
  readonly refused: number;
}

/** Milliseconds without a beat after which the process that is cut off counts as dead. */
const TIME_TO_LIVE_MS = 400;
/** So many cuts, and how long a service is deceived in each, in milliseconds. */
const CUTS = 2;
const DECEIVED_MS = [500, 900] as const;
const LOOK_MS = 20;
/** What one service says reaches its clients within this time, in milliseconds. */
const NEWS_MS = 300;
/** Far longer than a service needs to hear of a process that leaves, in milliseconds. */
const LEAVE_MS = 20_000;
/** A timestamp of the next version; ours begin at 1. */
const OF_NEWER = 1e12;
const NEWER = 2;

export async function runServices(seed: number): Promise<ServicesRun> {
  const random = createRandom(seed).fork('services');
  const ofLocks = await runLockServices(random.fork('lock services'));
  const ofVersions = await runVersions(random.fork('versions'));
  const violations = [...ofLocks.violations, ...ofVersions.violations];
  return { ...ofLocks, ...ofVersions, violations };
}

async function runLockServices(
  random: Random,
): Promise<Pick<ServicesRun, 'violations' | 'disagreements'>> {
  await using opened = new AsyncDisposableStack();
  const violations: Violation[] = [];
  const services = [opened.use(await serveLocks()), opened.use(await serveLocks())];
  const addresses = inEitherOrder(
    random,
    services.map(({ address }) => address),
  );
  const [deceived = '', hearing = ''] = addresses;
  const join = (self: string, to: readonly string[]): LockServiceClient =>
    opened.use(member(self, to));
  const proxy = opened.use(new Proxy(portOf(deceived), { random, faults: ['none'], holdMs: 0 }));
  const front = (await proxy.listen(0)).address() as AddressInfo;
  const cutOff = join('cut off', [`127.0.0.1:${front.port}`, hearing]);
  const observer = join('observer', inEitherOrder(random, addresses));
  const witnesses = [join('first witness', [deceived]), join('second witness', [hearing])];
  const [ofDeceived, ofHearing] = witnesses as [LockServiceClient, LockServiceClient];
  await untilTrue(() => [observer, ...witnesses].every((one) => one.isConnected), LEAVE_MS);
  const ofBoth = [observer, cutOff];
  await untilTrue(() => ofBoth.every((one) => one.connectedTo.length === 2), LEAVE_MS);
  let disagreements = 0;
  let wrongSinceMs: number | undefined;
  const look = (): void => {
    const nowMs = systemClock.monotonicMs();
    const isHeard = !ofHearing.isDead('cut off') && ofHearing.isConnected;
    if (ofDeceived.isDead('cut off') && isHeard) disagreements++;
    const isWrong = observer.isDead('cut off') && isHeard && observer.connectedTo.length === 2;
    wrongSinceMs = isWrong ? (wrongSinceMs ?? nowMs) : undefined;
    if (wrongSinceMs === undefined || nowMs < wrongSinceMs + NEWS_MS) return;
    const message = 'a process counts as dead that one of the two lock services hears';
    violations.push({ claim: 'lock services: dead only if all say so', message });
  };
  for (let i = 0; i < CUTS && violations.length === 0; i++) {
    proxy.moveTo(undefined);
    await untilTrue(() => ofDeceived.isDead('cut off'), LEAVE_MS);
    await lookFor(random.integer(...DECEIVED_MS), look);
    proxy.moveTo(portOf(deceived));
    await untilTrue(() => !ofDeceived.isDead('cut off'), LEAVE_MS);
  }
  await judgeLeaving(random, { services, observer, join, violations });
  return { violations: violations.slice(0, 1), disagreements };
}

interface Leaving {
  readonly services: readonly { readonly address: string; readonly close: () => Promise<void> }[];
  readonly observer: LockServiceClient;
  readonly join: (self: string, to: readonly string[]) => LockServiceClient;
  readonly violations: Violation[];
}

/** One that leaves is dead for all, also if a service has gone and says nothing any more. */
async function judgeLeaving(
  random: Random,
  { services, observer, join, violations }: Leaving,
): Promise<void> {
  const all = services.map(({ address }) => address);
  const leaver = join('leaver', all);
  await untilTrue(() => leaver.connectedTo.length === 2, LEAVE_MS);
  const gone = random.fraction() < 0.7 ? random.pick(services) : undefined;
  await gone?.close();
  if (gone !== undefined) await untilTrue(() => observer.connectedTo.length === 1, LEAVE_MS);
  await leaver.close();
  if (await untilTrue(() => observer.isDead('leaver'), LEAVE_MS)) return;
  const message = `a process that has left counts as alive, though ${gone ? 'the only service that answers says' : 'both services say'} that it is dead`;
  violations.push({ claim: 'lock services: a death that all tell counts', message });
}

async function runVersions(random: Random): Promise<Pick<ServicesRun, 'violations' | 'refused'>> {
  await using opened = new AsyncDisposableStack();
  const violations: Violation[] = [];
  const find = (claim: string, message: string): void =>
    void violations.push({ claim: `versions: ${claim}`, message });
  let refused = 0;
  const oracle = opened.use(await serveOracle(await openAllocator(createMemoryBigtable())));
  const newerOracle = opened.use(
    await startServer(oracleService, {
      Allocate: (_call: unknown, answer: (error: null, response: object) => void) =>
        answer(null, { first: OF_NEWER, identity: 'x', version: NEWER }),
    }),
  );
  const addresses = inEitherOrder(random, [oracle.address, newerOracle.address]);
  const client = connectOracle({ addresses });
  opened.defer(async () => client.close());
  const raw = connect(oracle.address, oracleService, { clock: systemClock });
  opened.defer(() => raw.close());
  for (let i = random.integer(3, 6); i > 0 && violations.length === 0; i--) {
    const timestamp = await client.next().catch(String);
    if (typeof timestamp === 'string') find('a server of this version is asked', timestamp);
    else if (timestamp >= OF_NEWER) {
      find('nothing is taken from a newer server', `the timestamp ${timestamp}`);
    }
    const asked = raw.call('Allocate', { count: 1, version: NEWER }, { deadlineMs: LEAVE_MS });
    const error = await asked.then(() => undefined).catch((given: unknown) => given);
    if (hasCode(error, 'WRONG_VERSION')) refused++;
    else find('nothing is taken from a newer client', 'a timestamp was allocated for it');
  }
  await runNewerLocks(opened, find);
  return { violations, refused };
}

async function runNewerLocks(
  opened: AsyncDisposableStack,
  find: (claim: string, message: string) => void,
): Promise<void> {
  const locks = opened.use(await serveLocks());
  const newer = opened.use(
    await startServer(lockService, {
      Stay: (stay: { write(message: object): void }) =>
        stay.write({ dead: ['living'], version: NEWER }),
    }),
  );
  const deceived = opened.use(member('deceived', [newer.address]));
  const observer = opened.use(member('observer', [locks.address]));
  await untilTrue(() => observer.isConnected, LEAVE_MS);
  opened.use(member('living', [locks.address]));
  const raw = connect(locks.address, lockService, { clock: systemClock });
  opened.defer(() => raw.close());
  const { path, requestSerialize, responseDeserialize } = methodOf(lockService(), 'Stay');
  const { channel } = await raw.open();
  const stay = channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  let hasEnded = false;
  for (const event of ['error', 'end']) stay.on(event, () => (hasEnded = true)); // It is refused.
  stay.resume();
  const beat = { token: 'newcomer', ttlMs: 60_000, version: NEWER };
  stay.write(beat);
  stay.write({ ...beat, isLeaving: true });
  stay.end();
  await untilTrue(() => hasEnded, LEAVE_MS); // The service has seen all of it.
  stay.cancel();
  // What it has told of the newcomer, the observer has heard before it hears of this one.
  const leaver = opened.use(member('leaver', [locks.address]));
  await untilTrue(() => leaver.isConnected, LEAVE_MS);
  await leaver.close();
  await untilTrue(() => observer.isDead('leaver'), LEAVE_MS);
  await untilTrue(() => deceived.isConnected || deceived.warnings.length > 0, LEAVE_MS);
  if (observer.isDead('newcomer')) {
    find('nothing is taken from a newer client', 'a token of its lists counts');
  }
  if (deceived.isDead('living')) {
    find('nothing is taken from a newer server', 'a process that lives counts as dead');
  }
}

function member(self: string, addresses: readonly string[]): LockServiceClient {
  const local = { self, isDead: () => false };
  return connectLockService({ addresses, local, timeToLiveMs: TIME_TO_LIVE_MS });
}

function inEitherOrder(random: Random, all: readonly string[]): readonly string[] {
  return random.fraction() < 0.5 ? all : all.toReversed();
}

async function lookFor(ms: number, look: () => void): Promise<void> {
  const untilMs = systemClock.monotonicMs() + ms;
  for (; systemClock.monotonicMs() < untilMs; await systemClock.sleep(LOOK_MS)) look();
}

/** Whether it is so within this time. */
async function untilTrue(isSo: () => boolean, withinMs: number): Promise<boolean> {
  const untilMs = systemClock.monotonicMs() + withinMs;
  while (!isSo() && systemClock.monotonicMs() < untilMs) await systemClock.sleep(LOOK_MS);
  return isSo();
}

function portOf(address: string): { readonly port: number; readonly host: string } {
  return { port: Number(address.split(':')[1]), host: '127.0.0.1' };
}
