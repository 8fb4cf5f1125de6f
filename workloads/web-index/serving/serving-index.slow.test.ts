/** The serving index: exports in any order, the order of results, and texts that mean harm. */
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { cpuUsage } from 'node:process';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import fc from 'fast-check';
import { createRandom, systemClock } from '#engine/base';
import { temporaryFolder } from '#engine/testing';
import { UsageError } from '#harness';
import type { ServedPage } from '../model/index.ts';
import type { MarkedText, ServingIndex, VersionedPage } from './serving-index.ts';
import { openIndexReader, openServingIndex } from './sqlite-index.ts';

const OTHER_PROCESS = new URL('index-process.fixture.ts', import.meta.url);

function pageOf(page: Partial<ServedPage>): ServedPage {
  return {
    url: 'http://a.org/',
    title: '',
    text: '',
    language: 'en',
    anchors: [],
    duplicates: [],
    rank: 1,
    capturedMs: Date.UTC(2026, 8, 1),
    ...page,
  };
}

/** Pages to compare with: a score depends on how usual a word is. */
function otherPages(text: string): readonly Partial<ServedPage>[] {
  return Array.from({ length: 20 }, (_, i) => ({
    url: `http://a.org/x${i}`,
    title: `Page ${i}`,
    anchors: [{ text: `page ${i}`, count: 1 }],
    text: `${text} ${i}`,
  }));
}

function urlsFound(index: ServingIndex, query: string, limit = 10): readonly string[] {
  return index.search(query, { limit }).results.map(({ url }) => url);
}

/** Hits in brackets. */
function shown(text: MarkedText | undefined): string {
  return (text ?? []).map((piece) => (piece.isHit ? `[${piece.text}]` : piece.text)).join('');
}

