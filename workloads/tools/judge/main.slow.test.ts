/**
 * `./run.sh judge` as a user runs it: each anomaly and its clean twin, the report, and its answers
 * to bad input.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { ANOMALIES } from './anomalies.ts';
import { judgeFile, type Model } from './judge-file.ts';
import { type JudgeReport, reportOf } from './report.ts';
import type { HistoryVerdict } from './verdict.ts';
import { runProgram } from '../../harness/testing/run-script.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const FIXTURES = path.join(import.meta.dirname, 'fixtures');
const folder = temporaryFolder();

const run = (...words: string[]) => runProgram(PROGRAM, words);

async function judgeAll(
  file: string,
  model: Model = 'snapshot-isolation',
): Promise<HistoryVerdict> {
  const { signal } = new AbortController();
  const options = { model, ownWritesSeen: true, keepMax: 1000, onProgress: () => {}, signal };
  return judgeFile(file, options);
}

async function judge(fixture: string, model?: Model): Promise<HistoryVerdict> {
  return judgeAll(path.join(FIXTURES, fixture), model);
}

function anomalies({ stories }: HistoryVerdict): readonly string[] {
  return [...new Set(stories.map(({ anomaly }) => anomaly))];
}

/** The anomalies that snapshot isolation allows, each with a model that forbids it. */
const STRICTER: Readonly<Record<string, Model>> = {
  'stale-snapshot': 'strong-snapshot-isolation',
  'write-skew': 'serializable',
};

describe('a history', () => {
  const fixtures = readdirSync(FIXTURES).filter((file) => !file.includes('.clean.'));

  for (const file of fixtures) {
    const [name = '', form = ''] = file.split('.');
    const model = STRICTER[name];
    test(`with ${name} (${form}) has exactly that violation, and its twin is clean`, async () => {
      assert.deepEqual(anomalies(await judge(file, model)), [
        name.replaceAll('-', ' ').replace('non ', 'non-'),
      ]);
      assert.deepEqual((await judge(`${name}.clean.${form}`, model)).stories, []);
      if (model !== undefined) assert.deepEqual((await judge(file)).stories, []);
    });
  }

  test('exists for each anomaly', () => {
    const named = fixtures.map((file) => (file.split('.')[0] ?? '').replaceAll('-', ' '));
    const all = Object.keys(ANOMALIES).map((name) => name.replaceAll('-', ' '));
    assert.deepEqual([...new Set(named)].toSorted(), all.toSorted());
  });

  test('shows an anomaly that docs/judge.md names', () => {
    const page = readFileSync(path.join(import.meta.dirname, '../../../docs/judge.md'), 'utf8');
    const cells = page.split('\n').map((line) => line.split('|')[1] ?? '');
    const names = new Set(cells.flatMap((cell) => cell.trim().split(', ')));
    const missing = Object.keys(ANOMALIES).filter((name) => !names.has(name));
    assert.deepEqual(missing, []);
  });

  test('with write skew says so, although snapshot isolation allows it', async () => {
    const { allowed, found } = await judge('write-skew.edn');
    assert.equal(found, 0);
    assert.deepEqual(
      allowed.map(({ anomaly }) => anomaly),
      ['write skew'],
    );
  });
});

