/** `./run.sh compare`: what is compared with what, what is refused, and the exit codes. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import {
  createRun,
  pointsOf,
  readRunRecord,
  type ResultMetric,
  type ResultTable,
  type RunHeader,
  type RunRecord,
} from '#results';
import { compareRuns } from './compare-runs.ts';

const COMPARE = path.join(import.meta.dirname, 'main.ts');
const OPTIONS = { threshold: 5, anyway: false };

const root = temporaryFolder();

const HEADER: RunHeader = {
  experiment: 'micro',
  profile: 'smoke',
  commandLine: './run.sh bench:micro',
  parameters: { rows: 100, cells: [1, 2], sweepRepeats: 3 },
  seed: 1,
  repeats: 3,
  store: { name: 'embedded', durability: 'each commit is on the disk' },
};

interface Rates {
  readonly rate: number;
  readonly ms?: number;
  readonly metrics?: ResultTable['metrics'];
}

function tableOf({ rate, ms = 5, metrics }: Rates): ResultTable {
  return {
    name: 'rates',
    title: 'Rates',
    caption: '',
    columns: ['store', 'callers', 'per second', 'low', 'high', 'ms'],
    rows: [
      ['paper', 64, 1000, null, null, null],
      ['embedded', 64, rate, rate * 0.99, rate * 1.01, ms],
    ],
    metrics: metrics === undefined ? METRICS : metrics,
  };
}

const PER_SECOND: ResultMetric = { column: 'per second', unit: 'operations/s', better: 'higher' };
const MS: ResultMetric = { column: 'ms', unit: 'ms', better: 'lower' };
const METRICS = {
  rowNames: 2,
  columns: [
    { ...PER_SECOND, intervalColumns: ['low', 'high'] },
    { ...MS, intervals: [null, { low: 4.9, high: 5.1 }] },
  ],
};
/** Without an interval, only repeats can tell two runs apart. */
const ALONE = { rowNames: 2, columns: [PER_SECOND] };

/** Makes a finished run in a new folder, and returns the folder. */
function runOf(name: string, rates: Rates, header: Partial<RunHeader> = {}): string {
  const folder = path.join(root, name);
  const run = createRun(folder, { ...HEADER, ...header });
  const check = { passed: true, detail: 'all is there' };
  const texts = { kicker: 'A bench', title: 'Rates', headline: 'Fast.' };
  run.describe({ findings: { ...texts, check, tables: [tableOf(rates)], charts: [] } });
  run.finish();
  return folder;
}

/** Replaces the record of a run. */
function edit(folder: string, change: (record: RunRecord) => object): string {
  writeFileSync(path.join(folder, 'run.json'), JSON.stringify(change(readRunRecord(folder))));
  return folder;
}

function withTable(record: RunRecord, change: (table: ResultTable) => ResultTable): RunRecord {
  const { findings } = record;
  return { ...record, findings: { ...findings, tables: findings.tables.map(change) } };
}

async function compare(...words: readonly string[]) {
  const { exitCode, stdout, stderr } = await execaNode(COMPARE, words, { reject: false });
  return { exitCode, stdout, stderr };
}

describe('the exit code', () => {
  test('is 0 if nothing is worse, 1 if a metric is', async () => {
    const [a, b] = [runOf('exit-a', { rate: 1000 }), runOf('exit-b', { rate: 1200 })];
    const better = await compare(a, b);
    assert.equal(better.exitCode, 0, better.stderr);
    assert.match(
      better.stdout,
      /^No metric is worse by more than 5 %: 1 better, 1 same, 0 worse, /m,
    );
    const worse = await compare(b, a);
    assert.equal(worse.exitCode, 1, worse.stderr);
    for (const cell of ['operations/s ↑', '1,200', '1,000', '-17 %', '-18 % to -15 %', 'worse']) {
      assert.ok(worse.stdout.includes(`  ${cell}`), `${cell} in ${worse.stdout}`);
    }
    assert.match(worse.stdout, /^One metric is worse by more than 5 %/m);
    assert.equal((await compare(b, a, '--threshold', '30')).exitCode, 0);
  });

  test('is 2 if no metric has a verdict, since "same or better" is then not known', async () => {
    const [a, b] = ['none-a', 'none-b'].map((name) => runOf(name, { rate: 1000, metrics: ALONE }));
    const { exitCode, stdout, stderr } = await compare(a ?? '', b ?? '');
    assert.equal(exitCode, 2);
    assert.match(stdout, /^ +verdict +no verdict\n +from +one repeat$/m);
    assert.match(stderr, /^No metric has a verdict, because none has an interval: .*\.$/);
  });

  test('is the same with --json, which prints threshold, runs and differences', async () => {
    const [a, b] = [runOf('json-a', { rate: 1000 }), runOf('json-b', { rate: 500 })];
    const { exitCode, stdout } = await compare(a, b, '--json');
    assert.equal(exitCode, 1);
    const { threshold, differences, a: ofA } = JSON.parse(stdout);
    assert.equal(threshold, 5);
    assert.equal(ofA[0].experiment, 'micro');
    const [first] = differences;
    assert.deepEqual(
      [first.name, first.a, first.b, first.percent, first.verdict],
      ['rates: embedded, callers 64: per second', 1000, 500, -50, 'worse'],
    );
  });
});

