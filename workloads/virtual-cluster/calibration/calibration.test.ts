/**
 * Calibrations: ours are whole, mistakes in a file are one sentence, assumed numbers can be varied.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { UsageError } from '#results';
import { keptCalibration } from '../testing.ts';
import { drawUs } from '../costs.ts';
import { calibrationNames, loadCalibration, parseCalibration } from './load.ts';
import { assumedPlaces, varied } from './sensitivity.ts';

/** Any object of a parsed file. */
interface Json {
  [key: string]: Json;
}

/** A file of Linux that even root cannot read from its beginning. */
const UNREADABLE = '/proc/self/mem';
const PAPER = path.join(import.meta.dirname, 'paper-2010.json');

describe('each calibration of ours', () => {
  for (const name of calibrationNames()) {
    test(`${name} loads, and has the name of its file`, () => {
      assert.equal(keptCalibration(name).name, name);
    });
  }
});

describe('paper-2010', () => {
  const { calibration } = loadCalibration('paper-2010');
  const { cluster, storage } = calibration;

  test("has the paper's rate of raw reads and writes at a server that is busy on all cores", () => {
    for (const [kind, paper] of [
      ['read', 15_513],
      ['mutate', 31_003],
    ] as const) {
      const row = storage[kind].fixed.serverUs + storage[kind].perCell.serverUs;
      const perSecond = (1e6 * cluster.tabletServerCores) / (storage.call.fixed.serverUs + row);
      assert.ok(Math.abs(perSecond / paper - 1) < 0.005, `${kind}: ${perSecond}`);
    }
  });

  test('has the 2 million timestamps a second of its oracle', () => {
    assert.equal(1e6 / calibration.oracle.perTimestampUs, 2e6);
  });
});

describe('cloud-bigtable', () => {
  const { storage, cluster } = loadCalibration('cloud-bigtable').calibration;

  test("has Google's rates of a node for rows of 1 KB", () => {
    for (const [kind, google] of [
      ['read', 17_000],
      ['mutate', 14_000],
    ] as const) {
      const row = storage[kind].fixed.serverUs + storage[kind].perCell.serverUs;
      const bytes = (1024 * storage.call.perByte.serverNs) / 1000;
      const us = storage.call.fixed.serverUs + row + bytes;
      const perSecond = (1e6 * cluster.tabletServerCores) / us;
      assert.ok(Math.abs(perSecond / google - 1) < 0.005, `${kind}: ${perSecond}`);
    }
  });

  test('has conditional mutations that cost a read and a mutation of the row', () => {
    const { read, mutate, conditionalMutate } = storage;
    const both = read.fixed.serverUs + mutate.fixed.serverUs;
    assert.ok(Math.abs(conditionalMutate.fixed.serverUs - both) < 1e-9);
  });
});