describe('exports', () => {
  test('in any order, repeated, leave what the newest version of each URL says', async () => {
    const seed = 1;
    const random = createRandom(seed);
    await using index = await openServingIndex(temporaryFolder());
    const newest = new Map<string, { version: number; page: ServedPage | undefined }>();
    for (let i = 0; i < 400; i++) {
      const [url, version] = [`http://a.org/${random.integer(1, 20)}`, random.integer(1, 1000)];
      const change = `word${url.slice(13)} version${version}`;
      // What one version says of a URL is always the same.
      const page = version % 4 === 0 ? undefined : pageOf({ url, text: change });
      if ((newest.get(url)?.version ?? 0) < version) newest.set(url, { version, page });
      const applied = page === undefined ? index.remove(url, version) : index.put(page, version);
      if (i % 7 === 0) await applied;
    }
    await index.remove('http://a.org/never', 1);
    const expected = [...newest.values()].filter(({ page }) => page !== undefined);
    const byUrl = (a: VersionedPage, b: VersionedPage): number =>
      a.page.url < b.page.url ? -1 : 1;
    assert.deepEqual([...index.pages()], (expected as VersionedPage[]).toSorted(byUrl));
    assert.equal(index.count(), expected.length, `seed ${seed}`);
    for (const { page, version } of expected) {
      assert.ok(urlsFound(index, `version${version}`, 100).includes(page?.url ?? ''));
    }
    for (const { page, version } of [...newest.values()].filter((one) => one.page === undefined)) {
      assert.deepEqual(
        [page, index.search(`version${version}`, { limit: 9 }).total],
        [undefined, 0],
      );
    }
  });

  test('survive a process that is killed, from the moment they have resolved', async () => {
    const folder = temporaryFolder();
    const writer = execaNode(OTHER_PROCESS, ['write', folder], { reject: false, buffer: false });
    const resolved: string[] = [];
    for await (const line of writer.iterable()) {
      resolved.push(line);
      if (resolved.length === 40) writer.kill('SIGKILL');
    }
    assert.equal((await writer).signal, 'SIGKILL');
    assert.ok(resolved.length >= 40, `${resolved.length} exports have resolved`);
    await using index = await openServingIndex(folder);
    const held = new Set([...index.pages()].map(({ page }) => page.url));
    assert.deepEqual(
      resolved.filter((url) => !held.has(url)),
      [],
    );
    for (const url of held) assert.deepEqual(urlsFound(index, `"${url}"`), [url]);
    await index.put(pageOf({ url: 'http://a.org/after', text: 'after' }), 1);
    assert.deepEqual(urlsFound(index, 'after'), ['http://a.org/after']);
  });

  test('are visible in another process as soon as they have resolved', async () => {
    const folder = temporaryFolder();
    await using index = await openServingIndex(folder);
    const reader = execaNode(OTHER_PROCESS, ['read', folder], { ipc: true, reject: false });
    try {
      for (let n = 1; n <= 20; n++) {
        await index.put(pageOf({ text: `state${n}` }), n);
        const answered = reader.getOneMessage();
        await reader.sendMessage(`state${n}`);
        assert.equal(await answered, 1);
      }
      await reader.sendMessage('');
      assert.equal((await reader).exitCode, 0);
    } finally {
      reader.kill('SIGKILL');
      await reader;
    }
  });

  test('may come from several processes at the same time', async () => {
    const folder = temporaryFolder();
    await using index = await openServingIndex(folder);
    const writers = ['a', 'b'].map((name) =>
      execaNode(OTHER_PROCESS, ['write', folder, name, '50']),
    );
    await Promise.all(writers);
    assert.equal(index.count(), 100);
  });

  test('can be replaced by those of a rebuild, in one step', async () => {
    await using index = await openServingIndex(temporaryFolder());
    await index.put(pageOf({ url: 'http://a.org/old', text: 'old' }), 100);
    const page = pageOf({ url: 'http://a.org/new', text: 'new' });
    await index.replaceAll([{ url: page.url, page, version: 7 }]);
    assert.deepEqual([...index.pages()], [{ page, version: 7 }]);
    assert.equal(index.search('old', { limit: 1 }).total, 0);
    const wrong = { ...page, capturedMs: Number.NaN };
    const changes = [page, wrong].map((one, i) => ({ url: `${i}`, page: one, version: 8 }));
    await assert.rejects(index.replaceAll(changes), /constraint/);
    assert.deepEqual([...index.pages()], [{ page, version: 7 }]);
  });
});