describe('the report', () => {
  test('of a clean history states the model', async () => {
    const { exitCode, stdout } = await run(path.join(FIXTURES, 'lost-update.clean.jsonl'));
    assert.equal(exitCode, 0);
    assert.match(stdout, /^transactions: +3 \(2 ok, 1 fail, 0 info\)$/m);
    assert.match(stdout, /^overlapping writers: +1 pair$/m);
    assert.match(stdout, /^Clean: nothing contradicts snapshot isolation\.$/m);
  });

  test('of a history without overlapping writers says that it proves little', async () => {
    const { stdout } = await run(path.join(FIXTURES, 'own-write-not-read.clean.jsonl'));
    assert.match(
      stdout,
      /no two transactions wrote one key at the same time, so this history proves little/,
    );
  });

  test('tells a lost update with lines, values and the reason', async () => {
    const { exitCode, stdout } = await run(path.join(FIXTURES, 'lost-update.jsonl'));
    assert.equal(exitCode, 1);
    const story = stdout.slice(stdout.indexOf('Lost update'));
    assert.equal(
      story,
      [
        'Lost update (P4; Adya G-SIa, interference), 1: two transactions updated one key from the same version, and both committed.',
        '',
        '  On key "x":',
        '    T2  line 2: process 1, began at 3, committed at 5',
        '        read "x" = 0, wrote "x" = 1',
        '    T3  line 3: process 2, began at 4, committed at 6',
        '        read "x" = 0, wrote "x" = 2',
        '  T2 committed a write of "x" at 5. T3 had begun before, at 4, wrote "x" too, and committed at 6.',
        '  The write of T3 depends on "x" = 0, which it had read, and not on the write of T2: that update is lost.',
        '  The first committer wins: after T2 had committed, T3 had to fail.',
      ].join('\n'),
    );
  });

  test('tells a cycle edge by edge, and why no moment fits', async () => {
    const { stdout } = await run(path.join(FIXTURES, 'fractured-read.edn'));
    assert.match(
      stdout,
      /T0 {2}lines 1 and 3: process 0, ok\n +appended 1 to :x, appended 1 to :y\n/,
    );
    assert.match(stdout, / T0 -wr-> T1: T1 read :x as \[1\], and T0 appended 1\.\n/);
    assert.match(stdout, / T1 -rw-> T0: T1 read :y as \[\], without 1, which T0 appended\.\n/);
    assert.match(
      stdout,
      / So commit\(T0\) < begin\(T1\) < commit\(T0\): a moment would be before itself\.$/,
    );
  });

  test('has the same content as JSON', async () => {
    const { exitCode, stdout } = await run(path.join(FIXTURES, 'read-skew.jsonl'), '--json');
    assert.equal(exitCode, 1);
    const report = JSON.parse(stdout) as Record<string, unknown>;
    const { verdict, transactions, violations } = report;
    assert.deepEqual([verdict, transactions], ['violated', 4]);
    const [group] = violations as {
      anomaly: string;
      count: number;
      stories: { why: string[] }[];
    }[];
    assert.deepEqual([group?.anomaly, group?.count, group?.stories.length], ['read skew', 1, 1]);
  });

  test('tells the requested number of stories of a kind, and counts all', async () => {
    const file = path.join(folder, 'many.jsonl');
    const one = (start: number): string =>
      JSON.stringify({ start, outcome: 'ok', ops: [{ read: 'x', value: start }] });
    writeFileSync(file, Array.from({ length: 2000 }, (_, i) => one(i)).join('\n'));
    const { stdout } = await run(file, '--limit', '2');
    assert.match(
      stdout,
      /^Violated: 2,000 violations of snapshot isolation; the first 1,000 are grouped here\.$/m,
    );
    assert.equal(stdout.match(/ On key "x":/g)?.length, 2);
    assert.match(stdout, /998 more; use --all or --limit to see them\./);
    const all = await run(file, '--all');
    assert.equal(all.stdout.match(/ On key "x":/g)?.length, 2000);
  });

  test('keeps at most 1,000 violations, also of those within single transactions', async () => {
    const file = path.join(folder, 'own.jsonl');
    const ops = [
      { write: 'x', value: 1 },
      { read: 'x', value: null },
    ];
    const lines = Array.from({ length: 1_100 }, (_, i) =>
      JSON.stringify({ start: 2 * i, commit: 2 * i + 1, outcome: 'ok', ops }),
    );
    const stale = { start: 9_999, outcome: 'ok', ops: [{ read: 'x', value: null }] };
    writeFileSync(file, [...lines, JSON.stringify(stale)].join('\n'));
    const { found, stories } = await judgeAll(file);
    assert.deepEqual([found, stories.length], [1_101, 1_000]);
  });

  test('counts all anomalies that the model allows, also those that are not kept', async () => {
    const file = path.join(folder, 'skews.edn');
    const skew = (i: number): readonly string[] => [
      `[[:r x${i} []] [:append y${i} 1]]`,
      `[[:r y${i} []] [:append x${i} 1]]`,
      `[[:r x${i} [1]] [:r y${i} [1]]]`,
    ];
    const operations = Array.from({ length: 1_001 }, (_, i) => skew(i)).flat();
    const lines = operations.map((value) => `{:type :ok, :process 0, :f :txn, :value ${value}}`);
    writeFileSync(file, lines.join('\n'));
    const { exitCode, stdout } = await run(file);
    assert.equal(exitCode, 0);
    assert.match(
      stdout,
      /^Allowed by snapshot isolation, 1,001 cycles; the first 1,000 are grouped here:$/m,
    );
  });

  test('states the peak of memory in units of a million bytes', async () => {
    const peak = (): number => (process.resourceUsage().maxRSS * 1024) / 1e6;
    const verdict = await judge('write-skew.edn');
    const before = peak();
    const { peakMemoryMB } = reportOf(verdict, { file: '', model: '', seconds: 0, limit: 3 });
    assert.ok(peakMemoryMB >= Math.floor(before), `${peakMemoryMB} of ${before} MB`);
    assert.ok(peakMemoryMB <= Math.ceil(peak()), `${peakMemoryMB} of ${peak()} MB`);
  });
});

