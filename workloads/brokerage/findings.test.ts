/**
 * The claims of the findings: the numbers follow from the measurements, and there are none unless
 * every check passed.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLatencyHistogram, type Target } from '#results';
import type { RunResult } from './clients.ts';
import type { TransactionRecords } from './driver/recorder.ts';
import { lineOf } from './figure-9.ts';
import { findingsOf } from './findings.ts';
import { SCALES } from './model/scale.ts';
import { TRANSACTIONS, type TransactionType } from './transactions/index.ts';
import type { BrokeragePlan, SystemName } from './plan.ts';
import { cpuPerTrade, type Figure9Results, noResults, saturation } from './results.ts';
import { targetsOf } from './targets.ts';

const SECONDS = 10;
const plan = {
  scale: SCALES.standard,
  rungs: [0.05, 0.35, 0.65] as readonly number[],
} as BrokeragePlan;

/** Records in which every transaction of the mix occurred exactly as often as it should. */
function recordsOf(trades: number): TransactionRecords {
  const types = Object.keys(TRANSACTIONS) as TransactionType[];
  const records = types.map((type) => {
    const ended = Math.round((trades * TRANSACTIONS[type].mixPercent) / 10);
    const histogram = createLatencyHistogram();
    for (let i = 0; i < ended; i++) histogram.recordValue(5_000);
    return [type, { ended, rolledBack: 0, conflicts: 0, retried: 0, failed: 0, histogram }];
  });
  return Object.fromEntries(records) as TransactionRecords;
}

/** A run that used `cores` cores at the given number of Trade-Results per second. */
function ranAt(
  tradesPerSecond: number,
  cores: number,
  changes: Partial<RunResult> = {},
): RunResult {
  return {
    offered: { tradesPerSecond, users: 0, warmupSeconds: 1, seconds: SECONDS },
    records: recordsOf(tradesPerSecond * SECONDS),
    cpuSeconds: { clients: 0.75 * cores * SECONDS, server: 0.25 * cores * SECONDS },
    backlogFrom: 0,
    backlogTo: 0,
    isOverrun: false,
    store: null,
    ...changes,
  };
}

function measured(slopes: Partial<Record<SystemName, number>>): Figure9Results {
  const results = noResults();
  for (const [system, slope] of Object.entries(slopes) as [SystemName, number][]) {
    results.durability.set(system, 'nothing');
    for (const rate of [2, 8, 20, 40]) {
      results.ladder.push({ system, result: ranAt(rate, 0.01 + slope * rate) });
    }
    results.unpaced.push({ system, result: unpaced(120, 2 * slope * 120) });
  }
  results.isComplete = true;
  return results;
}

function unpaced(tradesPerSecond: number, cores: number): RunResult {
  const result = ranAt(tradesPerSecond, cores);
  return { ...result, offered: { ...result.offered, tradesPerSecond: null, users: 32 } };
}

