/**
 * Claims about the reader of Jepsen's histories: EDN and JSON agree, and the judge receives the
 * transactions as recorded.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parseEDNString } from 'edn-data';
import { createRandom, type Random } from '#engine/base';
import {
  judgeListAppend,
  type ListTransaction,
  toEdn,
} from '../../../verification/judges/index.ts';
import { temporaryFolder } from '#engine/testing';
import { type FileOptions, judgeFile, type Model } from '../judge-file.ts';
import type { HistoryVerdict } from '../verdict.ts';
import { type Form, readForms } from './edn-reader.ts';

const FIXTURES = path.join(import.meta.dirname, '../fixtures');
const folder = temporaryFolder();

async function judge(
  name: string,
  text: string,
  model: Model = 'snapshot-isolation',
): Promise<HistoryVerdict> {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  const { signal } = new AbortController();
  const options: FileOptions = {
    model,
    ownWritesSeen: true,
    keepMax: 1000,
    onProgress: () => {},
    signal,
  };
  return judgeFile(file, options);
}

function formsOf(text: string, isJson = false): readonly Form[] {
  return [...readForms(text, { file: 'history', isJson })].map(({ form }) => form);
}

/** The form as `edn-data` gives it, with keywords as texts. */
function plain(form: Form): unknown {
  if (typeof form === 'symbol') return form.description;
  if (form instanceof Map) {
    return Object.fromEntries([...form].map(([key, one]) => [key, plain(one)]));
  }
  return Array.isArray(form) ? form.map(plain) : form;
}

/** Jepsen's JSON of the same operations. */
function asJson(edn: string): readonly string[] {
  return formsOf(edn).map((form) =>
    JSON.stringify(form, (_, value: unknown) => {
      if (value instanceof Map) return Object.fromEntries(value as Map<string, unknown>);
      return typeof value === 'symbol' ? value.description : value;
    }),
  );
}

/**
 * Transactions that read the current list or, sometimes, an old one. Some fail, and some of the
 * failed appends are still read.
 */
function randomLists(random: Random): readonly ListTransaction[] {
  const lists: Record<string, number[]> = { a: [], b: [], c: [] };
  return Array.from({ length: 25 }, (_, i) => {
    const outcome = random.pick(['ok', 'ok', 'ok', 'ok', 'fail', 'info'] as const);
    const keys = [...new Set([random.pick(['a', 'b', 'c']), random.pick(['a', 'b', 'c'])])];
    const operations = keys.map((key) => {
      const list = lists[key] ?? [];
      if (random.fraction() < 0.5) {
        const isStale = random.fraction() < 0.1;
        const elements = isStale ? list.slice(0, -1) : [...list];
        return { kind: 'read', key, elements } as const;
      }
      if (outcome !== 'fail' || random.fraction() < 0.1) list.push(i);
      return { kind: 'append', key, elements: [i] } as const;
    });
    // Jepsen records what a transaction read only if it is known to have committed.
    const known = operations.filter(({ kind }) => outcome === 'ok' || kind === 'append');
    const beganAt = i * 2;
    const endedAt = beganAt + random.integer(1, 4);
    return { name: `${i}`, process: `${i % 5}`, outcome, beganAt, endedAt, operations: known };
  });
}