const GOOD = '{"start": 1, "outcome": "ok", "ops": []}\n';
const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const BAD: readonly (readonly [what: string, name: string, text: string, sentence: RegExp])[] = [
  ['an empty file', 'a.jsonl', '', /must be a history/],
  ['a file with other content', 'a.jsonl', 'hello\n', /must be a history: its first line must be/],
  [
    'a line that is not JSON',
    'a.jsonl',
    `${GOOD}{"start": 1,\n`,
    /line 2: a line must be one JSON object, but/,
  ],
  [
    'a start that is not a timestamp',
    'a.jsonl',
    '{"start": 1.5, "outcome": "ok", "ops": []}',
    /line 1: "start" must be a timestamp .* but is 1\.5\.$/m,
  ],
  [
    'an outcome of another name',
    'a.jsonl',
    '{"start": 1, "outcome": "OK", "ops": []}',
    /line 1: "outcome" must be "ok", "fail" or "info", but is "OK"\.$/m,
  ],
  [
    'a misspelt field',
    'a.jsonl',
    '{"start": 1, "comit": 2, "outcome": "ok", "ops": []}',
    /line 1: a line must have only .*, but has "comit"\.$/m,
  ],
  [
    'a failure with a commit',
    'a.jsonl',
    '{"start": 1, "commit": 2, "outcome": "fail", "ops": []}',
    /must have no "commit"/,
  ],
  [
    'an end before the beginning',
    'a.jsonl',
    '{"start": 1, "begin": 5, "end": 1, "outcome": "ok", "ops": []}',
    /line 1: "end" must not be before "begin", which is 5, but is 1\.$/m,
  ],
  [
    'an operation of another kind',
    'a.jsonl',
    '{"start": 1, "outcome": "ok", "ops": [{"get": "x"}]}',
    /line 1: an operation must be an object with one of read, write, delete, lock, scan, but is \{"get":"x"\}\.$/m,
  ],
  [
    'a read without a result',
    'a.jsonl',
    '{"start": 1, "outcome": "ok", "ops": [{"read": "x"}]}',
    /a read must have either a "value" or a "version"/,
  ],
  [
    'a write of null',
    'a.jsonl',
    '{"start": 1, "outcome": "ok", "ops": [{"write": "x", "value": null}]}',
    /\{"delete": key\}/,
  ],
  [
    'a write without a value',
    'a.jsonl',
    `${GOOD}{"start": 1, "outcome": "ok", "ops": [{"write": "x"}]}`,
    /line 2: a write must have a "value"/,
  ],
  [
    'reads of two kinds',
    'a.jsonl',
    '{"start": 1, "outcome": "ok", "ops": [{"read": "x", "value": 1}, {"read": "x", "version": 1}]}',
    /line 1: the reads of a file must all have/,
  ],
  [
    'a row outside of its scan',
    'a.jsonl',
    '{"start": 1, "outcome": "ok", "ops": [{"scan": {"to": "b"}, "rows": [{"key": "c", "value": 1}]}]}',
    /line 1: a scan must have rows of its range only, but has "c"\.$/m,
  ],
  [
    'EDN that is not closed',
    'a.edn',
    '{:type :invoke, :process 0, :value [[:append 1 1]}\n',
    /line 1: a value must come before \}\.$/m,
  ],
  [
    'EDN with other content',
    'a.edn',
    '[1 2 3]',
    /line 1: an operation must be a map, but is 1\.$/m,
  ],
  [
    'an unknown type',
    'a.edn',
    '\n{:type :done, :process 0, :value []}',
    /line 2: :type must be one of invoke, ok, fail, info, but is :done\.$/m,
  ],
  [
    'a write to a register',
    'a.edn',
    '{:type :ok, :process 0, :value [[:w 1 1]]}',
    /line 1: an operation must be \[:append key element\] or \[:r key list\], but is \[:w 1 1\]\.$/m,
  ],
  [
    'a process with two operations at a time',
    'a.edn',
    '{:type :invoke, :process 0, :value []}\n{:type :invoke, :process 0, :value []}',
    /line 2: process 0 must end the transaction it began in line 1/,
  ],
  [
    'list append without any operation of it',
    'a.edn',
    '{:process 0, :type :invoke, :f :acquire}\n{:process 0, :type :ok, :f :acquire}',
    /a\.edn must hold list-append operations, but has none\.$/m,
  ],
  [
    'transactions without any operation',
    'a.jsonl',
    GOOD,
    /a\.jsonl must hold transactions with operations, but none has any\.$/m,
  ],
  [
    'an invoke without a process',
    'a.edn',
    '{:type :invoke, :value [[:append 1 1]]}\n{:type :ok, :value [[:append 1 1]]}',
    /line 1: :process must be there, so that the end of this invoke is found\.$/m,
  ],
  [
    'an end without a process, among others',
    'a.edn',
    '{:type :invoke, :process 0, :value [[:append 1 1]]}\n{:type :ok, :value [[:append 1 1]]}',
    /line 2: all transactions must have a :process, or none, but line 2 has none and line 1 has one\.$/m,
  ],
  [
    'a process as a text, after one that is a number',
    'a.jsonl',
    '{"type":"ok","process":0,"value":[["append","x",1]]}\n{"type":"ok","process":"0","value":[["r","x",[]]]}',
    /line 2: :process must be a number in a transaction, but is "0"\.$/m,
  ],
  [
    'an array of transactions with timestamps',
    'a.jsonl',
    '[\n  {"start": 1,\n "outcome": "ok", "ops": []}]',
    /must be a history with one JSON object with "start" per line, but is an array of them\.$/m,
  ],
  [
    'a field that is there twice',
    'a.jsonl',
    '{"start": 1, "outcome": "ok", "ops": [], "st\\u0061rt": 2}',
    /line 1: a line must have each field once, but has "st\\u0061rt" twice\.$/m,
  ],
  [
    'a key that is there twice',
    'a.edn',
    '{:type :ok, :process 0, :value [[:append 1 1]], :process 1}',
    /line 1: a map must have each key once, but has process twice\.$/m,
  ],
  [
    'a scan against the order of keys',
    'a.jsonl',
    '{"start": 1, "outcome": "ok", "ops": [{"scan": {"from": "z", "to": "a"}, "rows": []}]}',
    /line 1: a scan must not have its "from" after its "to", but is from "z" to "a"\.$/m,
  ],
  [
    'a value that is nested too deeply',
    'a.jsonl',
    `${GOOD}{"start": 1, "outcome": "ok", "ops": [{"write": "x", "value": ${DEEP}}]}`,
    /line 2: its values are nested too deeply\.$/m,
  ],
  [
    'a value that is nested too deeply, next to a long number',
    'a.jsonl',
    `{"start": 9007199254740993, "outcome": "ok", "ops": [{"write": "x", "value": ${DEEP}}]}`,
    /line 1: its values are nested too deeply\.$/m,
  ],
  ['EDN that is nested too deeply', 'a.edn', DEEP, /line 1: its values are nested too deeply\.$/m],
  [
    'EDN with a long string in a wrong place',
    'a.edn',
    `{:type :ok, :process 0, :value ["${'v\\\\'.repeat(10_000_000)}"]}`,
    /line 1: an operation must be \[:append key element\] or \[:r key list\], but is "v/m,
  ],
  [
    'an operation after many comments',
    'a.edn',
    `${';\n'.repeat(5_000_000)}[1 2 3]`,
    /line 5000001: an operation must be a map, but is 1\.$/m,
  ],
  ['EDN with a string without end', 'a.edn', `{:type "ok\\"`, /line 1: a string must be closed by/],
  [
    'a line without end',
    'a.jsonl',
    `${GOOD}{"start": 1, ${' '.repeat(33_000_000)}`,
    /line 2: a line must have at most 32 MB\.$/m,
  ],
];

