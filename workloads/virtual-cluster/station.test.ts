/** Queues compared with what queueing theory says of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine/base';
import { Station } from './station.ts';

test('work waits for the first server that is free', () => {
  const station = new Station(2);
  assert.equal(station.take(0, 10), 10);
  assert.equal(station.take(0, 30), 30);
  assert.equal(station.take(5, 10), 20); // After the first.
  assert.equal(station.take(5, 10), 30); // After the third.
  assert.equal(station.take(100, 1), 101);
  assert.equal(station.busyUs, 61);
  assert.equal(station.waitedUs, 5 + 15);
});

test('the waits of random arrivals are those of the queue M/M/1', () => {
  const station = new Station(1);
  const random = createRandom(7);
  const exponential = (mean: number): number => -mean * Math.log(1 - random.fraction());
  let nowUs = 0;
  for (let i = 0; i < 300_000; i++) {
    nowUs += exponential(10);
    station.take(nowUs, exponential(7));
  }
  const load = 0.7;
  const expectedUs = (load * 7) / (1 - load);
  const waitUs = station.waitedUs / station.arrivals;
  assert.ok(Math.abs(waitUs / expectedUs - 1) < 0.05, `${waitUs} instead of ${expectedUs}`);
  assert.ok(Math.abs(station.busyUs / nowUs - load) < 0.01);
});

test('a station that stands still does its work later, and a cleared one never does it', () => {
  const station = new Station(1);
  station.take(0, 10);
  station.stand(4, 100);
  assert.equal(station.backlogUs(4), 6); // It has worked for 4; standing still is no work.
  assert.equal(station.take(4, 5), 115);
  assert.equal(station.backlogUs(50), 11);
  assert.equal(station.backlogUs(112), 3);
  station.clear(50);
  assert.equal(station.busyUs, 4);
  assert.equal(station.backlogUs(50), 0);
  assert.equal(station.take(50, 5), 55);
});