describe('what is compared:', () => {
  test('a folder, its record file, or a name in results/reference', () => {
    const [a, b] = [runOf('name-a', { rate: 1000 }), runOf('name-b', { rate: 1000 })];
    const { differences } = compareRuns(a, path.join(b, 'run.json'), OPTIONS);
    assert.equal(differences.length, 2, 'the paper’s row is no metric');
    assert.throws(
      () => compareRuns('figure-7', a, OPTIONS),
      /differ in experiment \(crawl-rate, mi/,
    );
  });

  test('several runs on a side, each of which counts as a repeat', () => {
    const side = (name: string, rates: readonly number[]): string =>
      rates.map((rate, i) => runOf(`${name}-${i}`, { rate, metrics: ALONE })).join(',');
    const [a, b] = [side('several-a', [990, 1000, 1010]), side('several-b', [500, 505, 510])];
    const { differences } = compareRuns(a, b, OPTIONS);
    assert.deepEqual(
      differences.map(({ verdict, because }) => [verdict, because]),
      [['worse', '3 and 3 repeats']],
    );
  });

  test('several runs whose names together are too long for a path', () => {
    const side = (name: string): string =>
      ['1', '2'].map((i) => runOf(`${name}-${i}`.padEnd(255, '-'), { rate: 1000 })).join(',');
    const { differences } = compareRuns(side('long-a'), side('long-b'), OPTIONS);
    assert.equal(differences.length, 2);
  });

  test('rows of the same name, which are repeats', () => {
    const rows = (rate: number): ResultTable['rows'] =>
      [0.99, 1, 1.01].map((factor) => ['embedded', 64, factor * rate, null, null, 5]);
    const [a, b] = [runOf('rows-a', { rate: 1 }), runOf('rows-b', { rate: 1 })];
    for (const [folder, rate] of [
      [a, 1000],
      [b, 800],
    ] as const) {
      edit(folder, (record) =>
        withTable(record, (table) => ({ ...table, rows: rows(rate), metrics: ALONE })),
      );
    }
    const [only] = compareRuns(a, b, OPTIONS).differences;
    assert.equal(only?.verdict, 'worse');
    assert.equal(only?.because, '3 and 3 repeats');
  });

  test('a record of an earlier version, by the metrics that the other record declares', () => {
    const old = runOf('old', { rate: 1000, metrics: null });
    const { differences } = compareRuns(old, runOf('new', { rate: 1000 }), OPTIONS);
    assert.deepEqual(
      differences.map(({ verdict, because }) => [verdict, because]),
      [
        ['same', 'both records'],
        ['no verdict', 'one repeat'],
      ],
    );
  });

  test('figure 7, point by point: only the point that no longer keeps up is worse', () => {
    const reference = path.resolve(import.meta.dirname, '../../../results/reference/figure-7');
    const other = path.join(root, 'figure-7-slower');
    cpSync(reference, other, { recursive: true });
    const slower = pointsOf(readRunRecord(reference)).find(
      ({ system, latency }) => system === 'percolator' && latency !== null,
    );
    assert.ok(slower !== undefined);
    const isSlower = (row: ResultTable['rows'][number]): boolean =>
      row[0] === 'Percolator' && row[1] === slower.ratePercentPerHour;
    edit(other, (record) => {
      const later = { ...record, startedAt: '2027-01-01T00:00:00.000Z' };
      return withTable(later, (table) => {
        if (table.name !== 'medians') return table;
        const kept = table.rows.filter((row) => !isSlower(row));
        return {
          ...table,
          rows: [...kept, ['Percolator', slower.ratePercentPerHour, '\u221e']],
        };
      });
    });
    const { differences } = compareRuns('figure-7', other, OPTIONS);
    const verdicts = new Map(differences.map(({ name, verdict }) => [name, verdict]));
    const median = `medians: Percolator, % per hour ${slower.ratePercentPerHour}: median ms`;
    assert.equal(verdicts.get(median), 'worse');
    const worse = [...verdicts].filter(([, verdict]) => verdict === 'worse');
    const [again, otherAgain] = [reference, other].map((run, i) => {
      const copy = path.join(root, `again-${i}`);
      cpSync(run, copy, { recursive: true });
      edit(copy, (record) => ({ ...record, startedAt: `2027-01-02T00:00:0${i}.000Z` }));
      return copy;
    });
    const repeats = compareRuns(
      `figure-7,${again}`,
      [other, otherAgain ?? ''],
      OPTIONS,
    ).differences;
    const repeated = repeats.find(({ name }) => name === median);
    assert.equal(repeated?.verdict, 'worse', 'also if there are repeats');
    assert.deepEqual(
      worse.filter(([name]) => name !== median),
      [],
    );
    assert.equal(verdicts.get('medians: MapReduce, % per hour 10: median ms'), 'no verdict');
    assert.ok(verdicts.has('capacity: Percolator: documents/s'));
  });
});

describe('runs that differ are refused with the first difference:', () => {
  const differing: readonly (readonly [string, Partial<RunHeader>, RegExp])[] = [
    ['profile', { profile: 'quick' }, /in profile \(smoke, quick\); --anyway/],
    ['a parameter', { parameters: { rows: 7, cells: [1, 2] } }, /parameter rows \(100, 7\)/],
    ['seed', { seed: 2 }, /seed \(1, 2\)/],
    [
      'store',
      { store: { name: 'emulator', durability: 'none' } },
      /differ in store \(embedded, emulator\); --anyway/,
    ],
    [
      'durability',
      { store: { name: 'embedded', durability: 'none' } },
      /differ in durability of the store \(each commit is on the disk, none\); --anyway/,
    ],
  ];
  for (const [name, header, sentence] of differing) {
    test(name, () => {
      const a = runOf(`a-${name}`, { rate: 1000 });
      const b = runOf(`b-${name}`, { rate: 1000 }, header);
      assert.throws(() => compareRuns(a, b, OPTIONS), sentence);
      const { inSpiteOf, differences } = compareRuns(a, b, { ...OPTIONS, anyway: true });
      assert.ok(inSpiteOf.length > 0);
      assert.equal(differences.length, 2);
    });
  }

  const GIB = 2 ** 30;
  /** A run on this machine, as if it had 8 GiB of memory, with these changes. */
  const runOn = (name: string, changes: Partial<RunRecord['environment']>): string =>
    edit(runOf(name, { rate: 1000 }), (record) => ({
      ...record,
      environment: { ...record.environment, memoryBytes: 8 * GIB, ...changes },
    }));

  const machines: readonly (readonly [Partial<RunRecord['environment']>, RegExp])[] = [
    [{ cpuModel: 'Abacus', cores: 99 }, /differ in CPU model \(.*, Abacus\); --anyway/],
    [{ cores: 99 }, /differ in cores \(\d+, 99\); --anyway/],
    [{ memoryBytes: 16 * GIB }, /differ in memory \(8\.0 GiB, 16\.0 GiB\); --anyway/],
    [{ fileSystem: 'x' }, /differ in file system \(.*, x\); --anyway/],
    [{ nodeVersion: 'v1' }, /differ in version of Node \(.*, v1\); --anyway/],
  ];
  for (const [changes, sentence] of machines) {
    const what = Object.keys(changes).join(' and ');
    test(`machine: ${what}`, () => {
      const [a, b] = [runOn(`a-${what}`, {}), runOn(`b-${what}`, changes)];
      assert.throws(() => compareRuns(a, b, OPTIONS), sentence);
      const { inSpiteOf } = compareRuns(a, b, { ...OPTIONS, anyway: true });
      assert.equal(inSpiteOf.length, Object.keys(changes).length);
    });
  }

  test('but nearly the same memory is no difference', () => {
    const [a, b] = [runOn('a-nearly', {}), runOn('b-nearly', { memoryBytes: 8.2 * GIB })];
    assert.equal(compareRuns(a, b, OPTIONS).inSpiteOf.length, 0);
  });

  test('experiment, which nothing overrides', () => {
    const a = runOf('experiment-a', { rate: 1000 });
    const b = runOf('experiment-b', { rate: 1000 }, { experiment: 'oracle' });
    for (const anyway of [false, true]) {
      assert.throws(
        () => compareRuns(a, b, { ...OPTIONS, anyway }),
        /because they differ in experiment \(micro, oracle\)\.$/,
      );
    }
  });

  test('but repeats, jobs and commit may differ between the sides; within a side, the commit may not', () => {
    const a = runOf('repeats-a', { rate: 1000 });
    const b = runOf(
      'repeats-b',
      { rate: 1000 },
      {
        repeats: 9,
        parameters: { ...HEADER.parameters, repeats: 9, sweepRepeats: 9, jobs: 9 },
      },
    );
    const commit = { hash: 'f'.repeat(40), dirty: false };
    edit(b, (record) => ({ ...record, environment: { ...record.environment, commit } }));
    assert.equal(compareRuns(a, b, OPTIONS).inSpiteOf.length, 0);
    const c = runOf('repeats-c', { rate: 1000 });
    assert.throws(
      () => compareRuns(a, `${b},${c}`, OPTIONS),
      /runs of B must be repeats .* commit \(f/,
    );
  });
});

describe('what cannot be compared gets one sentence and exit code 2, and no file is made:', () => {
  let good: string;
  before(() => {
    good = runOf('good', { rate: 1000 });
  });

  const changed = (name: string, change: (record: RunRecord) => object) => (): string =>
    edit(runOf(name, { rate: 1000 }), change);
  const written = (name: string, text: string) => (): string => {
    const folder = path.join(root, name);
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'run.json'), text);
    return folder;
  };
  const hostile: readonly (readonly [string, () => string, RegExp])[] = [
    ['a name of no run', () => 'no-such-run', /^<B> must be .* "no-such-run" is none of these\.$/],
    ['an empty name in a list', () => `${good},`, /^<B> must be .* "" is none of these\.$/],
    ['a folder that is no run', () => root, /must hold a run\.json, but /],
    ['a file that is no record', written('text', 'hello'), /run\.json cannot be used: .*JSON/],
    ['half a record', () => halved(runOf('half', { rate: 1 })), /run\.json cannot be used: /],
    ['a NaN', written('nan', '{"formatVersion": NaN}'), /run\.json cannot be used: /],
    [
      'a number beyond the range of doubles',
      () => replaced(runOf('huge', { rate: 1234 }), '1234,', '1e999,'),
      /tables\[0\]\.rows\[1\]\[2\] must be a number/,
    ],
    [
      'a record of a newer format',
      changed('newer', (record) => ({ ...record, formatVersion: 2 })),
      /a newer version of this project wrote it in format 2/,
    ],
    [
      'an interrupted run',
      changed('interrupted', (record) => ({ ...record, state: 'interrupted' })),
      /because its state is interrupted, not finished/,
    ],
    [
      'a run that is being measured',
      () => {
        createRun(path.join(root, 'running'), HEADER);
        return path.join(root, 'running');
      },
      /because it is still being measured/,
    ],
    [
      'a run that was killed',
      changed('killed', (record) => {
        return { ...record, state: 'running', startedAt: '2020-01-01T00:00:00.000Z' };
      }),
      /because it was killed before its end/,
    ],
    [
      'a run whose check failed',
      changed('failed', (record) => {
        const check = { passed: false, detail: 'a row is missing' };
        return { ...record, findings: { ...record.findings, check, tables: [] } };
      }),
      /because its check failed: a row is missing\.$/,
    ],
    ['the same run', () => good, /^The runs must be different ones, but .* are both micro-/],
    [
      'a copy of the same run',
      () => {
        const copy = path.join(root, 'copy');
        cpSync(good, copy, { recursive: true });
        return copy;
      },
      /^The runs must be different ones, but /,
    ],
    [
      'tables without a metric in common',
      changed('others', (record) => withTable(record, (table) => ({ ...table, name: 'others' }))),
      /because they have no metric in common\.$/,
    ],
  ];
  for (const [name, make, sentence] of hostile) {
    test(name, async () => {
      const other = make();
      const listing = readdirSync(root, { recursive: true });
      const { exitCode, stdout, stderr } = await compare(good, other);
      assert.equal(exitCode, 2, stdout);
      assert.equal(stdout, '');
      assert.match(stderr, sentence);
      assert.equal(stderr.split('\n').length, 1, stderr);
      assert.deepEqual(readdirSync(root, { recursive: true }), listing);
    });
  }

  test('two records that declare no metrics', () => {
    const [a, b] = ['mute-a', 'mute-b'].map((name) => runOf(name, { rate: 1, metrics: null }));
    assert.throws(
      () => compareRuns(a ?? '', b ?? '', OPTIONS),
      /because neither record says which of its columns are metrics\.$/,
    );
  });
});

test('a rate of zero on either side is a sentence in the table, not a NaN', () => {
  const [zero, other] = [runOf('zero', { rate: 0 }), runOf('not-zero', { rate: 1000 })];
  for (const [a, b] of [
    [zero, other],
    [other, zero],
  ] as const) {
    const [rate] = compareRuns(a, b, OPTIONS).differences;
    assert.equal(rate?.verdict, 'no verdict');
    assert.match(rate?.because ?? '', /A is 0|a value is not positive/);
    assert.ok(!Number.isNaN(rate?.percent));
  }
});

function halved(folder: string): string {
  const file = path.join(folder, 'run.json');
  const text = readFileSync(file);
  writeFileSync(file, text.subarray(0, text.length / 2));
  return folder;
}

function replaced(folder: string, from: string, to: string): string {
  const file = path.join(folder, 'run.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
  return folder;
}
