/**
 * The main measured numbers in the documents come from run records in results/reference: each text
 * below is made from a record, and the document must contain it. A new reference run makes this
 * test fail until the documents say what it measured.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  claimsOf,
  medianMs,
  numberIn,
  readRunRecord,
  referenceRecords,
  type RunRecord,
} from '#results';

const ROOT = path.join(import.meta.dirname, '..');
const figure7 = readRunRecord(path.join(ROOT, 'results/reference/figure-7'));
const figure8 = readRunRecord(path.join(ROOT, 'results/reference/figure-8'));
const figure9 = readRunRecord(path.join(ROOT, 'results/reference/figure-9'));
const figure10 = ifMeasured('results/reference/figure-10');
const webIndex = ifMeasured('results/reference/web-index');
const peers = readRunRecord(path.join(ROOT, 'results/reference/peers'));

describe('README.md says what was measured:', () => {
  for (const { says, paper, holdsIf, script, finding } of claimsOf(referenceRecords())) {
    test(says, () => {
      const { measured, verdict } = finding ?? { measured: 'not measured yet', verdict: 'open' };
      const cells = [says, paper, measured, holdsIf, verdict, `\`./run.sh ${script}\``];
      contains('README.md', `| ${cells.join(' | ')} |`);
    });
  }
});

describe('docs/figure-7.md says what was measured:', () => {
  const perSecond = numberIn(figure7, 'capacity', 'documents/s', 'Percolator');
  assert.ok(perSecond !== null, 'the record of figure 7 has the capacity of Percolator');
  const texts = {
    medians: `${(ms('mapreduce') / 1000).toFixed(1)} s for the batch and ${ms('percolator').toFixed(1)} ms for Percolator`,
    capacity: `${rounded(perSecond)} documents a second`,
  };
  for (const [what, text] of Object.entries(texts)) {
    test(what, () => contains('docs/figure-7.md', text));
  }
});

for (const [file, folder] of [
  ['docs/hbase.md', 'micro-hbase'],
  ['docs/virtual-cluster.md', 'cluster-validation'],
  ['docs/virtual-cluster.md', 'cluster-figure-7'],
  ['docs/virtual-cluster.md', 'cluster-figure-8'],
  ['docs/virtual-cluster-costs.md', 'cluster-figure-9'],
  ['docs/virtual-cluster-costs.md', 'cluster-figure-10'],
  ['docs/virtual-cluster-costs.md', 'cluster-oracle'],
  ['docs/virtual-cluster-costs.md', 'cluster-scanners'],
] as const) {
  test(`${file} says what was found`, () => {
    const record = readRunRecord(path.join(ROOT, 'results/reference', folder));
    contains(file, record.findings?.headline ?? 'no headline');
  });
}

test('docs/figure-7.md says what a document costs by the size of the repository', () => {
  const sweep = readRunRecord(path.join(ROOT, 'results/reference/crawl-rate-repository'));
  contains('docs/figure-7.md', sweep.findings?.headline ?? 'no headline');
});

test('README.md and docs/figure-8.md say what an operation costs next to a raw one', () => {
  const ofRaw = (operation: string): number =>
    numberIn(figure8, 'figure-8', 'relative', 'emulator', operation) ?? Number.NaN;
  const us = (store: string, operation: string, column = 'us'): number =>
    numberIn(figure8, 'processor', column, store, operation) ?? Number.NaN;
  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
  const [raw, added] = [us('embedded', 'raw read'), us('embedded', 'Percolator read')];
  contains(
    'README.md',
    `On the emulator they cost ${percent(1 - ofRaw('read'))} and ${percent(1 - ofRaw('write'))}. A raw read of the embedded ` +
      `store takes ${raw.toFixed(0)} µs, to which the engine adds ${(added - raw).toFixed(0)}.`,
  );
  const change = (column: string): string => {
    const ratio = us('emulator', 'Percolator read', column) / us('emulator', 'raw read', column);
    return Math.abs(ratio - 1) < 0.01 ? 'stays the same' : `grows by ${percent(ratio - 1)}`;
  };
  contains('docs/figure-8.md', `a raw read every ${us('emulator', 'raw read').toFixed(0)} µs`);
  contains('docs/figure-8.md', `of the server ${change('server CPU us')}, that of`);
  contains('docs/figure-8.md', `shares the machine, ${change('client CPU us')}`);
  contains(
    'docs/figure-8.md',
    `there is a raw read every ${raw.toFixed(0)} µs, to which the engine adds ${(added - raw).toFixed(0)}.`,
  );
  const [ratio, low, high] = ['relative', 'low', 'high'].map((column) =>
    numberIn(figure8, 'figure-8', column, 'embedded', 'read')?.toFixed(2),
  );
  contains('docs/figure-8.md', `has ${ratio} for reads (${low} to ${high})`);
});

test('figure 8 and its sweep have the same ratios for the same callers', () => {
  const differs = ['embedded', 'emulator'].flatMap((store) =>
    (['read', 'write'] as const)
      .filter((operation) => {
        const figure = intervalIn('figure-8', store, operation);
        const callers = figure8.parameters['concurrency'];
        const sweep = intervalIn(operation === 'read' ? 'readers' : 'writers', store, callers);
        return figure.low > sweep.high || sweep.low > figure.high;
      })
      .map((operation) => `${store}, ${operation}`),
  );
  assert.deepEqual(differs, []);
});

/** The interval of the ratio in the row of figure 8's record that begins with these cells. */
function intervalIn(table: string, ...first: readonly unknown[]): { low: number; high: number } {
  const { columns = [], rows = [] } =
    figure8.findings?.tables.find(({ name }) => name === table) ?? {};
  const row = rows.find((cells) => first.every((cell, i) => cells[i] === cell));
  const [low, high] = ['low', 'high'].map((column) => row?.[columns.indexOf(column)]);
  assert.ok(typeof low === 'number' && typeof high === 'number', `${table} has ${String(first)}`);
  return { low, high };
}

