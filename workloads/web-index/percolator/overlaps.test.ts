/**
 * Claims about locks and notifications of single observers. Each is a scripted order of events that
 * chance rarely brings: some observers run while others wait, or a run commits long after it has
 * read.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Observer, openPercolator, type Percolator, type Transaction } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { checkAtRest } from '../check/check.ts';
import type { Capture } from '../model/index.ts';
import { pageCapture } from '../model/warc.fixture.ts';
import { read } from '#engine/recipes';
import { createObservers, loadCapture } from './pipeline.ts';
import { CLUSTER, createTables } from './tables.ts';
import { MemoryServingIndex } from './memory-serving-index.fixture.ts';

const at = (name: string): string => `http://a.example/${name}`;
const page = (name: string, html: string): Capture => pageCapture(at(name), html);
const linkTo = (name: string): string => `<a href="/${name}">to ${name}</a>`;
const gone = (name: string): Capture => pageCapture(at(name), '', { status: 404 });

/** The pipeline's observers ask for no value before. */
const NO_CHANGE = { before: () => assert.fail('an observer asks for the value before') };

class Script {
  readonly percolator: Percolator;
  readonly #serving = new MemoryServingIndex();
  readonly #observers = createObservers(this.#serving);
  readonly #captures: Capture[] = [];

  private constructor(percolator: Percolator) {
    this.percolator = percolator;
  }

  static async open(): Promise<Script> {
    const percolator = await openPercolator({ store: createMemoryBigtable() });
    await createTables(percolator);
    return new Script(percolator);
  }

  async load(...captures: readonly Capture[]): Promise<void> {
    this.#captures.push(...captures);
    for (const capture of captures) await loadCapture(this.percolator, capture);
  }

  /** Runs all observers except those of `without`, until they have nothing left to do. */
  async run({ without = [] }: { readonly without?: readonly string[] } = {}): Promise<void> {
    const observers = this.#observers.filter(({ name }) => !without.includes(name));
    assert.equal(observers.length, this.#observers.length - without.length);
    await using worker = this.percolator.startWorker(observers);
    await worker.idle();
  }

  /** A run of one observer that has read and decided, and does not commit yet. */
  async begin(name: string, row: string): Promise<Transaction> {
    const observer = this.#observer(name);
    const transaction = await this.percolator.begin();
    await observer.run(
      transaction,
      { table: observer.table, row, column: observer.column },
      NO_CHANGE,
    );
    return transaction;
  }

  /** A worker whose runs of one observer have read and decided, and do not commit yet. */
  async startLate(name: string): Promise<{ readonly commit: () => Promise<void> }> {
    const observer = this.#observer(name);
    const decided = Promise.withResolvers<void>();
    const allowed = Promise.withResolvers<void>();
    const run: Observer['run'] = async (transaction, cell, change) => {
      await observer.run(transaction, cell, change);
      decided.resolve();
      await allowed.promise;
    };
    const worker = this.percolator.startWorker([{ ...observer, run }]);
    await decided.promise;
    const commit = async (): Promise<void> => {
      allowed.resolve();
      await worker.idle();
      await worker.stop();
    };
    return { commit };
  }

  #observer(name: string): Observer {
    const observer = this.#observers.find((one) => one.name === name);
    assert.ok(observer !== undefined);
    return observer;
  }

