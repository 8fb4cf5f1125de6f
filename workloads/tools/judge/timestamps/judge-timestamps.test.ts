/**
 * Claims about the judge of histories with timestamps: correct stores are acquitted, and each kind
 * of mistake is found.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { judgeFile, type Model } from '../judge-file.ts';
import { MISTAKES, timestampHistory } from '../store.fixture.ts';
import type { HistoryVerdict } from '../verdict.ts';

const folder = temporaryFolder();
let files = 0;

async function judge(
  lines: readonly string[],
  {
    model = 'snapshot-isolation',
    ownWritesSeen = true,
  }: { model?: Model; ownWritesSeen?: boolean } = {},
): Promise<HistoryVerdict> {
  const file = path.join(folder, `${files++}.jsonl`);
  writeFileSync(file, `${lines.join('\n')}\n`);
  const { signal } = new AbortController();
  return judgeFile(file, { model, ownWritesSeen, keepMax: 1000, onProgress: () => {}, signal });
}

function anomalies({ stories }: HistoryVerdict): readonly string[] {
  return [...new Set(stories.map(({ anomaly }) => anomaly))];
}

interface LineOptions {
  start: number | string;
  commit?: number | string;
  outcome?: string;
  begin?: number;
  end?: number;
  ops: readonly object[];
}

function line({ outcome = 'ok', ...given }: LineOptions): string {
  return JSON.stringify({ ...given, outcome });
}

const read = (key: string, value: unknown): object => ({ read: key, value });
const write = (key: string, value: unknown): object => ({ write: key, value });

describe('random histories', () => {
  test('of a correct store are acquitted, with clients that die, and in real time', async () => {
    const seen = { unknown: 0, overlaps: 0 };
    for (let seed = 1; seed <= 150; seed++) {
      const lines = timestampHistory(seed, { transactions: 60, deaths: true });
      const verdict = await judge(lines, { model: 'strong-snapshot-isolation' });
      assert.deepEqual(verdict.stories, [], `seed ${seed}`);
      assert.equal(verdict.found, 0);
      assert.equal(verdict.transactions, 60);
      seen.unknown += verdict.infoSeen;
      seen.overlaps += verdict.overlappingWriters;
    }
    assert.ok(seen.unknown > 100, `${seen.unknown} of unknown outcome were seen`);
    assert.ok(seen.overlaps > 1000, `${seen.overlaps} pairs of writers overlapped`);
  });

  for (const mistake of MISTAKES) {
    test(`of a store that ${mistake} are convicted, 28 of 30 at least`, async () => {
      let convicted = 0;
      for (let seed = 1; seed <= 30; seed++) {
        const { found } = await judge(timestampHistory(seed, { transactions: 60, mistake }));
        if (found > 0) convicted++;
      }
      assert.ok(convicted >= 28, `${convicted} of 30`);
    });
  }

  test('have the same verdict with timestamps beyond 2^53, and beyond 2^64 apart', async () => {
    for (const mistake of [undefined, ...MISTAKES]) {
      const options = { transactions: 60, deaths: true, ...(mistake && { mistake }) };
      const small = await judge(timestampHistory(7, options));
      const large = await judge(
        timestampHistory(7, { ...options, offset: 449_123_456_789_012_345n }),
      );
      assert.deepEqual(anomalies(large), anomalies(small), mistake);
      assert.equal(large.found, small.found);
      const lines = timestampHistory(7, { ...options, offset: 1n << 70n });
      const first = line({ start: 0, commit: 1, ops: [write('z', 1)] });
      const apart = await judge([first, ...lines]);
      assert.deepEqual(anomalies(apart), anomalies(small), mistake);
    }
  });
});

describe('timestamps', () => {
  test('beyond 2^53 that differ by one are different, as numbers and as strings', async () => {
    const history = (snapshot: string): readonly string[] => [
      line({ start: '449123456789012340', commit: '449123456789012346', ops: [write('x', 1)] }),
      `{"start": ${snapshot}, "outcome": "ok", "ops": [{"read": "x", "value": 1}]}`,
    ];
    assert.deepEqual(anomalies(await judge(history('449123456789012345'))), ['future read']);
    assert.deepEqual(anomalies(await judge(history('"449123456789012345"'))), ['future read']);
    assert.deepEqual(anomalies(await judge(history('449123456789012346'))), []);
  });

  test('may be shared, by snapshots, by commits to different keys, and by a commit and a snapshot', async () => {
    const verdict = await judge(
      [
        line({ start: 5, commit: 7, begin: 1, end: 2, ops: [write('x', 1)] }),
        line({ start: 5, commit: 7, begin: 1, end: 2, ops: [write('y', 1), read('x', null)] }),
        line({ start: 7, begin: 3, end: 4, ops: [read('x', 1), read('y', 1)] }),
        line({ start: 7, begin: 5, end: 6, ops: [read('x', 1), read('y', 1)] }),
      ],
      { model: 'strong-snapshot-isolation' },
    );
    assert.deepEqual(verdict.stories, []);
  });

  test('of snapshots may go backwards in real time if no commit is between them', async () => {
    const model = 'strong-snapshot-isolation';
    const history = [
      line({ start: 1, commit: 2, begin: 0, end: 1, ops: [write('x', 1)] }),
      line({ start: 11, begin: 10, end: 20, ops: [] }),
      line({ start: 10, begin: 21, end: 22, ops: [] }),
    ];
    assert.deepEqual(anomalies(await judge(history, { model })), []);
    const between = line({ start: 3, commit: 11, begin: 9, end: 30, ops: [write('x', 2)] });
    const split = await judge([...history, between], { model });
    assert.deepEqual(anomalies(split), ['stale snapshot']);
    assert.equal(split.found, 1);
  });

  test('of a commit that are missing are before each snapshot taken after a reader of that commit had ended', async () => {
    const model = 'strong-snapshot-isolation';
    const history = (...ops: readonly object[]): readonly string[] => [
      line({ start: 1, begin: 1, end: 30, ops: [write('x', 1)] }),
      line({ start: 11, begin: 10, end: 20, ops: [read('x', 1)] }),
      line({ start: 10, begin: 21, end: 22, ops }),
    ];
    assert.deepEqual(anomalies(await judge(history(), { model })), []);
    assert.deepEqual(anomalies(await judge(history(read('x', null)), { model })), ['stale read']);
  });

  test('of a commit may be missing: readers and later writers bound it', async () => {
    const writer = line({ start: 1, begin: 1, end: 2, ops: [write('x', 1), write('y', 1)] });
    const early = line({ start: 3, begin: 1, end: 2, ops: [read('x', null)] });
    const late = line({ start: 5, begin: 3, end: 4, ops: [read('y', 1)] });
    assert.deepEqual(anomalies(await judge([writer, early, late])), []);
    const torn = line({ start: 6, begin: 5, end: 6, ops: [read('x', null)] });
    assert.deepEqual(anomalies(await judge([writer, early, late, torn])), ['stale read']);
    const next = line({ start: 2, commit: 9, begin: 3, end: 4, ops: [write('x', 2)] });
    const missed = line({ start: 4, begin: 5, end: 6, ops: [read('x', null)] });
    assert.deepEqual(anomalies(await judge([writer, next, missed])), ['stale read']);
  });

  test('of a commit that are missing must fit real time, if that counts', async () => {
    const history = [
      line({ start: 1, begin: 1, end: 2, ops: [write('x', 1)] }),
      line({ start: 5, begin: 3, end: 4, ops: [read('x', null)] }),
    ];
    assert.deepEqual(anomalies(await judge(history)), []);
    const model = 'strong-snapshot-isolation';
    assert.deepEqual(anomalies(await judge(history, { model })), ['stale read']);
  });
});

describe('an unknown outcome', () => {
  const unknown = line({ start: 1, outcome: 'info', ops: [write('x', 1), write('y', 1)] });

  test('counts as a failure if no read saw it', async () => {
    const verdict = await judge([unknown, line({ start: 5, ops: [read('x', null)] })]);
    assert.deepEqual([verdict.found, verdict.infoSeen], [0, 0]);
  });

  test('counts as a commit if a read saw it', async () => {
    const whole = await judge([unknown, line({ start: 5, ops: [read('x', 1), read('y', 1)] })]);
    assert.deepEqual([whole.found, whole.infoSeen], [0, 1]);
    const half = await judge([unknown, line({ start: 5, ops: [read('x', 1), read('y', null)] })]);
    assert.deepEqual(anomalies(half), ['fractured read']);
  });

  test('stays unknown if another transaction wrote the same value; reads of that value are not judged', async () => {
    const other = line({ start: 2, commit: 3, ops: [write('x', 1)] });
    const next = line({ start: 4, commit: 5, ops: [write('x', 2)] });
    const reader = line({ start: 7, ops: [read('x', 1)] });
    const verdict = await judge([unknown, other, next, reader]);
    assert.deepEqual([verdict.found, verdict.infoSeen, verdict.readsNotJudged], [0, 0, 1]);
  });

  test('gives no two commits one timestamp', async () => {
    const verdict = await judge([
      line({ start: 10, ops: [read('x', 1)] }),
      line({ start: 20, outcome: 'info', ops: [write('x', 1)] }),
      line({ start: 5, outcome: 'info', ops: [write('y', 2)] }),
      line({ start: 30, ops: [read('y', 2)] }),
    ]);
    assert.deepEqual([verdict.found, anomalies(verdict)], [1, ['future read']]);
  });

  test('does not excuse a writer that overlapped it', async () => {
    const other = line({ start: 0, commit: 2, ops: [write('x', 2)] });
    const reader = line({ start: 5, ops: [read('y', 1)] });
    assert.deepEqual(anomalies(await judge([unknown, other, reader])), ['overlapping writers']);
  });
});

describe('two writers of a key that overlapped', () => {
  const first = line({ start: 1, commit: 2, ops: [write('x', 0)] });
  const second = line({ start: 3, commit: 5, ops: [write('x', 1)] });
  const third = (...ops: readonly object[]): string => line({ start: 4, commit: 6, ops });

  test('have a lost update if the later one had read an older version, or none', async () => {
    const verdict = await judge([first, second, third(read('x', 0), write('x', 2))]);
    assert.deepEqual(anomalies(verdict), ['lost update']);
    const deletion = line({ start: 7, commit: 8, ops: [{ delete: 'x' }] });
    const fromNothing = [second, third(read('x', null), write('x', 2)), deletion];
    assert.deepEqual(anomalies(await judge(fromNothing)), ['lost update']);
  });

  test('have no lost update if the later one had read what the earlier one wrote', async () => {
    const verdict = await judge([first, second, third(read('x', 1), write('x', 2))]);
    assert.deepEqual(anomalies(verdict).toSorted(), ['future read', 'overlapping writers']);
    const deletion = line({ start: 3, commit: 5, ops: [{ delete: 'x' }] });
    const fromNothing = await judge([first, deletion, third(read('x', null), write('x', 2))]);
    assert.ok(anomalies(fromNothing).includes('overlapping writers'));
    const both = await judge([first, second, third(read('x', 0), read('x', 1), write('x', 2))]);
    assert.ok(anomalies(both).includes('overlapping writers'), 'it read the key twice');
  });

  test('have no lost update if one of them only locked the key, and the story says so', async () => {
    const { stories } = await judge([first, second, third(read('x', 0), { lock: 'x' })]);
    assert.deepEqual(
      stories.map(({ anomaly }) => anomaly),
      ['overlapping writers'],
    );
    assert.equal(
      stories[0]?.why[0],
      'T2 committed a write of "x" at 5. T3 had begun before, at 4, locked "x", and committed at 6.',
    );
  });
});

describe('reads', () => {
  test('may tell versions instead of values', async () => {
    const history = (version: number | null): readonly string[] => [
      line({ start: 1, commit: 2, ops: [{ write: 'x' }] }),
      line({ start: 3, commit: 4, ops: [{ write: 'x' }, { read: 'x', version: 'own' }] }),
      line({ start: 5, ops: [{ read: 'x', version }] }),
    ];
    assert.deepEqual(anomalies(await judge(history(4))), []);
    assert.deepEqual(anomalies(await judge(history(2))), ['stale read']);
    assert.deepEqual(anomalies(await judge(history(null))), ['stale read']);
    assert.deepEqual(anomalies(await judge(history(3))), [
      'read of a value that was never written',
    ]);
  });

  test('may tell versions although no read found one', async () => {
    const history = (start: number): readonly string[] => [
      line({ start: 1, commit: 2, ops: [{ write: 'x' }] }),
      line({ start, ops: [{ read: 'x', version: null }] }),
    ];
    assert.deepEqual(anomalies(await judge(history(1))), []);
    assert.deepEqual(anomalies(await judge(history(3))), ['stale read']);
    const value = line({ start: 3, ops: [read('y', 1)] });
    await assert.rejects(judge([...history(1), value]), /line 1: a write must have a "value"/);
  });

  test('of versions are told with writes that have no version, because they did not commit', async () => {
    const { stories } = await judge([
      line({ start: 1, commit: 2, ops: [{ write: 'x' }] }),
      line({ start: 3, commit: 4, ops: [{ write: 'x' }] }),
      line({ start: 5, outcome: 'fail', ops: [{ read: 'x', version: 2 }, { write: 'x' }] }),
    ]);
    assert.equal(stories[0]?.anomaly, 'stale read');
    assert.deepEqual(
      stories[0].transactions.map(({ did }) => did),
      ['wrote "x" = version 2', 'wrote "x" = version 4', 'read "x" = version 2, wrote "x"'],
    );
  });

  test('are of the snapshot even after own writes, in stores that promise that', async () => {
    const history = [
      line({ start: 1, commit: 2, ops: [write('x', 1), read('x', null)] }),
      line({ start: 3, commit: 4, ops: [write('x', 2), read('x', 1)] }),
    ];
    assert.deepEqual(anomalies(await judge(history)), ['own write not read']);
    assert.deepEqual(anomalies(await judge(history, { ownWritesSeen: false })), []);
  });

  test('of own writes are told with the write that came before the read', async () => {
    const first = line({ start: 1, commit: 2, ops: [write('x', 0)] });
    const told = async (ops: readonly object[]): Promise<string | undefined> => {
      const { stories } = await judge([first, line({ start: 3, commit: 4, ops })]);
      return stories[0]?.why[0];
    };
    const rule = 'A transaction reads its own writes.';
    assert.equal(
      await told([write('x', 1), read('x', 0), write('x', 2)]),
      `T2 wrote "x" = 1, and then read "x" = 0. ${rule}`,
    );
    const scan = { scan: {}, rows: [] };
    assert.equal(
      await told([write('x', 1), scan, { delete: 'x' }]),
      `T2 wrote "x" = 1, and then read "x" = nothing. ${rule}`,
    );
    assert.equal(
      await told([{ delete: 'x' }, read('x', 0), write('x', 2)]),
      `T2 deleted "x", and then read "x" = 0. ${rule}`,
    );
    assert.equal(
      await told([{ read: 'x', version: 'own' }, { write: 'x' }]),
      'T2 read a write of its own to "x", and had made none that it could read.',
    );
    assert.equal(
      await told([{ write: 'x' }, { read: 'x', version: 2 }]),
      `T2 wrote "x", and then read "x" = version 2. ${rule}`,
    );
  });

  describe('of nothing', () => {
    const first = line({ start: 1, commit: 2, ops: [write('x', 1), write('y', 1)] });
    const reader = (y: number): string => line({ start: 3, ops: [read('x', null), read('y', y)] });

    test('that fit another read only after a later deletion are told as reads of the deletion', async () => {
      const deletion = line({ start: 4, commit: 5, ops: [{ delete: 'x' }] });
      const { stories } = await judge([first, deletion, reader(1)]);
      assert.deepEqual(
        stories.map(({ anomaly, why }) => [anomaly, why[0]]),
        [
          [
            'future read',
            'T3 took its snapshot at 3 and read "x" = nothing. T2 committed the deletion later at 5.',
          ],
        ],
      );
      const both = line({ start: 4, commit: 5, ops: [{ delete: 'x' }, write('y', 2)] });
      assert.deepEqual(anomalies(await judge([first, both, reader(2)])), ['future read']);
      const earlier = line({ start: 4, commit: 5, ops: [write('y', 2)] });
      const later = line({ start: 6, commit: 7, ops: [{ delete: 'x' }] });
      const verdict = await judge([first, earlier, later, reader(2)]);
      assert.deepEqual(anomalies(verdict), ['future read']);
    });

    test('that fit other reads at no time are told as fractured, also with a later deletion', async () => {
      const both = line({ start: 4, commit: 5, ops: [{ delete: 'x' }, write('y', 2)] });
      assert.deepEqual(anomalies(await judge([first, both, reader(1)])), ['fractured read']);
      const three = line({ start: 1, commit: 2, ops: ['x', 'y', 'z'].map((key) => write(key, 1)) });
      const deletion = line({ start: 4, commit: 5, ops: [{ delete: 'x' }, write('z', 2)] });
      const third = line({ start: 3, ops: [read('x', null), read('y', 1), read('z', 1)] });
      assert.deepEqual(anomalies(await judge([three, deletion, third])), ['fractured read']);
      const own = line({
        start: 3,
        commit: 5,
        ops: [read('x', null), read('y', 1), { delete: 'x' }],
      });
      assert.deepEqual(anomalies(await judge([first, own])), ['fractured read']);
    });

    test('that are those of an old snapshot are told as stale, also with a later deletion', async () => {
      const deletion = line({ start: 4, commit: 5, ops: [{ delete: 'x' }] });
      const old = line({ start: 3, ops: [read('x', null), read('y', null)] });
      assert.deepEqual(anomalies(await judge([first, deletion, old])), ['stale read']);
    });
  });

  test('that are repeated are told once; what is not told is counted', async () => {
    const told = async (ops: readonly object[]): Promise<string | undefined> => {
      const { stories } = await judge([
        line({ start: 1, commit: 2, ops: [write('x', 1)] }),
        line({ start: 3, ops }),
      ]);
      return stories.flatMap(({ transactions }) => transactions).find(({ name }) => name === 'T2')
        ?.did;
    };
    const stale = (times: number): readonly object[] =>
      Array.from({ length: times }, () => read('x', null));
    assert.equal(await told(stale(10)), 'read "x" = nothing');
    assert.equal(await told([...stale(10), read('y', null)]), 'read "x" = nothing, 1 more');
  });

  test('compare values by content: objects in any order, but the number 1 is not the text "1"', async () => {
    const history = (value: unknown): readonly string[] => [
      line({ start: 1, commit: 2, ops: [write('x', { a: [1, null], b: 'é' }), write('y', 1)] }),
      line({ start: 3, ops: [read('x', { b: 'é', a: [1, null] }), read('y', value)] }),
    ];
    assert.deepEqual(anomalies(await judge(history(1))), []);
    assert.deepEqual(anomalies(await judge(history('1'))), [
      'read of a value that was never written',
    ]);
  });

  test('of a value that its writer deleted again are told with the deletion', async () => {
    const writer = line({ start: 1, commit: 2, ops: [write('x', 1), { delete: 'x' }] });
    const { stories } = await judge([writer, line({ start: 3, ops: [read('x', 1)] })]);
    assert.equal(stories[0]?.why[0], 'T2 read "x" = 1. T1 wrote that first and then deleted it.');
  });

  test('of a value that a failed transaction replaced are told as reads of a failed one', async () => {
    const writer = line({ start: 1, outcome: 'fail', ops: [write('x', 1), write('x', 2)] });
    const { stories } = await judge([writer, line({ start: 3, ops: [read('x', 1)] })]);
    assert.equal(stories[0]?.anomaly, 'aborted read');
    assert.equal(stories[0].why[0], 'T2 read "x" = 1, which only T1 wrote, and T1 failed.');
  });

  test('may return objects with any fields, also with those of list-append operations', async () => {
    const value = { type: 'ok', start: 1 };
    const history = [
      line({ start: 1, commit: 2, ops: [write('x', value)] }),
      line({ start: 3, ops: [read('x', value)] }),
    ];
    const { format, found } = await judge(history);
    assert.deepEqual([format, found], ['timestamps', 0]);
  });

  test('of transactions that failed are judged too', async () => {
    const history = [
      line({ start: 1, commit: 2, ops: [write('x', 1)] }),
      line({ start: 3, outcome: 'fail', ops: [read('x', null)] }),
    ];
    assert.deepEqual(anomalies(await judge(history)), ['stale read']);
  });

  test('of scans are in the order of keys: numbers before texts, texts by their bytes in UTF-8', async () => {
    const keys = [2, 10, 'B', 'a', '\uffee', '\u{1f600}'];
    const rows = keys.map((key) => ({ key, value: 1 }));
    const scan = (given: object, from: number, to: number): object => ({
      scan: given,
      rows: rows.slice(from, to),
    });
    const history = [
      line({ start: 1, commit: 2, ops: keys.map((key) => ({ write: key, value: 1 })) }),
      line({
        start: 3,
        ops: [
          scan({}, 0, 6),
          scan({ from: 3, to: 'a' }, 1, 3),
          scan({ from: 'a' }, 3, 6),
          scan({ to: '\u{1f600}' }, 0, 5),
          scan({ limit: 2 }, 0, 2),
        ],
      }),
    ];
    assert.deepEqual((await judge(history)).stories, []);
    const short = line({ start: 3, ops: [scan({ limit: 3 }, 0, 2)] });
    assert.deepEqual(anomalies(await judge([history[0] ?? '', short])), ['phantom']);
  });
});