describe('a run that is right', () => {
  const results = measured({ embedded: 0.02, postgres: 0.005 });

  test('has a line for each system, through its loads', () => {
    const { fit, from, to } = lineOf(results, 'embedded');
    assert.ok(Math.abs((fit?.slope ?? 0) - 0.02) < 1e-9);
    assert.ok(Math.abs((fit?.intercept ?? 0) - 0.01) < 1e-9);
    assert.deepEqual([from, to], [2, 40]);
  });

  for (const [rounds, idle, intercept] of [
    ['two rounds', [0.03], 0.02],
    ['three rounds', [0.03, 0.9], 0.03],
    ['four rounds', [0.9, 0.05, 0.03], 0.04],
  ] as const) {
    test(`has one point for ${rounds} of a load, the median one`, () => {
      const more = measured({ embedded: 0.02 });
      for (const rate of [2, 8, 20, 40]) {
        for (const cores of idle) {
          more.ladder.push({ system: 'embedded', result: ranAt(rate, cores + 0.02 * rate) });
        }
      }
      const { fit, loads } = lineOf(more, 'embedded');
      assert.equal(loads.length, 4);
      assert.ok(Math.abs((fit?.intercept ?? 0) - intercept) < 1e-9);
      assert.ok(Math.abs((fit?.rSquared ?? 0) - 1) < 1e-9);
      const dearest = 0.04 + Math.max(...idle);
      assert.ok(Math.abs((loads[0]?.low ?? 0) - 0.05) < 1e-9);
      assert.ok(Math.abs((loads[0]?.high ?? 0) - dearest) < 1e-9);
    });
  }

  test('counts the processor time of all processes per Trade-Result', () => {
    assert.ok(Math.abs((cpuPerTrade([ranAt(20, 0.4)]) ?? 0) - 0.02) < 1e-9);
    assert.equal(cpuPerTrade([ranAt(20, 0.4, { cpuSeconds: null })]), null);
  });

  test('says of every target whether it is met', () => {
    const targets = targetsOf(plan, results);
    const met = Object.fromEntries(targets.map((target) => [target.name, target.met]));
    assert.deepEqual(met, {
      'Percolator, embedded: a straight line': true,
      'PostgreSQL, functions: a straight line': true,
      'inflation along the ladder: processor time of a Trade-Result': false,
      'inflation at full speed: processor time of a Trade-Result': false,
      'throughput of the embedded store': true,
    });
    const inflation = targets.filter(({ name }) => name.startsWith('inflation'));
    assert.deepEqual(
      inflation.map((target) => target.measured),
      ['3.69 times: 20.6 ms against 5.6 ms', '4.00 times: 40.0 ms against 10.0 ms'],
    );
  });

  test('judges the inflation along the ladder and at full speed by limits of their own', () => {
    const targets = targetsOf(plan, measured({ embedded: 0.0065, postgres: 0.005 }));
    const inflation = targets.filter(({ name }) => name.startsWith('inflation'));
    assert.deepEqual(
      inflation.map((target) => [target.measured, target.met]),
      [
        ['1.27 times: 7.1 ms against 5.6 ms', true],
        ['1.30 times: 13.0 ms against 10.0 ms', false],
      ],
    );
  });

  test('does not judge the throughput with another number of customers', () => {
    const { met, reason } = targetNamed('throughput of the embedded store', {
      ...plan,
      scale: SCALES.full,
    });
    assert.deepEqual([met, reason], [null, 'this run had 5000 customers']);
  });

  test('does not judge a line whose loads were asked for in a small range', () => {
    const name = 'Percolator, embedded: a straight line';
    const { met, reason } = targetNamed(name, { ...plan, rates: [2, 6, 10] });
    assert.deepEqual([met, reason], [null, 'the loads that were asked for have a smaller range']);
    assert.equal(targetNamed(name, { ...plan, rates: [2, 6, 20] }).met, true);
  });

  test('does not judge a line through fewer than three loads that were asked for', () => {
    const name = 'Percolator, embedded: a straight line';
    for (const asked of [{ rates: [2, 20] }, { rungs: [0.05, 0.65] }]) {
      const { met, reason } = targetNamed(name, { ...plan, ...asked });
      assert.deepEqual([met, reason], [null, 'fewer than 3 loads were asked for']);
    }
  });

  function targetNamed(name: string, given: Partial<BrokeragePlan>): Target {
    const found = targetsOf(given as BrokeragePlan, results).find((target) => target.name === name);
    assert.ok(found !== undefined);
    return found;
  }

  test('misses the target of a line that has only two loads', () => {
    const short = measured({ embedded: 0.005, postgres: 0.005 });
    short.ladder.splice(0, 2);
    const lines = targetsOf(plan, short).filter(({ name }) => name.endsWith(': a straight line'));
    assert.deepEqual(
      lines.map(({ measured: found, met }) => [found, met]),
      [
        ['no line', false],
        ['R² 1.0000 from 2.0 to 40.0 TR/s (20.0 times offered)', true],
      ],
    );
  });

  test('measures the range of a line by the loads offered, which chance does not change', () => {
    const byChance = measured({ embedded: 0.02 });
    const [lowest] = byChance.ladder;
    assert.ok(lowest !== undefined);
    Object.assign(lowest.result, { records: recordsOf(2.2 * SECONDS) });
    byChance.ladder.splice(3, 1);
    const [line] = targetsOf(plan, byChance);
    assert.match(line?.measured ?? '', /from 2\.2 to 20\.0 TR\/s \(10\.0 times offered\)$/);
    assert.equal(line?.met, true);
  });

  test('meets the target with a range of exactly ten times, whatever rounding makes of the loads', () => {
    const rates = [0.05, 0.1, 0.2, 0.35, 0.5].map((share) => share * 224);
    const tenfold = measured({ embedded: 0.02 });
    tenfold.ladder.splice(0);
    for (const rate of rates) {
      tenfold.ladder.push({ system: 'embedded', result: ranAt(rate, 0.01 + 0.02 * rate) });
    }
    assert.equal(targetsOf({ ...plan, rates }, tenfold)[0]?.met, true);
  });

  test('does not judge the line of a system whose processor time is unknown', () => {
    const unknown = measured({ hbase: 0.005 });
    for (const { result } of unknown.ladder) Object.assign(result, { cpuSeconds: null });
    const [line] = targetsOf(plan, unknown);
    assert.deepEqual(
      [line?.measured, line?.met, line?.reason],
      ['no line', null, 'the processor time of the system is unknown'],
    );
  });

  test('has tables whose rows are as long as their heads, and a chart', () => {
    const { tables, charts, check } = findingsOf(results);
    assert.ok(check.passed);
    assert.deepEqual(
      charts.map(({ name }) => name),
      ['figure-9'],
    );
    for (const { name, columns, rows } of tables) {
      assert.ok(rows.length > 0, name);
      for (const row of rows) assert.equal(row.length, columns.length, name);
    }
  });
});

