/**
 * Chance instead of scripts: processes write two tables in one transaction, drop one of them and
 * create it again, over a storage that delays requests and answers, and loses some of the answers.
 * Each seed is a run.
 *
 * Every writer sets a row of `t` and of `u` to the same value, and `u` is never dropped. So a
 * snapshot that sees `t` sees the same value in both, or none in `t` if `t` was created after the
 * value was committed, or if no writer has reported when that was. At the end of every run, each
 * row of `u` has the last of the values that were reported as committed, or a value whose outcome
 * its writer was not told; and no value that was reported as failed was ever read.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, isRetryable, PercolatorError, type Random } from '../base/index.ts';
import { answersTo } from '../bigtable/decorate.ts';
import { type Bigtable, decorate, type Timestamp } from '../bigtable/index.ts';
import { batchTimestamps, openAllocator, withNext } from '../oracle/index.ts';
import { openPercolator, type Percolator } from '../percolator.ts';
import { createMemoryBigtable, VirtualClock } from '../testing/index.ts';
import { readDefinition } from './definition.ts';

const SEEDS = Number(process.env['SEEDS'] ?? 25);
const FIRST = Number(process.env['FIRST'] ?? 1);
const WRITERS = 3;
const OPERATIONS = 24;
const ROWS = 3;

describe('tables that are created and dropped while they are written', () => {
  let committed = 0;
  let read = 0;
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    test(`seed ${seed}`, async () => {
      const run = new InterleavedRun(seed);
      await run.clock.runUntil(run.all());
      assert.deepEqual(run.wrong, []);
      committed += run.committedCount;
      read += run.readCount;
    });
  }

  test('the seeds together commit and read values', { skip: SEEDS < 25 }, () => {
    assert.ok(committed > 100 && read > 50, `${committed} committed, ${read} read`);
  });
});

class InterleavedRun {
  readonly clock: VirtualClock = new VirtualClock();
  readonly wrong: string[] = [];
  readonly #random: Random;
  readonly #store: Bigtable = createMemoryBigtable();
  /** Values that were reported as committed, by their commit timestamps. */
  readonly #committed = new Map<string, { readonly row: string; readonly at: Timestamp }>();
  readonly #failed = new Set<string>();
  readonly #read = new Set<string>();
  #isTroubled = true;

  constructor(seed: number) {
    this.#random = createRandom(seed);
  }

  get committedCount(): number {
    return this.#committed.size;
  }

  get readCount(): number {
    return this.#read.size;
  }

  async all(): Promise<void> {
    this.#isTroubled = false;
    const founder = await this.#open('founder');
    await founder.createTable('u');
    await founder.createTable('t');
    this.#isTroubled = true;
    const writers = Array.from({ length: WRITERS }, (_, i) => `writer ${i}`);
    const names = [...writers, 'administrator', 'another'];
    await Promise.all(names.map((name) => this.#process(name, writers.includes(name))));
    this.#isTroubled = false;
    await this.clock.sleep(200_000); // Late messages have arrived.
    const last = await this.#open('last');
    await last.createTable('t');
    for (let row = 1; row <= ROWS; row++) {
      await this.#check(last, String(row));
      await this.#checkLast(last, String(row));
    }
  }

  async #process(name: string, writes: boolean): Promise<void> {
    const random = this.#random.fork(name);
    const percolator = await this.#open(name);
    for (let i = 0; i < OPERATIONS; i++) {
      try {
        if (writes) await this.#use(percolator, `${name}.${i}`, random);
        else await this.#administer(percolator, random);
      } catch (error) {
        if (!(error instanceof PercolatorError)) throw error;
      }
      await this.clock.sleep(random.integer(0, writes ? 20 : 300));
    }
  }

  async #use(percolator: Percolator, value: string, random: Random): Promise<void> {
    const row = String(random.integer(1, ROWS));
    if (random.fraction() < 0.3) await this.#check(percolator, row);
    else await this.#write(percolator, value, row, random.fraction() < 0.5);
  }

  async #administer(percolator: Percolator, random: Random): Promise<void> {
    if (random.fraction() < 0.5) await percolator.dropTable('t');
    await percolator.createTable('t');
  }

  async #write(
    percolator: Percolator,
    value: string,
    row: string,
    isPrimaryDropped: boolean,
  ): Promise<void> {
    const transaction = await percolator.begin();
    for (const table of isPrimaryDropped ? ['t', 'u'] : ['u', 't']) {
      transaction.set({ table, row, column: 'c' }, value);
    }
    try {
      const at = await transaction.commit();
      this.#committed.set(value, { row, at });
    } catch (error) {
      const isCertain = error instanceof PercolatorError && error.code !== 'COMMIT_UNKNOWN';
      if (isCertain && (isRetryable(error) || error.code === 'TABLE_NOT_FOUND')) {
        this.#failed.add(value);
      }
      throw error;
    }
  }

  async #check(percolator: Percolator, row: string): Promise<void> {
    await using snapshot = await percolator.snapshot();
    const inU = (await snapshot.get({ table: 'u', row, column: 'c' }))?.toString();
    if (inU !== undefined) this.#read.add(inU);
    const inT = (await snapshot.get({ table: 't', row, column: 'c' }))?.toString();
    if (inT === inU) return;
    const at = inU === undefined ? undefined : this.#committed.get(inU)?.at;
    const definition = await readDefinition(this.#store, 't');
    const isLater = definition !== undefined && at !== undefined && definition.createdAt > at;
    const isUnknown = inU !== undefined && at === undefined;
    if (inT === undefined && (isLater || isUnknown)) return;
    this.wrong.push(`${snapshot.startTimestamp} sees ${inT} in t and ${inU} (${at}) in u`);
  }

  async #checkLast(percolator: Percolator, row: string): Promise<void> {
    await using snapshot = await percolator.snapshot();
    const value = (await snapshot.get({ table: 'u', row, column: 'c' }))?.toString() ?? '';
    const ofRow = [...this.#committed].filter(([, committed]) => committed.row === row);
    const [[newest] = ['']] = ofRow.toSorted(([, a], [, b]) => b.at - a.at);
    const isUnknown = value !== '' && !this.#committed.has(value) && !this.#failed.has(value);
    if (value !== newest && !isUnknown) {
      this.wrong.push(`u/${row} has ${value}, and the last one committed is ${newest}`);
    }
    for (const one of this.#read) {
      if (this.#failed.has(one)) this.wrong.push(`${one} was read, but reported as failed`);
    }
  }

  async #open(name: string): Promise<Percolator> {
    const random = this.#random.fork(`store ${name}`);
    const store = this.#troubled(random);
    const timestamps = batchTimestamps(await openAllocator(this.#store));
    return openPercolator({
      store,
      oracle: withNext(timestamps, async () => {
        await this.#delay(random);
        const next = await timestamps.next();
        await this.#delay(random);
        return next;
      }),
      clock: this.clock,
      random: random.fork('chance'),
      liveness: { self: name, isDead: () => false },
      lockTimeToLiveMs: 1_000,
      lockWaitMsMax: 10_000,
    });
  }

  /** Mostly short; at times longer than a process waits for the first creator of a table. */
  async #delay(random: Random): Promise<void> {
    if (!this.#isTroubled) return;
    const kind = random.fraction();
    const msMax = kind < 0.002 ? 150_000 : kind < 0.08 ? 3_000 : 20;
    await this.clock.sleep(random.integer(0, msMax));
  }

  /** Delays requests and answers, and loses some of the answers. */
  #troubled(random: Random): Bigtable {
    const store = this.#store;
    const call = async <T>(method: () => Promise<T>, mutates = false): Promise<T> => {
      const isLost = this.#isTroubled && mutates && random.fraction() < 0.02;
      await this.#delay(random);
      const answer = await method();
      await this.#delay(random);
      if (isLost) throw new PercolatorError('STORE_IN_DOUBT', 'the answer was lost');
      return answer;
    };
    const checkAndMutateRow: Bigtable['checkAndMutateRow'] = (conditional) =>
      call(() => store.checkAndMutateRow(conditional), true);
    return decorate(store, {
      manifest: { ...store.manifest, ordered: false },
      checkAndMutateRow,
      checkAndMutateRows: (conditionals) => answersTo(conditionals.map(checkAndMutateRow)),
      mutateRows: (rows) => call(() => store.mutateRows(rows), true),
      readRow: (...given) => call(() => store.readRow(...given)),
      readRows: (...given) => call(() => store.readRows(...given)),
      readRange: (...given) => call(() => store.readRange(...given)),
      sampleRowKeys: (table) => call(() => store.sampleRowKeys(table)),
      createTable: (...given) => call(() => store.createTable(...given)),
      listTables: () => call(() => store.listTables()),
      dropTable: (table) => call(() => store.dropTable(table)),
      close: () => call(() => store.close()),
    });
  }
}
