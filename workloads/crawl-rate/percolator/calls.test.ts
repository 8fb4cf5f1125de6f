/** docs/cells.md lists the calls of the storage that a document of figure 7 takes; it does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type Bigtable, type ConditionalRowMutation, decorate, openPercolator } from '#engine';
import { createMemoryBigtable, until } from '#engine/testing';
import { createSyntheticDocuments, encodeDocument } from '../documents/index.ts';
import { clusteringObserver, createTables, documentCell, DOCUMENTS, KEYS } from './tables.ts';

/** What the issue that counted them asked for; a document of a large repository takes fewer. */
const CALLS_MAX = 9;
const DOCUMENTS_MEASURED = 500;

/** The calls for the tables of the crawl, by their part in the protocol. */
function listing(store: Bigtable): { readonly store: Bigtable; readonly calls: string[] } {
  const calls: string[] = [];
  const note = (call: string, table: string): void => {
    if (table.startsWith(DOCUMENTS) || table === KEYS) calls.push(`${call} ${table}`);
  };
  const partOf = ({ ifFound }: ConditionalRowMutation): string =>
    ifFound === undefined ? 'prewrite' : 'roll forward';
  const listed = decorate(store, {
    readRow: (table, ...given) => {
      note('read', table);
      return store.readRow(table, ...given);
    },
    readRange: (table, ...given) => {
      note('scan', table);
      return store.readRange(table, ...given);
    },
    checkAndMutateRow: (conditional) => {
      note('commit', conditional.table);
      return store.checkAndMutateRow(conditional);
    },
    checkAndMutateRows: (conditionals) => {
      const [first] = conditionals;
      if (first !== undefined) note(partOf(first), first.table);
      return store.checkAndMutateRows(conditionals);
    },
    mutateRows: (rows) => {
      const isErase = rows[0]?.mutations.every(({ kind }) => kind === 'erase') === true;
      note(isErase ? 'clear' : 'notify', rows[0]?.table ?? '');
      return store.mutateRows(rows);
    },
  });
  return { store: listed, calls };
}

/** Clusters documents one after the other; resolves with the calls of each. */
async function callsOf(count: number): Promise<readonly (readonly string[])[]> {
  const documents = createSyntheticDocuments({ repository: 100, documentBytes: 100, seed: 1 });
  const { store, calls } = listing(createMemoryBigtable());
  await using percolator = await openPercolator({ store });
  await createTables(percolator);
  await using _ = percolator.startWorker([clusteringObserver]);
  const all: string[][] = [];
  for (const document of documents.range(0, count)) {
    calls.length = 0;
    await percolator.transact(async (transaction) => {
      transaction.set(documentCell(document.id), encodeDocument(document));
    });
    await until(() => calls.some((call) => call.startsWith('clear')));
    await percolator.settled(); // The keys are rolled forward in the background.
    all.push(calls.filter((call) => !call.startsWith('scan')));
  }
  return all;
}

/** The calls that the page lists: the first two columns of its table. */
function listedCalls(): readonly string[] {
  const file = path.join(import.meta.dirname, '../../../docs/cells.md');
  const [, section = ''] = readFileSync(file, 'utf8').split('## The calls of a document\n');
  const rows = section.matchAll(/^\| \d+ +\| ([a-z ]+?) +\| `([^`]+)`/gmu);
  return [...rows].map(([, call, table]) => `${call} ${table}`);
}

test('a document whose first key is found takes the calls that docs/cells.md lists, and no other takes fewer', async () => {
  const all = await callsOf(100);
  const listed = listedCalls();
  assert.equal(listed.length, 8);
  const fewest = all.toSorted((a, b) => a.length - b.length)[0];
  assert.deepEqual(fewest, listed);
});

test(`a document takes at most ${CALLS_MAX} calls on average`, async () => {
  const all = await callsOf(DOCUMENTS_MEASURED);
  const later = all.slice(DOCUMENTS_MEASURED / 2); // The repository of the first ones is empty.
  const mean = later.flat().length / later.length;
  assert.ok(mean <= CALLS_MAX, `${mean}`);
});