describe('a search', () => {
  test('orders results by title, anchors and rank, and not by the text alone', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const filler = 'other words of another page '.repeat(10);
    const pages: readonly Partial<ServedPage>[] = [
      { url: 'http://a.org/text', text: `${filler} atomic commit` },
      { url: 'http://a.org/title', title: 'Atomic Commit', text: filler },
      { url: 'http://a.org/anchor', anchors: [{ text: 'atomic commit', count: 3 }], text: filler },
      { url: 'http://a.org/plain', title: 'Locking', text: filler },
      { url: 'http://a.org/important', title: 'Locking', text: filler, rank: 30 },
      ...otherPages(filler),
    ];
    await Promise.all(pages.map((page) => index.put(pageOf(page), 1)));
    const found = urlsFound(index, 'atomic commits');
    assert.deepEqual(
      found,
      ['title', 'anchor', 'text'].map((name) => `http://a.org/${name}`),
    );
    const byRank = ['http://a.org/important', 'http://a.org/plain'];
    assert.deepEqual(urlsFound(index, 'locking'), byRank);
  });

  test('returns the same order however often pages were exported', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const titled = Array.from({ length: 10 }, (_, i) =>
      pageOf({ url: `http://a.org/t${i}`, title: `${i < 6 ? 'atomic' : 'other'} page ${i}` }),
    );
    const others = Array.from({ length: 30 }, (_, i) =>
      pageOf({ url: `http://a.org/x${i}`, text: i === 0 ? 'atomic' : `text ${i}` }),
    );
    const pages = [...titled, ...others];
    await index.replaceAll(pages.map((page) => ({ url: page.url, page, version: 1 })));
    const once = urlsFound(index, 'atomic');
    for (let version = 2; version < 12; version++) {
      for (const page of pages) await index.put(page, version);
    }
    assert.deepEqual(urlsFound(index, 'atomic'), once);
  });

  test('counts a title or an anchor of a long page no less than that of a short one', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const long = (word: string): string => `all about ${word} and more `.repeat(2000);
    const anchors = [{ text: 'vacuum', count: 3 }];
    const pages: readonly Partial<ServedPage>[] = [
      { url: 'http://a.org/select', title: 'SELECT', text: long('select') },
      { url: 'http://a.org/syntax', title: 'Syntax: select-stmt', text: 'A bit about select' },
      { url: 'http://a.org/vacuum', anchors, text: long('vacuum') },
      { url: 'http://a.org/about', text: 'A bit about vacuum' },
      ...otherPages('a page'),
    ];
    await Promise.all(pages.map((page) => index.put(pageOf(page), 1)));
    assert.deepEqual(urlsFound(index, 'select'), ['http://a.org/select', 'http://a.org/syntax']);
    assert.deepEqual(urlsFound(index, 'vacuum'), ['http://a.org/vacuum', 'http://a.org/about']);
  });

  test('does not compare with titles and anchors that have no word', async () => {
    const folder = temporaryFolder();
    await using index = await openServingIndex(folder);
    const anchors = [{ text: '»', count: 4 }];
    await index.put(pageOf({ title: '* * *', anchors, text: 'a text' }), 1);
    await index.put(pageOf({ url: 'http://a.org/b', title: 'B', text: 'another text' }), 1);
    using database = new DatabaseSync(path.join(folder, 'index.sqlite'), { readOnly: true });
    const rows = ['words', 'titles', 'anchors'].map(
      (table) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'],
    );
    assert.deepEqual(rows, [2, 1, 0]);
    assert.equal(index.search('text', { limit: 9 }).total, 2);
  });

  test('marks what matched, in the title and in the best passage of the text', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const text = `${'Begin. '.repeat(99)} It calls sqlite3_open_v2(), then opens. ${'End. '.repeat(99)}`;
    const duplicates = ['http://b.org/'];
    const anchors = [
      { text: 'often', count: 1 },
      { text: 'more often', count: 2 },
    ];
    await index.put(pageOf({ title: 'Opening <b> Ünïcode', text, duplicates, anchors }), 1);
    const { results, total, haveAllWords } = index.search('sqlite3_open unicode', { limit: 5 });
    const [found] = results;
    assert.deepEqual([total, haveAllWords], [1, true]);
    assert.equal(shown(found?.title), 'Opening <b> [Ünïcode]');
    assert.match(shown(found?.snippet), /^….*It calls \[sqlite3_open\]_v2\(\),.*…$/);
    assert.ok(shown(found?.snippet).length < 400);
    assert.deepEqual(found?.duplicates, duplicates);
    assert.deepEqual(found?.anchors, ['more often', 'often']);
  });

  test('finds what is written without spaces between words, and marks it', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const pages = [
      ['jp', '東京都の天気予報', '明日の東京都の天気は晴れです。関西国際空港データベース'],
      ['th', 'ภาษาไทย', 'ประเทศไทยมีอากาศร้อนและฝนตกชุก'],
      ['zh', '公告', '研究生命起源的科学家，重跑gen-itgc后50条'],
    ] as const;
    for (const [name, title, text] of pages) {
      await index.put(pageOf({ url: `http://a.org/${name}`, title, text }), 1);
    }
    const found = {
      jp: ['天気', '東京都', '東京', '空港', 'データ', '天気 空港', '空港の天気', '"の天気"'],
      zh: ['生命', '科学家', 'itgc', 'gen-itgc', '50'],
      th: ['อากาศ', 'ฝนตก', 'ไทย'],
    };
    for (const [name, queries] of Object.entries(found)) {
      for (const query of queries) {
        assert.deepEqual(urlsFound(index, query), [`http://a.org/${name}`], query);
        assert.ok(index.search(query, { limit: 1 }).haveAllWords, query);
      }
    }
    for (const query of ['京東', '気天', '参政権']) {
      assert.deepEqual(urlsFound(index, query), [], query);
    }
    const [first] = index.search('天気', { limit: 1 }).results;
    assert.equal(shown(first?.title), '東京都の[天気]予報');
    assert.match(
      shown(first?.snippet),
      /^明日の東京都の\[天気\]は晴れです。関西国際空港データベース$/,
    );
    const kept = [...index.pages()].map(({ page }) => [page.title, page.text]);
    assert.deepEqual(
      kept,
      pages.map(([, title, text]) => [title, text]),
    );
  });

  test('finds pages with some of the words if no page has all, and says so', async () => {
    await using index = await openServingIndex(temporaryFolder());
    await index.put(pageOf({ text: 'apples grow here' }), 1);
    const { total, haveAllWords } = index.search('apples pears', { limit: 5 });
    assert.deepEqual([total, haveAllWords], [1, false]);
    assert.deepEqual(index.search('pears plums', { limit: 5 }).results, []);
    assert.equal(index.search('"grow apples"', { limit: 5 }).total, 0);
    assert.equal(index.search('"apples grow"', { limit: 5 }).total, 1);
  });

  test('of thousands of pages returns each of them once, page by page', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const urls = Array.from({ length: 4000 }, (_, i) => `http://a.org/${i}`);
    await Promise.all(urls.map((url) => index.put(pageOf({ url, text: 'same' }), 1)));
    const seen: string[] = [];
    for (let offset = 0; offset < 4000; offset += 1000) {
      const { total, results } = index.search('same', { limit: 1000, offset });
      assert.equal(total, 4000);
      seen.push(...results.map(({ url }) => url));
    }
    assert.deepEqual(seen.toSorted(), urls.toSorted());
    assert.deepEqual(index.search('same', { limit: 10, offset: 4000 }).results, []);
  });
});

