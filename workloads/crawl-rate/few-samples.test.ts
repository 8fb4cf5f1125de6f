/**
 * Too few documents are no verdict: not in the terminal, not on the page of the run, and not on the
 * page of all runs.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import {
  buildAll,
  createLatencyHistogram,
  createRun,
  FIGURE_7,
  figure7Findings,
  measuredPoint,
  REFERENCE_FOLDER,
  type Run,
} from '#results';
import { resultLines } from '../harness/experiment/result-lines.ts';
import { targetsOf } from './points.ts';

const runs = temporaryFolder();

/** A run of 1 % per hour with so many documents, whose median is 1 ms, and 2 s for the batch. */
function runWith(documents: { readonly percolator: number; readonly mapreduce: number }): Run {
  const run = createRun(path.join(runs, `${documents.percolator}`), {
    experiment: 'crawl-rate',
    subject: FIGURE_7,
    profile: 'quick',
    commandLine: './run.sh',
    parameters: {},
    seed: 1,
    repeats: 1,
    store: { name: 'embedded', durability: 'each commit is on the disk' },
  });
  const points = (['percolator', 'mapreduce'] as const).map((system) => {
    const histogram = createLatencyHistogram();
    const us = system === 'percolator' ? 1_000 : 2_000_000;
    for (let i = 0; i < documents[system]; i++) histogram.recordValue(us);
    const point = {
      system,
      ratePercentPerHour: 1,
      documentsPerSecondOffered: 2.8,
      documentsPerSecondCompleted: 2.8,
      documents: documents[system],
      seconds: 4,
      verdict: 'sustained',
      verdictReason: 'the backlog did not grow',
      backlogGrowthPerSecond: 0,
      repeatMediansMs: [],
      generatorLagP99Ms: null,
      cpuSecondsPerDocument: null,
      cyclesMeasured: null,
      progress: [],
    } as const;
    return measuredPoint(point, histogram);
  });
  const capacity = {
    percolatorDocumentsPerSecond: null,
    mapreduceDocumentsPerSecond: null,
    costRatio: null,
  };
  const found = figure7Findings({
    points,
    repository: null,
    crawl: null,
    capacity,
    mapreduceModel: null,
    check: { passed: true, detail: 'the partition is right' },
  });
  const { store } = run.record;
  const targets = targetsOf({ points, capacity, store, documents: 1_000_000 });
  run.describe({ findings: { ...FIGURE_7, ...found }, targets });
  return run;
}

/** What is said of the latency at 1 % per hour, in the three places. */
function saidOf(run: Run): Readonly<Record<'terminal' | 'page' | 'index', string>> {
  const { page } = run.finish();
  const index = buildAll(path.dirname(runs), { runs, reference: REFERENCE_FOLDER });
  const text = readFileSync(index, 'utf8');
  const claim = text.slice(text.indexOf('a document waits far less'));
  return {
    terminal: resultLines(run.record).join('\n'),
    page: readFileSync(page, 'utf8').split('<script')[0] ?? '',
    index: claim.slice(claim.indexOf('Latest judged run here'), claim.indexOf('</tr>')),
  };
}

test('of ten and eight documents every place says that they are too few, and none has a verdict', () => {
  const run = runWith({ percolator: 10, mapreduce: 8 });
  const { terminal, page, index } = saidOf(run);
  for (const [where, text] of Object.entries({ terminal, page, index })) {
    assert.match(text, /too few samples \(8 of 30\)/, where);
    assert.doesNotMatch(text, /\bholds\b|\d x\b|[1-9] of \d met/, where);
  }
  assert.match(
    terminal,
    /not judged {2}latency at the lowest rate: .*too few samples \(10 of 30\)/,
  );
  assert.doesNotMatch(terminal, /^ {2}(?:met|NOT met) /m);
  assert.match(page, /Targets: none judged/);
  assert.deepEqual(
    run.record.targets.map(({ met }) => met),
    [null, null, null],
  );
});

test('of thirty documents every place has the verdict', () => {
  const { terminal, page, index } = saidOf(runWith({ percolator: 30, mapreduce: 30 }));
  for (const [where, text] of Object.entries({ terminal, page, index })) {
    assert.doesNotMatch(text, /too few samples/, where);
  }
  assert.match(terminal, /^ {2}met {9}latency compared with the batch: 2,001 times/m);
  assert.match(page, /Targets: 2 of 2 met, 1 not judged/);
  assert.match(index, />2,000 times<[^]*>holds</);
});