describe('a load that the system did not keep up with', () => {
  const late = ranAt(20, 1.9, { backlogFrom: 3, backlogTo: 500 });

  test('is reported, and is not a point of the line', () => {
    assert.match(saturation(late) ?? '', /^the backlog grew by 497$/);
    assert.match(saturation(ranAt(20, 1, { isOverrun: true })) ?? '', /given up/);
    assert.equal(saturation(ranAt(20, 1, { backlogFrom: 3, backlogTo: 15 })), null);
    const results = measured({ embedded: 0.02 });
    results.ladder.push({ system: 'embedded', result: late });
    assert.equal(lineOf(results, 'embedded').kept.length, 4);
    const ladder = findingsOf(results).tables.find(({ name }) => name === 'ladder');
    assert.equal(ladder?.rows.length, 5);
  });

  test('has no cost, so that no run is compared with an overload', () => {
    const results = measured({ embedded: 0.02 });
    results.ladder.push({ system: 'embedded', result: late });
    const { columns = [], rows = [] } =
      findingsOf(results).tables.find(({ name }) => name === 'ladder') ?? {};
    const cellsOf = (column: string): unknown[] => rows.map((row) => row[columns.indexOf(column)]);
    const isLate = cellsOf('kept up').map((cell) => cell !== 'yes');
    assert.equal(isLate.filter(Boolean).length, 1);
    for (const column of ['cores', 'CPU ms per TR']) {
      assert.deepEqual(
        cellsOf(column).map((cell) => cell === null),
        isLate,
        column,
      );
    }
  });
});

describe('a load with fewer Trade-Results than chance explains', () => {
  const few = (offered: number, completed: number, seconds: number): RunResult =>
    ranAt(offered, 1, {
      offered: { tradesPerSecond: offered, users: 0, warmupSeconds: 1, seconds },
      records: recordsOf(completed),
    });

  test('was not kept up with, whatever its backlog', () => {
    assert.equal(saturation(few(15.15, 119, 10)), 'only 119 of 151.5 Trade-Results');
    assert.equal(saturation(few(15.15, 150, 10)), null);
    assert.equal(saturation(few(15.15, 190, 10)), null, 'more than offered is no failure');
  });

  test('was kept up with if so few were offered that chance explains it', () => {
    assert.equal(saturation(few(1.165, 16, 20)), null);
    assert.equal(saturation(few(1.165, 9, 20)), 'only 9 of 23.3 Trade-Results');
  });

  test('is listed with its counts and their interval', () => {
    const results = measured({ embedded: 0.02 });
    results.ladder.push({ system: 'embedded', result: few(15.15, 119, 10) });
    const { columns = [], rows = [] } =
      findingsOf(results).tables.find(({ name }) => name === 'ladder') ?? {};
    const row = rows.find((cells) => cells[columns.indexOf('TR/s offered')] === 15.15) ?? [];
    const cells = Object.fromEntries(columns.map((column, i) => [column, row[i]]));
    assert.equal(cells['TR'], 119);
    assert.equal(cells['TR at most'], 150.1);
    assert.equal(cells['kept up'], 'no: only 119 of 151.5 Trade-Results');
  });
});