describe('a wrong file is refused with a sentence that names the place:', () => {
  const mistakes: readonly [string, (numbers: Json) => void, RegExp][] = [
    [
      'a missing number',
      (all) => delete all['oracle']?.['cores'],
      /numbers\.oracle\.cores is miss/,
    ],
    [
      'an unknown number',
      (all) => Object.assign(all['oracle'] ?? {}, { x: {} }),
      /oracle\.x is no/,
    ],
    ['another unit', (all) => Object.assign(coresOf(all), { unit: 's' }), /cores\.unit must be c/],
    ['no source', (all) => Object.assign(coresOf(all), { source: ' ' }), /cores\.source must say/],
    ['half a core', (all) => Object.assign(coresOf(all), { value: 0.5 }), /a whole number from 1/],
    [
      'too many cores',
      (all) => Object.assign(coresOf(all), { value: 1e5 }),
      /from 1 to 10000, but is 1/,
    ],
    ['a text', (all) => Object.assign(coresOf(all), { value: '4' }), /cores\.value must be/],
    ['assumed: false', (all) => Object.assign(coresOf(all), { assumed: false }), /assumed must be/],
    [
      'a p99 below its median',
      (all) => Object.assign(all['log']?.['wait']?.['p99Us'] ?? {}, { value: 1 }),
      /log\.wait has a p99Us below/,
    ],
  ];
  for (const [what, spoil, expected] of mistakes) {
    test(what, () => {
      const file = JSON.parse(readFileSync(PAPER, 'utf8')) as { numbers: Json };
      spoil(file.numbers);
      assert.throws(() => parseCalibration(file, 'x.json'), expected);
    });
  }

  test('an unknown part of the file, or no name', () => {
    const file = JSON.parse(readFileSync(PAPER, 'utf8')) as object;
    assert.throws(() => parseCalibration({ ...file, x: 1 }, 'x'), /^Error: x is no part of/);
    assert.throws(() => parseCalibration({ ...file, name: '' }, 'x'), /^Error: name must be/);
  });

  test('no such name, no such file, no JSON, or nothing that can be read', () => {
    const cases: [string, RegExp][] = [
      [`${import.meta.dirname}/`, /cannot be used: it is not a regular file\.$/],
      ['paper', /^--calibration must be .*paper-2010.* but is "paper"\.$/],
      ['./no-such.json', /^The calibration ".\/no-such.json" cannot be used: it does not exist\.$/],
      [import.meta.filename, /cannot be used: it is not JSON\.$/],
    ];
    if (existsSync(UNREADABLE)) cases.push([UNREADABLE, /cannot be used: EIO: .*, read\.$/]);
    for (const [given, message] of cases) {
      assert.throws(
        () => loadCalibration(given),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(error.message, message);
          return true;
        },
      );
    }
  });
});

describe('sensitivity', () => {
  const paper = loadCalibration('paper-2010');

  test('lists what is assumed, and nothing that the paper states', () => {
    const places = assumedPlaces(paper);
    assert.ok(places.includes('storage.call.fixed.clientUs'));
    assert.ok(!places.includes('oracle.perTimestampUs'));
    assert.ok(!places.includes('log.wait.p99Us'), 'a p99 moves with its median');
  });

  test('varies one number, a p99 with its median, and no number beyond its limits', () => {
    const twice = varied(paper, { place: 'log.wait.medianUs', factor: 2 });
    assert.equal(twice.log.wait.medianUs, 2 * paper.calibration.log.wait.medianUs);
    assert.equal(twice.log.wait.p99Us, 2 * paper.calibration.log.wait.p99Us);
    assert.deepEqual({ ...twice, log: paper.calibration.log }, paper.calibration);
    assert.equal(varied(paper, { place: 'oracle.cores', factor: 0.1 }).oracle.cores, 1);
    assert.equal(
      varied(paper, { place: 'batch.stragglers.share', factor: 1_000 }).batch.stragglers.share,
      1,
    );
  });

  test('keeps a p99 that varies alone at or above its median', () => {
    const file = JSON.parse(readFileSync(PAPER, 'utf8')) as { numbers: Json };
    Object.assign(file.numbers['log']?.['wait']?.['p99Us'] ?? {}, { value: 6_000 });
    delete file.numbers['log']?.['wait']?.['medianUs']?.['assumed'];
    const narrow = parseCalibration(file, 'x');
    assert.ok(assumedPlaces(narrow).includes('log.wait.p99Us'));
    const { medianUs, p99Us } = varied(narrow, { place: 'log.wait.p99Us', factor: 0.5 }).log.wait;
    assert.deepEqual([medianUs, p99Us], [5_000, 5_000]);
    assert.equal(varied(narrow, { place: 'log.wait.p99Us', factor: 2 }).log.wait.p99Us, 12_000);
  });
});

test('durations have the median and the 99th percentile that are asked for', () => {
  const duration = { medianUs: 500, p99Us: 2000 };
  assert.equal(drawUs(duration, 0.5), 500);
  assert.ok(Math.abs(drawUs(duration, 0.99) - 2000) < 1e-6);
  assert.ok(drawUs(duration, 0) > 0 && drawUs(duration, 0) < drawUs(duration, 0.01));
  assert.equal(drawUs({ medianUs: 7, p99Us: 7 }, 0.9), 7);
});

function coresOf(numbers: Json): Json {
  return numbers['oracle']?.['cores'] ?? {};
}