describe('a history of list append', () => {
  test('that is written as EDN and read again has the same verdict as its transactions', async () => {
    const counts = { clean: 0, violated: 0 };
    for (let seed = 1; seed <= 100; seed++) {
      const transactions = randomLists(createRandom(seed));
      const { violations } = judgeListAppend(transactions, { strict: true });
      const { found, stories, allowed } = await judge(
        'h.edn',
        toEdn(transactions),
        'strong-snapshot-isolation',
      );
      // The judge keeps 20 violations unless it is told otherwise.
      if (violations.length < 20) assert.equal(found, violations.length, `seed ${seed}`);
      const { found: all } = await judge('h.edn', toEdn(transactions), 'strong-serializable');
      assert.equal(all, found + allowed.length, `seed ${seed}`);
      assert.equal(stories.length, found);
      counts[found === 0 ? 'clean' : 'violated']++;
    }
    assert.ok(counts.clean > 5 && counts.violated > 20, JSON.stringify(counts));
  });

  test('is judged alike as lines of EDN, with tags, as one vector, as lines of JSON, and as one array', async () => {
    const histories = readdirSync(FIXTURES).filter((file) => file.endsWith('.edn'));
    assert.ok(histories.length > 0);
    for (const name of histories) {
      const edn = readFileSync(path.join(FIXTURES, name), 'utf8');
      const json = asJson(edn);
      const { stories, allowed } = await judge('h.edn', edn);
      const told = (verdict: HistoryVerdict): unknown =>
        [...verdict.stories, ...verdict.allowed].map(({ anomaly, transactions }) => [
          anomaly,
          transactions.map((one) => [one.name, one.lines]),
        ]);
      const expected = told({ stories, allowed } as HistoryVerdict);
      for (const [file, text] of [
        ['h.edn', `[${edn.trimEnd()}]`],
        ['h.edn', edn.replaceAll('{:index', '#jepsen.history.Op{:index')],
        ['h.jsonl', json.join('\n')],
        ['h.json', `[${json.join(',\n')}]`],
      ] as const) {
        assert.deepEqual(told(await judge(file, text)), expected, `${name} as ${text}`);
      }
    }
  });

  test('counts a transaction without end, or with unknown outcome, as committed if it was seen', async () => {
    const open = '{:type :invoke, :process 0, :f :txn, :value [[:append 1 1]]}\n';
    const unknown = `${open}{:type :info, :process 0, :f :txn, :value [[:append 1 1]], :error :timeout}\n`;
    const reader = '{:type :ok, :process 1, :f :txn, :value [[:r 1 [1]]]}\n';
    for (const text of [open + reader, unknown + reader]) {
      const { found, info, infoSeen } = await judge('h.edn', text);
      assert.deepEqual([found, info, infoSeen], [0, 1, 1]);
    }
    const { found, infoSeen } = await judge('h.edn', unknown + reader.replace('[1]]]', 'nil]]'));
    assert.deepEqual([found, infoSeen], [0, 0]);
  });

  test('has overlapping writers if one may still be running: without end, or with unknown outcome', async () => {
    const open = '{:type :invoke, :process 0, :f :txn, :value [[:append x 1]]}\n';
    const unknown = '{:type :info, :process 0, :f :txn, :value [[:append x 1]]}\n';
    const later =
      '{:type :invoke, :process 1, :f :txn, :value [[:append x 2]]}\n' +
      '{:type :ok, :process 1, :f :txn, :value [[:append x 2]]}\n';
    for (const text of [open + later, open + unknown + later]) {
      assert.equal((await judge('h.edn', text)).overlappingWriters, 1, text);
    }
    const ended = open + unknown.replace(':info', ':ok') + later;
    assert.equal((await judge('h.edn', ended)).overlappingWriters, 0);
  });

  test('with a lost update has it once, also where write skew is a violation', async () => {
    const edn = readFileSync(path.join(FIXTURES, 'lost-update.edn'), 'utf8');
    const withReader = `${edn}{:type :ok, :process 0, :f :txn, :value [[:r :x [1 2 3]]]}\n`;
    for (const model of ['snapshot-isolation', 'serializable'] as const) {
      for (const text of [edn, withReader]) {
        const { found, stories } = await judge('h.edn', text, model);
        const told = stories.map(({ anomaly }) => anomaly);
        assert.deepEqual([found, told], [1, ['lost update']], `${model}: ${text}`);
      }
    }
  });

  test('with a cycle that snapshot isolation allows says which writes were missed', async () => {
    const lastWords = async (text: string): Promise<string | undefined> =>
      (await judge('h.edn', text)).allowed[0]?.why.at(-1);
    const two = await lastWords(readFileSync(path.join(FIXTURES, 'write-skew.edn'), 'utf8'));
    assert.match(two ?? '', /allows it: the two that missed each other wrote different keys\.$/);
    const values = [
      '[[:r x [1]] [:r y []]]',
      '[[:r z []] [:append y 1]]',
      '[[:append z 1] [:append x 1]]',
      '[[:r y [1]] [:r z [1]]]',
    ];
    const lines = values.map((value) => `{:type :ok, :process 0, :f :txn, :value ${value}}\n`);
    assert.equal(
      await lastWords(lines.join('')),
      'One after the other they would be T0 before T1 before T2 before T0, so no serial order has this. ' +
        'Snapshot isolation allows it: T0 missed a write of T1, and T1 missed one of T2.',
    );
  });

  test('is judged without the operations of the nemesis', async () => {
    const nemesis = '{:type :info, :process :nemesis, :f :start, :value {"n1" #{"n2"}}}\n';
    const reader = '{:type :ok, :process 1, :f :txn, :value [[:r 1 nil]]}\n';
    const { transactions, found } = await judge('h.edn', nemesis + reader);
    assert.deepEqual([transactions, found], [1, 0]);
  });

  test('keeps elements beyond 2^53 apart', async () => {
    const text =
      '{:type :ok, :process 0, :f :txn, :value [[:append 1 449123456789012345] [:append 1 449123456789012346]]}\n' +
      '{:type :ok, :process 0, :f :txn, :value [[:r 1 [449123456789012345 449123456789012346]]]}\n';
    assert.equal((await judge('h.edn', text)).found, 0);
  });
});