  findings(): Promise<readonly string[]> {
    const [captures, serving] = [this.#captures, this.#serving];
    return checkAtRest(this.percolator, { captures, serving });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.percolator.close();
  }
}

test('a collector that has seen a page cannot commit once the page is gone', async () => {
  await using script = await Script.open();
  await script.load(page('a', 'A'), page('b', 'B <a href="/a">to A</a>'));
  await script.run({ without: ['collector'] });
  const older = await script.begin('collector', at('a'));
  await script.load(gone('a'));
  await script.run({ without: ['collector'] });
  // A collector that finds neither a page nor sources of an earlier run writes nothing.
  await script.run();
  await assert.rejects(older.commit(), { code: 'WRITE_CONFLICT' });
  assert.deepEqual(await script.findings(), []);
});

test('a publisher cannot commit once a later one has found that what is served is right', async () => {
  await using script = await Script.open();
  await script.load(page('a', 'A'));
  await script.run();
  await script.load(page('b', 'B <a href="/a">to A</a>'));
  await script.run({ without: ['publisher'] });
  const older = await script.begin('publisher', at('a')); // With the text of the link.
  await script.load(gone('b'));
  await script.run({ without: ['publisher'] });
  await script.run();
  await assert.rejects(older.commit(), { code: 'WRITE_CONFLICT' });
  assert.deepEqual(await script.findings(), []);
});

/**
 * Each late observer, and the observers that wait meanwhile: the election, which must not notice
 * that the page has left its cluster, and the anchor placer, which would notify the publisher.
 */
const LATE = {
  'anchor-placer': ['election'],
  publisher: ['election', 'anchor-placer'],
} as const;
for (const [late, waiting] of Object.entries(LATE)) {
  test(`a page that is back in its cluster is looked at again by the ${late}`, async () => {
    await using script = await Script.open();
    await script.load(page('a', 'One'), page('b', 'B <a href="/a">to A</a>'));
    await script.run({ without: [late] });
    await script.load(page('a', 'Two'));
    await script.run({ without: [...new Set([...waiting, late])] });
    await script.run({ without: waiting }); // The late observer sees the page in its other cluster.
    await script.load(page('a', 'One'));
    await script.run({ without: waiting });
    await script.run();
    assert.deepEqual(await script.findings(), []);
  });
}

test('a page that joins a cluster is served no more, though its publisher came too early', async () => {
  await using script = await Script.open();
  await script.load(page('b', 'Two'), page('z', 'One'));
  await script.run();
  const left = await script.percolator.transact((reader) => read(reader, CLUSTER, at('z')));
  await script.load(page('z', 'Two'));
  await script.run({ without: ['election'] });
  await (await script.begin('election', left ?? '')).commit();
  await script.run({ without: ['election'] }); // The other cluster has not seen its new member.
  await script.run();
  assert.deepEqual(await script.findings(), []);
});

test('a page that is back before its cluster has noticed that it was away is looked at again', async () => {
  await using script = await Script.open();
  await script.load(page('a', 'One'), page('b', 'One'));
  await script.run(); // The first one of equal ranks is elected: a.
  await script.load(page('b', 'Two'));
  await script.run({ without: ['election'] });
  const joined = await script.percolator.transact((reader) => read(reader, CLUSTER, at('b')));
  await (await script.begin('election', joined ?? '')).commit();
  await script.run({ without: ['election'] }); // Page b is served.
  await script.load(page('b', 'One'));
  await script.run({ without: ['election'] });
  await script.run(); // The election finds the same members as before.
  assert.deepEqual(await script.findings(), []);
});

test('an election does not count once a rank that it has read is another', async () => {
  await using script = await Script.open();
  await script.load(page('a', 'Same'), page('b', 'Same'));
  await script.run(); // The first one of equal ranks is elected: a.
  await script.load(page('x', `X ${linkTo('b')}`));
  await script.run({ without: ['election'] });
  const election = await script.startLate('election'); // Elects b.
  await script.load(gone('x'));
  await script.run({ without: ['election'] }); // The election caller finds that page a is elected.
  await election.commit();
  await script.run();
  assert.deepEqual(await script.findings(), []);
});

for (const [what, before] of [
  ['the first election of a cluster', []],
  ['the first election with a page', [page('a', 'Same')]],
] as const) {
  test(`${what} does not count once a rank that it has read is another`, async () => {
    await using script = await Script.open();
    await script.load(...before);
    await script.run();
    await script.load(...(before.length === 0 ? [page('a', 'Same')] : []), page('b', 'Same'));
    await script.run({ without: ['election'] });
    const election = await script.startLate('election'); // Elects a.
    await script.load(page('x', `X ${linkTo('b')}`));
    await script.run({ without: ['election'] });
    await election.commit();
    await script.run();
    assert.deepEqual(await script.findings(), []);
  });
}

test('the text of a link that comes while its page is in another cluster is at the canonical page once its page is back', async () => {
  await using script = await Script.open();
  await script.load(page('a', 'One'), page('b', 'One'), page('y', `Y ${linkTo('a')}`));
  await script.run();
  await script.load(page('b', 'Two'));
  await script.run({ without: ['election'] });
  await script.load(page('x', `X ${linkTo('b')}`));
  await script.run({ without: ['election'] }); // The text goes to no page: 'Two' has no election.
  await script.load(page('b', 'One'));
  await script.run({ without: ['election'] });
  await script.run(); // The election finds the same members as before.
  assert.deepEqual(await script.findings(), []);
});

test('a page that has its old contents again before the new ones were processed is rendered', async () => {
  await using script = await Script.open();
  await script.load(page('a', 'One'));
  await script.run({ without: ['renderer'] });
  await script.load(page('a', 'Two'));
  await script.run({ without: ['document-processor'] });
  await script.load(page('a', 'One'));
  await script.run();
  assert.deepEqual(await script.findings(), []);
});

test('a page that has its old charset again before the new one was processed is rendered', async () => {
  await using script = await Script.open();
  const inCharset = (charset: string): Capture =>
    pageCapture(at('a'), 'Grüße', { contentType: `text/html; charset=${charset}` });
  await script.load(inCharset('utf-8'));
  await script.run();
  await script.load(inCharset('windows-1251'));
  // As if a stylesheet of the page had notified it.
  await (await script.begin('renderer', at('a'))).commit();
  await script.load(inCharset('utf-8'));
  await script.run();
  assert.deepEqual(await script.findings(), []);
});

test('a page that has its old contents again while its renderer finds no document of the new ones is rendered', async () => {
  await using script = await Script.open();
  await script.load(page('a', 'One'));
  await script.run({ without: ['renderer'] });
  await script.load(page('a', 'Two'));
  const renderer = await script.startLate('renderer');
  await script.load(page('a', 'One'));
  await script.run({ without: ['renderer'] });
  await renderer.commit();
  await script.run();
  assert.deepEqual(await script.findings(), []);
});

test('a renderer that has waited cannot commit once another one waits', async () => {
  await using script = await Script.open();
  const css = (text: string): Capture =>
    pageCapture(at('s.css'), text, { contentType: 'text/css' });
  const styled = '<link rel="stylesheet" href="/s.css"><p class="menu">Menu</p>One';
  await script.load(css('.menu { color: red }'), page('a', styled));
  await script.run({ without: ['renderer'] });
  await script.load(page('a', 'Two'));
  await script.run({ without: ['document-processor'] });
  await script.load(page('a', styled));
  await script.run({ without: ['renderer'] });
  const older = await script.begin('renderer', at('a')); // With the menu.
  await script.load(css('.menu { display: none }'));
  await script.run({ without: ['renderer'] });
  await script.load(page('a', 'Two'));
  await script.run({ without: ['document-processor'] });
  await assert.rejects(older.commit(), { code: 'WRITE_CONFLICT' });
  await script.load(page('a', styled));
  await script.run();
  assert.deepEqual(await script.findings(), []);
});

test('a change of links that is undone before link inversion has seen it does not change the rank that a page gives', async () => {
  await using script = await Script.open();
  await script.load(page('a', linkTo('t')), page('t', 'T'));
  await script.run();
  await script.load(page('x', `X ${linkTo('a')}`));
  await script.run({ without: ['ranker'] });
  await script.load(page('a', `${linkTo('t')} ${linkTo('u')}`));
  await script.run({ without: ['ranker', 'link-inversion'] });
  await script.run({ without: ['link-inversion'] }); // The ranker runs, because of x.
  await script.load(page('a', linkTo('t')));
  await script.run({ without: ['link-inversion'] });
  await script.run();
  assert.deepEqual(await script.findings(), []);
});
