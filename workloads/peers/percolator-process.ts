/**
 * Our engine as a program of bench:peers (program.ts): the crawl of figure 7 in one process, with
 * its observer, and transactions of one cell. It has its default settings, with its oracle in the
 * process; the stores in memory and in a folder are in the process, too.
 *
 * Documents are made before the first request, as the programs of the peers have read theirs.
 */
import { writeFile } from 'node:fs/promises';
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { type Bigtable, openStore, type StoreAddress } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { type Crawl, loadCrawl, openCrawl } from '../crawl-rate/clustering-loop.ts';
import {
  createSyntheticDocuments,
  documentId,
  type SyntheticDocuments,
  type SyntheticOptions,
} from '../crawl-rate/documents/index.ts';
import { readPartition } from '../crawl-rate/percolator/tables.ts';
import { timedLoop } from '../harness/load/loops.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import type { Answer } from './program.ts';

export interface ProcessOptions {
  readonly store: StoreAddress | 'memory';
  readonly documents: SyntheticOptions;
  /** Documents that are made, those of the repository included. */
  readonly total: number;
  /** Runs of the observer at the same time. */
  readonly concurrency: number;
}

const CELLS = 'cells';
const CELL_VALUE = Buffer.alloc(100, 'a');
const LOADED_TOGETHER = 500;
const NOTHING: Answer = { done: 0, seconds: 0 };
const { signal } = new AbortController(); // Its parent kills it.

class Program {
  readonly #documents: SyntheticDocuments;
  readonly #concurrency: number;
  readonly #store: Bigtable;
  #crawl: Crawl | undefined;
  #cells = 0;

  constructor(store: Bigtable, { documents, total, concurrency }: ProcessOptions) {
    this.#store = store;
    this.#documents = premade(createSyntheticDocuments(documents), total);
    this.#concurrency = concurrency;
  }

  async answer(request: string): Promise<Answer> {
    const [verb, first = '', second, third] = request.split(' ');
    const [count, callers] = [Number(first), Number(first)];
    const seconds = Number(third ?? second);
    if (verb === 'load') return this.#load();
    if (verb === 'crawl') {
      return this.#open.run({ count, concurrency: Number(second), seconds, signal });
    }
    if (verb === 'arrive') return this.#arrive(count, Number(second));
    if (verb === 'partition') return this.#write(first);
    if (verb === 'cells') return this.#loadCells(count);
    const loop = { concurrency: callers, seconds, signal };
    if (verb === 'read') return timedLoop(this.#read, loop);
    if (verb === 'write') return timedLoop(this.#writeCell, loop);
    throw new Error(`unknown request: ${request}`);
  }

  get #open(): Crawl {
    if (this.#crawl === undefined) throw new Error('nothing is loaded');
    return this.#crawl;
  }

  async #load(): Promise<Answer> {
    // What the system of an earlier turn has left in a shared storage.
    for (const table of await this.#store.listTables()) await this.#store.dropTable(table);
    await loadCrawl(this.#store, this.#documents);
    this.#crawl = await openCrawl(this.#store, {
      settings: { batching: 'off', prefetch: 'off' },
      documents: this.#documents,
      scanners: 1,
      concurrency: this.#concurrency,
    });
    return NOTHING;
  }

  async #arrive(count: number, perSecond: number): Promise<Answer> {
    const startedMs = monotonicMs();
    const one = async (dueMs: number): Promise<number> => {
      await this.#open.run({ concurrency: 1, count: 1, signal });
      return (monotonicMs() - dueMs) * 1_000;
    };
    const all: Promise<number>[] = [];
    for (let i = 0; i < count; i++) {
      const dueMs = startedMs + (i * 1_000) / perSecond;
      const waitMs = dueMs - monotonicMs();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      all.push(one(dueMs));
    }
    const latenciesUs = await Promise.all(all);
    return { done: count, seconds: (monotonicMs() - startedMs) / 1_000, latenciesUs };
  }

  async #write(file: string): Promise<Answer> {
    const order = await this.#open.finish();
    const partition = await readPartition(this.#open.percolator);
    const repository = Array.from({ length: this.#documents.repository }, (_, n) => n);
    const line = (n: number): string => `${documentId(n)}\t${partition.get(documentId(n))}\n`;
    await writeFile(file, [...repository, ...order].map(line).join(''));
    return NOTHING;
  }

  async #loadCells(count: number): Promise<Answer> {
    const { percolator } = this.#open;
    await percolator.createTable(CELLS);
    this.#cells = count;
    for (let first = 0; first < count; first += LOADED_TOGETHER) {
      await percolator.transact(async (transaction) => {
        const end = Math.min(count, first + LOADED_TOGETHER);
        for (let n = first; n < end; n++) transaction.set(cellOf(n), CELL_VALUE);
      });
    }
    return NOTHING;
  }

  readonly #read = async (): Promise<void> => {
    await using snapshot = await this.#open.percolator.snapshot();
    const value = await snapshot.get(this.#anyCell());
    if (value?.length === CELL_VALUE.length) return;
    throw new Error('a read gave another value than the one written');
  };

  readonly #writeCell = async (): Promise<void> => {
    const cell = this.#anyCell();
    await this.#open.percolator.transact(async (transaction) => transaction.set(cell, CELL_VALUE));
  };

  #anyCell() {
    return cellOf(Math.floor(Math.random() * this.#cells));
  }
}

function cellOf(n: number) {
  return { table: CELLS, row: documentId(n), column: 'value' };
}

function premade(documents: SyntheticDocuments, total: number): SyntheticDocuments {
  const all = [...documents.range(0, total)];
  const documentOf: SyntheticDocuments['documentOf'] = (n) => {
    const document = all[n];
    if (document === undefined) throw new Error(`there are only ${total} documents`);
    return document;
  };
  return { ...documents, documentOf };
}

const options = JSON.parse(process.argv[2] ?? '') as ProcessOptions;
const { store } = options;
const opened = store === 'memory' ? createMemoryBigtable() : await openStore(store);
const program = new Program(opened, options);
for await (const request of createInterface({ input: process.stdin })) {
  const { done, seconds, latenciesUs } = await program.answer(request);
  process.stdout.write(`${JSON.stringify({ done, seconds, latenciesUs })}\n`);
}
process.exit(0);