test('docs/web-index.md says which floor the schedule of its record sets', () => {
  assert.ok(webIndex !== null);
  const { recrawled, rate } = webIndex.parameters;
  const [floor, batch] = ['no delay', 'batch'].map(
    (system) => numberIn(webIndex, 'age', 'mean age', system) ?? Number.NaN,
  ) as [number, number];
  const most = 100 * (1 - floor / batch);
  contains(
    'docs/web-index.md',
    `${Number(recrawled)} pages were crawled at ${Number(rate)} a second, so the floor is ${floor.toFixed(1)} s`,
  );
  contains('docs/web-index.md', `would be ${most.toFixed(0)} % younger than with this batch.`);
  contains(
    'docs/web-index.md',
    most < 50
      ? "So no engine could reach the paper's 50 %, and the claim is not judged: that run is older than the schedule of the profiles."
      : "So an engine can reach the paper's 50 %, and the verdict is on the engine.",
  );
});

describe('docs/figure-9.md says what was measured:', () => {
  for (const system of ['Percolator, embedded', 'Percolator, emulator', 'PostgreSQL, functions']) {
    test(system, () => {
      const cells = [
        numberOf('unpaced', 'TR/s', system).toFixed(0),
        numberOf('cost', 'CPU ms per TR, full load', system).toFixed(1),
        numberOf('cost', 'relative to functions', system).toFixed(2),
        numberOf('lines', 'R²', system).toFixed(3),
      ];
      contains('docs/figure-9.md', `${system} | ${cells.join(' | ')} |`);
    });
  }
});

for (const [file, record] of [
  ['docs/figure-10.md', figure10],
  ['docs/web-index.md', webIndex],
] as const) {
  test(`${file} says what was measured`, () => {
    contains(file, record?.findings?.headline ?? 'There is no reference run yet.');
  });
}

describe('docs/batch-engines.md says what was measured:', () => {
  const record = readRunRecord(path.join(ROOT, 'results/reference/batch-engines'));
  const engines = record.findings?.tables.find(({ name }) => name === 'engines')?.rows ?? [];
  assert.ok(engines.length > 0, 'the record has a row for each engine');
  for (const [name] of engines) {
    test(String(name), () => {
      const of = (column: string, digits: number): string =>
        (numberIn(record, 'engines', column, String(name)) ?? Number.NaN).toFixed(digits);
      const perSecond = Number(of('documents/s', 0)).toLocaleString('en');
      const cells = [of('seconds', 1), perSecond, of('CPU, s', 1), of('start-up, s', 2)];
      contains('docs/batch-engines.md', `${name} | ${cells.join(' | ')} | ${of('disk, MB', 0)} |`);
    });
  }
});