describe('hostile', () => {
  test('queries are never an error', async () => {
    await using index = await openServingIndex(temporaryFolder());
    await index.put(pageOf({ text: 'or and not near title text' }), 1);
    const typed = [
      '',
      ' ',
      '"',
      '""""',
      'title:or OR',
      'NEAR(a b, 2)',
      '^or*',
      'or AND NOT (',
      "'; DROP TABLE words; --",
      '\0or\0',
      '{title text}: or',
      '+ - * / \\',
      '\uD800',
      '日本語 ＯＲ',
      'or '.repeat(100_000),
      'x'.repeat(1_000_000),
      Array.from({ length: 500 }, (_, i) => `w${i}`).join(' '),
    ];
    for (const query of typed) assert.ok(index.search(query, { limit: 3 }).total <= 1, query);
    assert.equal(index.search('OR AND NOT', { limit: 3 }).total, 1);
    assert.equal(index.search('title:or', { limit: 3 }).total, 0, 'a column is a word like others');
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (query) => {
        assert.ok(index.search(query, { limit: 3 }).total <= 1);
      }),
      { numRuns: 40 },
    );
  });

  test('pages are kept as they are, except for characters that no text may hold', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const text = 'a\0b \u0001\u0002forged\u0003 \uD800 <script>alert(1)</script> end';
    const page = pageOf({
      title: text,
      text,
      anchors: [{ text: '"]}\u0002', count: 1 }],
      duplicates: ['http://ü/'],
    });
    await index.put(page, 1);
    const kept = 'a\u{FFFD}b \u{FFFD}\u{FFFD}forged\u{FFFD} \u{FFFD} <script>alert(1)</script> end';
    assert.deepEqual(
      [...index.pages()],
      [{ page: { ...page, title: kept, text: kept }, version: 1 }],
    );
    const { results } = index.search('end', { limit: 1 });
    assert.equal(shown(results[0]?.snippet), kept.replace('end', '[end]'));
    assert.equal(shown(results[0]?.title), kept.replace('end', '[end]'));
  });

  test('no character is cut in two', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const astral = '\u{1F600}';
    const title = `${'x'.repeat(159)}${astral} more`;
    await index.put(pageOf({ title, text: `word ${astral.repeat(2_000)}` }), 1);
    const [found] = index.search('word', { limit: 1 }).results;
    for (const text of [shown(found?.title), shown(found?.snippet)]) {
      assert.ok(text.isWellFormed() && !text.includes('\u{FFFD}'), text.slice(-20));
    }
  });

  test('pages of a million hits, or of one word of three million letters, take a moment and give short excerpts', async () => {
    await using index = await openServingIndex(temporaryFolder());
    const big = [
      pageOf({
        url: 'http://a.org/hits',
        text: 'the a '.repeat(500_000),
        title: 'the '.repeat(1e5),
      }),
      pageOf({ url: 'http://a.org/word', text: `the ${'x'.repeat(3_000_000)} the` }),
    ];
    await Promise.all(big.map((page) => index.put(page, 1)));
    const before = cpuUsage();
    const { results } = index.search('the', { limit: 10 });
    const ms = cpuUsage(before).user / 1_000;
    assert.equal(results.length, 2);
    for (const { title, snippet } of results) {
      assert.ok(shown(title).length < 600 && shown(snippet).length < 1000);
    }
    // With FTS5's own snippets it is half an hour.
    assert.ok(ms < 10_000, `${ms} ms of the processor`);
  });
});