describe('the reader of EDN', () => {
  const texts = [
    '{:type :ok, :value [[:append 5 1] [:r 6 [1 2]]], :time 12, :x/y -1.5e3}',
    '{"text" "with \\"quotes\\", \\\\ and é", :nil nil, :bool [true false], :n [0 -7 +3 2.5 1e3]}',
    '; a comment\n{:a 1 #_ {:left out} :b 2, :c [[] {} ()]}',
    '{:big 449123456789012345678N}',
  ];
  for (const text of texts) {
    test(`reads ${text.slice(0, 40).replaceAll('\n', ' ')} as another reader does`, () => {
      const other = parseEDNString(text, { mapAs: 'object', keywordAs: 'string', listAs: 'array' });
      assert.deepEqual(formsOf(text).map(plain), [other]);
    });
  }

  test('reads input that edn-data does not: several forms with their lines, NaN, whole numbers beyond 2^53', () => {
    const forms = [
      ...readForms('{:a 1}\n\n; two\n{:a ##NaN\n :b 2}\n[9007199254740993]', {
        file: '',
        isJson: false,
      }),
    ];
    assert.deepEqual(
      forms.map(({ line }) => line),
      [1, 4, 6],
    );
    assert.deepEqual(
      forms.map(({ form }) => plain(form)),
      [{ a: 1 }, { a: 'NaN', b: 2 }, [9_007_199_254_740_993n]],
    );
  });

  test('reads what Clojure prints: texts with control characters, and symbols with an apostrophe', () => {
    const raw = 'reset \u001b[31m\0\u0007\r\t\u0085\n';
    const text = `{:error "${raw}\\n \\"x\\"", :f a'b, :g "${raw}"}`;
    const expected = { error: `${raw}\n "x"`, f: "a'b", g: raw };
    assert.deepEqual(formsOf(text).map(plain), [expected]);
  });

  test('reads JSON as JSON.parse does', () => {
    const values = [
      { type: 'ok', a: [1, -2.5e-3, null, true, ''], b: { c: 'd:e,f "g"\n\\' } },
      'x',
      [[]],
    ];
    for (const value of values) {
      const [form] = formsOf(`{"value": ${JSON.stringify(value, null, 1)}}`, true);
      assert.deepEqual(plain(form ?? null), { value });
    }
  });

  for (const text of [
    '{:a',
    '{:a}',
    '[1 2',
    '"open',
    '}',
    '[1] 2',
    '{:a [1 2}',
    '#_',
    '#_{:a',
    '{} #_',
  ]) {
    test(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => formsOf(text), /^UsageError: history, line 1: /);
    });
  }

  test('finds no form in an empty text', () => {
    assert.deepEqual(formsOf(''), []);
  });
});