test('the headline states no rate from fewer than 30 Trade-Results', () => {
  const results = measured({ embedded: 0.02 });
  assert.match(findingsOf(results).headline, /^Percolator, embedded: 120\.0 TR\/s/);
  results.unpaced.splice(0, 1, { system: 'embedded', result: unpaced(2.9, 0.1) });
  assert.match(
    findingsOf(results).headline,
    /^Percolator, embedded: only 29 Trade-Results, too few/,
  );
});

test('the headline begins with the finding: the processor time next to PostgreSQL', () => {
  const results = measured({ embedded: 0.02, postgres: 0.01 });
  assert.match(
    findingsOf(results).headline,
    /^A Trade-Result takes 2\.0 times \(Percolator, embedded\) the processor time of PostgreSQL; in the paper about 30 times\. /,
  );
});

test('the headline of a run without a maximum begins with a word', () => {
  const results = measured({ embedded: 0.02 });
  results.unpaced.splice(0);
  assert.match(findingsOf(results).headline, /^TPC-E-like, not comparable /);
});

describe('the table of transactions', () => {
  const { tables } = findingsOf(measured({ embedded: 0.02 }));
  const { columns = [], rows = [] } = tables.find(({ name }) => name === 'transactions') ?? {};
  const cellOf = (transaction: string, column: string): unknown =>
    rows.find((row) => row[1] === transaction)?.[columns.indexOf(column)];

  test('judges the share of the mix and the response time separately', () => {
    assert.equal(cellOf('Trade-Result', 'share allowed'), 'yes');
    assert.equal(cellOf('Trade-Result', '90 % within limit'), 'yes');
    const skewed = measured({ embedded: 0.02 });
    const [result] = skewed.ladder.flatMap((point) =>
      point.result.offered.tradesPerSecond === 40 ? [point.result] : [],
    );
    assert.ok(result !== undefined);
    Object.assign(result.records.tradeResult, { ended: 420 });
    Object.assign(result.records.tradeStatus, { ended: 1_000 });
    const table = findingsOf(skewed).tables.find(({ name }) => name === 'transactions');
    const shares = Object.fromEntries(
      (table?.rows ?? []).map((row) => [row[1], row[columns.indexOf('share allowed')]]),
    );
    assert.equal(shares['Trade-Status'], 'NO');
    assert.equal(shares['Trade-Result'], 'no, but within chance');
    assert.ok(table?.rows.every((row) => row[columns.indexOf('90 % within limit')] !== 'NO'));
  });

  test('states no percentile of fewer than a hundred transactions', () => {
    assert.equal(cellOf('Market-Feed', 'transactions'), 40);
    assert.equal(cellOf('Market-Feed', '90 % within ms'), null);
    assert.equal(cellOf('Market-Feed', '90 % within limit'), 'too few');
  });
});

describe('without a check that has passed there are no numbers', () => {
  const wrong = measured({ embedded: 0.02 });
  wrong.wrong.push('embedded: balances: account 7 has a cent too much');
  const interrupted = { ...measured({ embedded: 0.02 }), isComplete: false };
  for (const [name, results, detail] of [
    ['one that failed', wrong, /a cent too much/],
    ['one that was never made', interrupted, /nothing has been measured and checked/],
  ] as const) {
    test(name, () => {
      const { tables, charts, check } = findingsOf(results);
      assert.deepEqual([tables, charts, targetsOf(plan, results)], [[], [], []]);
      assert.equal(check.passed, false);
      assert.match(check.detail, detail);
    });
  }
});