test('--limit prints as many stories as it says, also more than are kept without it', async () => {
  const file = path.join(folder, 'many.jsonl');
  const lines = Array.from({ length: 1_100 }, (_, i) => {
    const ops = [{ read: 'x', value: i }];
    return JSON.stringify({ process: 1, start: i + 1, outcome: 'ok', ops });
  });
  writeFileSync(file, lines.join('\n'));
  const { stdout } = await run(file, '--limit', '1050', '--json');
  const { found, violations } = JSON.parse(stdout) as JudgeReport;
  assert.equal(found, 1_100);
  assert.equal(violations[0]?.stories.length, 1_050);
});

describe('bad input', () => {
  for (const [what, name, text, sentence] of BAD) {
    test(`such as ${what} is refused, with the reason`, async () => {
      const file = path.join(folder, name);
      writeFileSync(file, text);
      await assert.rejects(judgeAll(file), (error: Error) => {
        assert.equal(error.name, 'UsageError');
        assert.match(error.message, sentence);
        return true;
      });
    });
  }

  test('such as UTF-16 is refused, with and without a mark, whatever the name of its file', async () => {
    for (const name of ['u.jsonl', 'u.edn']) {
      const file = path.join(folder, name);
      for (const text of [GOOD, `\uFEFF${GOOD}`]) {
        const little = Buffer.from(text, 'utf16le');
        for (const bytes of [little, Buffer.from(little).swap16()]) {
          writeFileSync(file, bytes);
          await assert.rejects(judgeAll(file), /must be in UTF-8, but is in UTF-16\.$/);
        }
      }
    }
  });

  test("does not include a byte-order mark, with which Windows' programs begin a file", async () => {
    for (const [name, content] of [
      ['b.jsonl', '{"start": 1, "outcome": "ok", "ops": [{"lock": "x"}]}\n'],
      ['b.edn', '{:type :ok, :process 0, :value [[:append 1 1]]}'],
    ] as const) {
      const file = path.join(folder, name);
      writeFileSync(file, `\uFEFF${content}`);
      assert.equal((await judgeAll(file)).found, 0);
    }
  });

  test('is answered with one sentence and exit code 2', async () => {
    const file = path.join(folder, 'bad.jsonl');
    writeFileSync(file, `${GOOD}{}\n`);
    const { exitCode, stdout, stderr } = await run(file);
    const lines = stderr.split('\n');
    const said = lines.filter((line) => !line.startsWith('judging'));
    assert.deepEqual([exitCode, stdout], [2, '']);
    assert.deepEqual(said, [
      `${file}, line 2: "outcome" must be "ok", "fail" or "info", but is missing.`,
    ]);
    // On a terminal, a bar that is still shown would erase the sentence when the bar ends.
    assert.match(lines.at(-2) ?? '', /^judging: /);
  });

  test('such as a model that needs more fields than the file has is refused', async () => {
    const file = path.join(FIXTURES, 'lost-update.jsonl');
    await assert.rejects(
      judgeAll(file, 'strong-snapshot-isolation'),
      /line 1: a transaction must have "begin", and "end"/,
    );
    await assert.rejects(
      judgeAll(file, 'serializable'),
      /^UsageError: --model must be snapshot-isolation or strong-snapshot-isolation/,
    );
  });
});