describe('docs/peers.md says what was measured:', () => {
  for (const [name] of peers.findings?.tables.find((one) => one.name === 'crawl')?.rows ?? []) {
    test(String(name), () => {
      const of = (table: string, column: string): string =>
        inThreeDigits(numberIn(peers, table, column, String(name)));
      const crawl = ['documents/s', 'CPU, us', 'CPU at this rate, us', 'median ms'];
      const cells = ['reads', 'writes'].flatMap((kind) =>
        ['1 caller', '64 callers'].map((callers) => of('cells', `${kind}/s, ${callers}`)),
      );
      const row = [...crawl.map((column) => of('crawl', column)), ...cells];
      contains('docs/peers.md', `\`${name}\` | ${row.join(' | ')} |`);
    });
  }

  test('in README.md, what a document costs there', () => {
    const us = (name: string): string => inThreeDigits(numberIn(peers, 'crawl', 'CPU, us', name));
    contains(
      'README.md',
      `${us('percolator-memory')} µs of processor time in memory (TiKV's client: ${us('client-go-memory')}), and ` +
        `${us('percolator-hbase')} on HBase (Omid: ${us('omid-hbase')})`,
    );
  });
});

describe('docs/verification.md says what was found:', () => {
  const FOLDER = 'results/reference/verification';
  const recordOf = (script: string) => readRunRecord(path.join(ROOT, FOLDER, script));
  for (const script of ['simulate', 'mutants', 'exhaust', 'model', 'chaos']) {
    test(`by ${script}`, () => {
      const { commandLine, findings, state } = recordOf(script);
      assert.equal(state, 'finished');
      const link = `[record](../${FOLDER}/${script}/run.json)`;
      const found = `${findings?.headline} | ${findings?.check.detail}`;
      contains('docs/verification.md', `| \`${commandLine}\` | ${found} | ${link} |`);
    });
  }

  test('how many known mistakes the judges notice', () => {
    const mutants = recordOf('mutants').findings?.tables.find(({ name }) => name === 'mutants');
    const { columns = [], rows = [] } = mutants ?? {};
    assert.ok(columns.includes('seed'), 'the record has the seed that catches each mistake');
    const caught = rows.filter((row) => row[columns.indexOf('seed')] !== null);
    // 79 of 79 is the column Before, of a commit that has no record.
    contains('docs/verification.md', `| 79 of 79 | ${caught.length} of ${rows.length} |`);
  });

  test('how many small changes the tests do not notice', () => {
    const file = path.join(ROOT, 'results/reference/mutants-machine.json');
    const { folders } = JSON.parse(readFileSync(file, 'utf8')) as { folders: readonly Folder[] };
    const all = folders.find(({ folder }) => folder === 'all');
    assert.ok(all !== undefined);
    const left = `${all.survived - all.explained} (${(100 * all.notExplained).toFixed(1)} %)`;
    const changes = `${all.mutants.toLocaleString('en')} changes, ${all.judged} judged`;
    contains('docs/verification.md', `of ${changes}: ${left} survive without a reason`);
  });
});

/** A row of the record of machine mutants, which is older than run records. */
interface Folder {
  readonly folder: string;
  readonly mutants: number;
  readonly judged: number;
  readonly survived: number;
  readonly explained: number;
  readonly notExplained: number;
}

function ms(system: 'mapreduce' | 'percolator'): number {
  const found = medianMs(figure7, system, 1);
  assert.ok(found !== null, `${system} at 1 %/hour has a median`);
  return found;
}

function numberOf(table: string, column: string, system: string): number {
  const found = numberIn(figure9, table, column, system);
  assert.ok(found !== null, `${table} has the ${column} of ${system}`);
  return found;
}

/** A reference run that may not be there yet; then the documents have to say so. */
function ifMeasured(folder: string): RunRecord | null {
  const whole = path.join(ROOT, folder);
  return existsSync(whole) ? readRunRecord(whole) : null;
}

function inThreeDigits(value: number | null): string {
  return value === null ? '-' : Number(value.toPrecision(3)).toLocaleString('en');
}

function rounded(count: number): string {
  return (Math.round(count / 100) * 100).toLocaleString('en');
}

/**
 * Columns of tables are padded to any width. A number in the document must not go on before or
 * after the text: "500 documents" is not said by "8,500 documents".
 */
function contains(file: string, text: string): void {
  const squeeze = (given: string): string => given.replaceAll(/\s+/g, ' ');
  const document = squeeze(readFileSync(path.join(ROOT, file), 'utf8'));
  const around = document.split(squeeze(text));
  const isSaid = around.some(
    (after, i) => i > 0 && !/[\d.,]$/.test(around[i - 1] ?? '') && !/^[.,]?\d/.test(after),
  );
  assert.ok(isSaid, `${file} should say: ${squeeze(text)}`);
}