describe('a folder', () => {
  test('in which another process is making the index is opened once that process is done', async () => {
    const folder = temporaryFolder();
    using other = new DatabaseSync(path.join(folder, 'index.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    const opening = openServingIndex(folder);
    await systemClock.sleep(500);
    other.exec('ROLLBACK');
    await using index = await opening;
    assert.equal(index.count(), 0);
  });

  test('without an index, or with another file in its place, fails with one sentence', async () => {
    const folder = temporaryFolder();
    await assert.rejects(openIndexReader(folder), isOneSentence);
    mkdirSync(path.join(folder, 'wrong'));
    writeFileSync(
      path.join(folder, 'wrong', 'index.sqlite'),
      'not a database, but a text'.repeat(99),
    );
    await assert.rejects(openServingIndex(path.join(folder, 'wrong')), isOneSentence);
    await assert.rejects(openIndexReader(path.join(folder, 'wrong')), isOneSentence);
  });

  test('that was moved or replaced while the index is open answers no export and no search', async () => {
    for (const isReplaced of [false, true]) {
      const folder = path.join(temporaryFolder(), 'index');
      await using index = await openServingIndex(folder);
      const page = pageOf({ title: 'before' });
      await index.put(page, 1);
      renameSync(folder, `${folder}-moved`);
      if (isReplaced) await (await openServingIndex(folder))[Symbol.asyncDispose]();
      const moved = /another program moved, removed or replaced .*index\.sqlite/;
      await assert.rejects(index.put(page, 2), moved);
      assert.throws(() => urlsFound(index, 'before'), moved);
    }
  });

  test('with an index of another version is refused, and the sentence says what to do', async () => {
    const folder = temporaryFolder();
    using database = new DatabaseSync(path.join(folder, 'index.sqlite'));
    database.exec('PRAGMA user_version = 2');
    for (const open of [openServingIndex, openIndexReader]) {
      await assert.rejects(open(folder), (error) => {
        assert.ok(isOneSentence(error));
        assert.match((error as Error).message, /version 2, not 4; once the folder is removed, /);
        return true;
      });
    }
  });

  function isOneSentence(error: unknown): boolean {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /^The serving index in ".*" cannot be opened: [^.]+\.$/);
    return true;
  }
});
