/** A record of figure 7 of before December 2026, which is the reference, has findings when read. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../../engine/testing/temporary-folder.ts';
import { readRunRecord } from '../record-file.ts';
import { REFERENCE_FOLDER } from '../run-folders.ts';
import { UsageError } from '../usage-error.ts';
import { BATCH_RUN } from './findings.ts';
import { pointsOf } from './points.ts';

const REFERENCE = path.join(REFERENCE_FOLDER, 'figure-7');
const old = JSON.parse(readFileSync(path.join(REFERENCE, 'run.json'), 'utf8'));

describe('an old record', () => {
  const record = readRunRecord(REFERENCE);

  test('has its points, its capacity and its model as tables', () => {
    assert.equal(old.findings, null);
    const points = pointsOf(record);
    assert.equal(points.length, old.points.length);
    for (const point of old.points) {
      const read = points.find(
        ({ system, ratePercentPerHour: rate }) =>
          system === point.system && rate === point.ratePercentPerHour,
      );
      assert.ok(read !== undefined);
      assert.equal(read.verdict, point.verdict);
      assert.equal(read.documentsPerSecondCompleted, point.documentsPerSecondCompleted);
      assert.equal(read.cpuSecondsPerDocument, point.cpuSecondsPerDocument);
      for (const field of ['count', 'medianMs', 'meanMs', 'maxMs'] as const) {
        assert.equal(read.latency?.[field], point.latency?.[field], `${point.system} ${field}`);
      }
    }
    const rowsOf = (name: string) => record.findings.tables.find((one) => one.name === name)?.rows;
    assert.deepEqual(rowsOf('capacity')?.[0], [
      'Percolator',
      old.capacity.percolatorDocumentsPerSecond,
    ]);
    const { fixedSeconds, perRepositorySeconds } = old.mapreduceModel;
    const run = rowsOf('repository')?.find(([what]) => what === BATCH_RUN);
    assert.equal(run?.[1], fixedSeconds + perRepositorySeconds);
    assert.equal(rowsOf('duplicates')?.length, old.crawl.crossHostDuplicates.length);
    assert.deepEqual(
      record.findings.charts.map(({ name }) => name),
      ['figure-7', 'normalised', 'distribution', 'cost', 'backlog'],
    );
  });

  const histogram = 'histograms/percolator-1-percent-per-hour.hlog';
  const series = 'time-series/percolator-1-percent-per-hour.csv';
  const damages: readonly (readonly [string, (folder: string) => void, RegExp])[] = [
    ['a missing histogram', (folder) => rmSync(path.join(folder, histogram)), /does not exist/],
    ['half a histogram', (folder) => halve(path.join(folder, histogram)), /is damaged/],
    ['a missing time series', (folder) => rmSync(path.join(folder, series)), /1-percent.*missing/],
    ['half a time series', (folder) => halve(path.join(folder, series)), /1-percent.*damaged/],
    [
      'a rate below zero',
      (folder) => edit(folder, '"ratePercentPerHour": 1,', '"ratePercentPerHour": -5,'),
      /points\[0\]\.ratePercentPerHour must be a number of at least 0, but is -5/,
    ],
    [
      'a histogram outside of the folder',
      (folder) => edit(folder, '"histograms/', '"../'),
      /histogramFile must be the name of a file in the folder, but is "\.\.\//,
    ],
  ];
  for (const [name, damage, sentence] of damages) {
    test(`with ${name} is refused in one sentence`, () => {
      const folder = path.join(temporaryFolder(), 'run');
      cpSync(REFERENCE, folder, { recursive: true });
      damage(folder);
      assert.throws(
        () => readRunRecord(folder),
        (error) => error instanceof UsageError && sentence.test(error.message),
      );
    });
  }

  test('of which a check failed has no numbers', () => {
    const folder = path.join(temporaryFolder(), 'run');
    cpSync(REFERENCE, folder, { recursive: true });
    edit(folder, '"passed": true', '"passed": false');
    const { findings } = readRunRecord(folder);
    assert.deepEqual([findings.check.passed, findings.tables.length], [false, 0]);
  });
});

function halve(file: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.slice(0, text.length / 2));
}

function edit(folder: string, from: string, to: string): void {
  const file = path.join(folder, 'run.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
}
