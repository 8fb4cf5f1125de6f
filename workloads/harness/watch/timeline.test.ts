/** What is shown of a run second by second: how it is read, joined, and kept within bounds. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostsOf } from '../loopback-server.ts';
import { CoresInUse, programName } from './cores.ts';
import { LiveTimes } from './live-times.ts';
import { joined, ProbeReader } from './probes.ts';
import { GrowingTimeline } from './timeline.ts';

describe('the timeline of a run', () => {
  test('has fewer points after a long time: of rates the means, of what waits the most', () => {
    const growing = new GrowingTimeline();
    for (let second = 1; second <= 5_000; second++) {
      growing.add(second, [
        { panel: 'throughput', series: 'done', value: second % 2 === 0 ? 10 : 30 },
        { panel: 'waiting', series: 'left', value: second === 2_500 ? 1_000 : 1 },
      ]);
    }
    const [done, left] = growing.timeline.panels.map(({ series }) => series[0]?.points ?? []);
    assert.ok(done !== undefined && done.length < 600 && done.length > 250);
    assert.equal(done[0]?.value, 20);
    assert.equal(Math.max(...(left ?? []).map(({ value }) => value ?? 0)), 1_000);
    assert.equal(done.at(-1)?.seconds, 5_000);
  });

  test('interrupts a line whose process says nothing, and begins none with a zero', () => {
    const growing = new GrowingTimeline();
    growing.add(1, [{ panel: 'cores', series: 'worker', value: 1 }]);
    growing.add(2, [{ panel: 'conflicts', series: 'conflicts', value: 0 }]);
    for (const second of [3, 4, 5]) growing.add(second, []);
    growing.add(6, [{ panel: 'cores', series: 'worker', value: 1 }]);
    const { panels } = growing.timeline;
    assert.deepEqual(
      panels.map(({ title }) => title),
      ['Processes and their cores'],
    );
    const points = panels[0]?.series[0]?.points.map(({ seconds, value }) => [seconds, value]);
    assert.deepEqual(points, [
      [1, 1],
      [3, null],
      [6, 1],
    ]);
  });

  test('ends a phase when the next one begins, and drops one that lasted no time', () => {
    const growing = new GrowingTimeline();
    growing.phase(0, 'loading');
    growing.event(1, 'kill -9');
    growing.phase(2, 'measuring');
    growing.phase(2, 'point 1');
    growing.phase(3);
    assert.deepEqual(growing.timeline.events, [
      { from: 0, to: 2, label: 'loading' },
      { from: 1, to: 1, label: 'kill -9' },
      { from: 2, to: 3, label: 'point 1' },
    ]);
  });
});

describe('the readings of probes', () => {
  test('are rates of what has grown, of all processes together', () => {
    const readings = [1, 2].map((factor) => {
      let count = 100;
      const reader = new ProbeReader();
      reader.show([{ panel: 'throughput', series: 'commits', rate: () => count }]);
      count += 10 * factor;
      return reader.read(2);
    });
    assert.deepEqual(
      joined(readings).map(({ series, value }) => [series, value]),
      [['commits', 15]],
    );
  });

  test('end when they are disposed of', () => {
    const reader = new ProbeReader();
    reader.show([{ panel: 'waiting', series: 'left', level: () => 7 }])[Symbol.dispose]();
    assert.deepEqual(reader.read(1), { samples: [], timesUs: {} });
  });

  test('have the percentiles of the times of all, and forget evenly where there are too many', () => {
    const times = new LiveTimes();
    for (let us = 1; us <= 100_000; us++) times.record(us);
    const taken = times.take();
    assert.ok(taken.length < 4_096);
    const samples = joined([{ samples: [], timesUs: { run: taken } }]);
    const [median, p99] = samples.map(({ value }) => value);
    assert.ok(Math.abs((median ?? 0) - 50) < 1 && Math.abs((p99 ?? 0) - 99) < 1);
    assert.deepEqual(times.take(), []);
  });
});

test('a process is named by its program', () => {
  assert.equal(programName(['/usr/bin/node', '--x', '/a/worker-process.ts', '{}']), 'worker');
  const java = ['/opt/jdk/bin/java', '-Dx=1', 'org.apache.hadoop.hbase.HRegionServer', 'start'];
  assert.equal(programName(java), 'HRegionServer');
  assert.equal(programName(['postgres: user database 127.0.0.1 idle']), 'postgres');
});

test('the cores of this process are not negative, and those of its threads are its own', () => {
  let nowMs = 0;
  const cores = new CoresInUse(process.pid, () => (nowMs += 1_000));
  const own = cores.read().find(({ series }) => series === 'the script');
  assert.ok(process.platform !== 'linux' || (own !== undefined && own.value >= 0));
});

test('at port 80, which browsers leave out of the name of the host, a server answers without it', () => {
  const [ip, name] = ['127.0.0.1', 'localhost'];
  assert.deepEqual(hostsOf(80), [ip, name, `${ip}:80`, `${name}:80`]);
  assert.deepEqual(hostsOf(8080), [`${ip}:8080`, `${name}:8080`]);
});
