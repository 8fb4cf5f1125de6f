/** The order of events, compared with a list that is sorted anew for each of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine/base';
import { EventLoop } from './event-loop.ts';

for (let seed = 1; seed <= 5; seed++) {
  test(`events happen by time, then in the order they were added, in run ${seed}`, async () => {
    const random = createRandom(seed);
    const loop = new EventLoop();
    const expected: { readonly time: number; readonly number: number }[] = [];
    const happened: number[] = [];
    let added = 0;
    const add = (): void => {
      // Soon, at the edge of the ring, or far beyond it.
      const delay = random.pick([0, 1, 40, 65_535, 65_536, 65_537, 1_000_000]);
      const time = loop.nowUs + random.integer(0, 3) * delay;
      const number = added++;
      expected.push({ time, number });
      loop.at(time, {
        happen: () => {
          assert.equal(loop.nowUs, time);
          happened.push(number);
          if (added < 2_000) Array.from({ length: random.integer(0, 3) }, add);
        },
      });
    };
    for (let i = 0; i < 100; i++) add();
    assert.equal(await loop.run(() => false), false);
    const inOrder = expected.toSorted((a, b) => a.time - b.time || a.number - b.number);
    assert.deepEqual(
      happened,
      inOrder.map(({ number }) => number),
    );
    assert.ok(happened.length > 200);
  });
}

test('code that an event woke runs on until it waits for another event before time moves on', async () => {
  const loop = new EventLoop();
  const heard: string[] = [];
  const woken = Promise.withResolvers<void>();
  loop.at(1, { happen: () => woken.resolve() });
  loop.at(2, { happen: () => heard.push('the next event') });
  const many = async (): Promise<void> => {
    await woken.promise;
    for (let i = 0; i < 50; i++) await Promise.resolve();
    heard.push('fifty promises');
  };
  await Promise.all([many(), loop.run(() => heard.length === 2)]);
  assert.deepEqual(heard, ['fifty promises', 'the next event']);
});

test('what an event throws ends the run', async () => {
  const loop = new EventLoop();
  const happen = (): void => {
    throw new Error('a bug');
  };
  loop.at(5, { happen });
  await assert.rejects(
    loop.run(() => false),
    /a bug/,
  );
});
