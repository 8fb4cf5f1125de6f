/** When the log writes a group, which mutations share it, and when their callers are answered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import { EventLoop } from '../verification/world/event-loop.ts';
import { Costs } from './costs.ts';
import { Machine } from './machine.ts';
import { GroupLog } from './storage.ts';
import { PAPER } from './testing.ts';

const GROUP_US = 100;
/** The part of them that other threads do. */
const ASIDE_US = 30;
const WAIT_US = 500;
const UNSYNCED_US = 20;
const LONGEST_MS = 25;

function logOfOneCore(waitAfterIdleUs = 0): { loop: EventLoop; machine: Machine; log: GroupLog } {
  const loop = new EventLoop();
  const machine = new Machine(
    loop,
    { name: 'server', kind: 'tablet server' },
    { cores: 1, disks: 1 },
  );
  const wait = { medianUs: WAIT_US, p99Us: WAIT_US };
  const calibration = {
    ...PAPER,
    idle: { ...PAPER.idle, longestMs: LONGEST_MS },
    log: {
      waitAfterIdleUs,
      wait,
      perGroupUs: GROUP_US - ASIDE_US,
      perGroupAsideUs: ASIDE_US,
      perUnsyncedGroupUs: UNSYNCED_US,
    },
  };
  return {
    loop,
    machine,
    log: new GroupLog(loop, new Costs(calibration, createRandom(1)), machine),
  };
}

test('a mutation that is alone has a group of its own', async () => {
  const { loop, log } = logOfOneCore();
  const heard: number[] = [];
  const write = (): void => log.add(false, (durableUs) => heard.push(durableUs));
  loop.at(0, { happen: write });
  loop.at(10_000, { happen: write });
  await loop.run(() => false);
  assert.deepEqual(heard, [GROUP_US + WAIT_US, 10_000 + GROUP_US + WAIT_US]);
  assert.equal(log.groupsUs + log.asideUs, 2 * GROUP_US);
});

test('the longer the disk was idle, the longer a group waits, up to a limit of the idle time', async () => {
  const { loop, log } = logOfOneCore(100);
  const heard: number[] = [];
  const expected: number[] = [];
  let idleFromUs = 0;
  for (const idleMs of [4, 16, LONGEST_MS, 4 * LONGEST_MS]) {
    // The disk is idle until the thread has prepared the group.
    const writeUs = idleFromUs + 1000 * idleMs - (GROUP_US - ASIDE_US);
    loop.at(writeUs, { happen: () => log.add(false, (durableUs) => heard.push(durableUs)) });
    idleFromUs = writeUs + GROUP_US + WAIT_US + 100 * Math.sqrt(Math.min(LONGEST_MS, idleMs));
    expected.push(idleFromUs);
  }
  await loop.run(() => false);
  assert.deepEqual(heard, expected);
});

test('mutations that come while a group is being written form the next group', async () => {
  const { loop, log } = logOfOneCore();
  const heard: number[] = [];
  for (const us of [0, 200, 300, 400]) {
    loop.at(us, { happen: () => log.add(false, (durableUs) => heard.push(durableUs)) });
  }
  await loop.run(() => false);
  const first = GROUP_US + WAIT_US;
  assert.deepEqual(heard, [first, 2 * first, 2 * first, 2 * first]);
  assert.equal(log.groupsUs + log.asideUs, 2 * GROUP_US);
});

test('the thread learns that a group is durable only when it has no other work', async () => {
  const { loop, machine, log } = logOfOneCore();
  const heard: number[] = [];
  loop.at(0, { happen: () => log.add(false, (durableUs) => heard.push(durableUs)) });
  loop.at(300, { happen: () => void machine.work(5_000) });
  await loop.run(() => false);
  assert.deepEqual(heard, [5_300]);
});

test('no group waits for the network card, whether it is synced or only written', async () => {
  const { loop, machine, log } = logOfOneCore();
  const heard: number[] = [];
  for (const isProvisional of [false, true]) {
    const writeUs = loop.nowUs;
    machine.card.take(writeUs, 5_000); // The card sends earlier answers.
    log.add(isProvisional, (writtenUs) => heard.push(writtenUs - writeUs));
    await loop.run(() => false);
  }
  assert.deepEqual(heard, [GROUP_US + WAIT_US, UNSYNCED_US]);
  assert.equal(machine.card.arrivals, 2);
});

test('a group of provisional mutations alone is not synced, but waits until the group before it is', async () => {
  const { loop, log } = logOfOneCore();
  const heard: [string, number][] = [];
  const write = (isProvisional: boolean, name: string): void =>
    log.add(isProvisional, (us) => heard.push([name, us]));
  loop.at(0, { happen: () => write(true, 'alone') });
  loop.at(10, { happen: () => write(true, 'with a commit') });
  loop.at(10, { happen: () => write(false, 'commit') });
  loop.at(50, { happen: () => write(true, 'while it is synced') });
  await loop.run(() => false);
  const durable = UNSYNCED_US + GROUP_US + WAIT_US;
  assert.deepEqual(heard, [
    ['alone', UNSYNCED_US],
    ['with a commit', durable],
    ['commit', durable],
    ['while it is synced', durable + UNSYNCED_US],
  ]);
  assert.equal(log.groupsUs, 2 * UNSYNCED_US + GROUP_US - ASIDE_US);
  assert.equal(log.asideUs, ASIDE_US);
});
