/**
 * Several processes on one folder: each sees what another has resolved, and `kill -9` loses
 * nothing.
 */
import assert from 'node:assert/strict';
import {
  execFileSync,
  fork,
  spawn,
  spawnSync,
  type ChildProcess,
  type SpawnSyncReturns,
} from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Bigtable, ConditionalRowMutation, Row, RowMutation } from '../bigtable.ts';
import { openEmbedded } from './index.ts';
import type { Answer, Method } from './serve.fixture.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const SERVE = fileURLToPath(new URL('serve.fixture.ts', import.meta.url));
const WRITE = fileURLToPath(new URL('write.fixture.ts', import.meta.url));
const FILTERS = [{ family: 'data' }, { family: 'lock' }];

async function openWithTable(folder: string): Promise<Bigtable> {
  const store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data', 'lock'] });
  return store;
}

function setRow(row: string, text = row): RowMutation {
  const value = Buffer.from(text);
  return {
    table: 't',
    row,
    mutations: [{ kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value }],
  };
}

test('repeatedly opening a store while another process commits loses nothing', async () => {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  const rows = 30_000;
  // Without fsync the writer commits all the time.
  const program = [WRITE, folder, 'row ', String(rows), 'without-fsync'];
  const writer = spawn(process.execPath, program, { stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(writer, 'exit');
  let opened = 0;
  while (writer.exitCode === null) {
    await (await openEmbedded({ folder, fsync: false })).close();
    opened++;
  }
  assert.deepEqual(await exited, [0, null]);
  assert.ok(opened > 10, `opened only ${opened} times`);
  await using store = await openEmbedded({ folder });
  const found = await store.readRange('t', { limit: 2 * rows }, FILTERS);
  assert.equal(found.length, rows);
});

test('two threads in Node’s pool suffice for writing, and with one the store is refused', async () => {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  const writeWith = (threads: string): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, [WRITE, folder, `${threads} `, '20'], {
      env: { ...process.env, UV_THREADPOOL_SIZE: threads },
      timeout: 30_000,
      encoding: 'utf8',
    });
  assert.equal(writeWith('2').status, 0);
  for (const threads of ['1', 'many']) {
    const { status, stderr } = writeWith(threads);
    assert.equal(status, 1, stderr);
    const sentence = `UV_THREADPOOL_SIZE is ${threads}, and must be at least 2`;
    assert.ok(stderr.includes(sentence), stderr);
  }
  await using store = await openEmbedded({ folder });
  assert.equal((await store.readRange('t', { limit: 100 }, FILTERS)).length, 20);
});

const noLimit = process.platform !== 'linux' && 'only Linux enforces the limit';
test(
  'a process with a limited address space opens a store, and makes it grow',
  { skip: noLimit },
  async () => {
    const folder = temporaryFolder();
    await (await openWithTable(folder)).close();
    // 32 GiB, in KiB; half of the default map.
    const limited = 'ulimit -v 33554432 && exec "$0" "$@"';
    execFileSync('sh', ['-c', limited, process.execPath, WRITE, folder, 'row ', '2000']);
    await using store = await openEmbedded({ folder });
    const found = await store.readRange('t', { limit: 3_000 }, FILTERS);
    assert.equal(found.length, 2000);
  },
);

/** A store in another process. */
class OtherProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #nextId = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (answer: Answer) => this.#waiting.get(answer.id)?.(answer));
  }

  static async open(folder: string): Promise<OtherProcess> {
    const child = fork(SERVE, [folder], { serialization: 'advanced' });
    await once(child, 'message');
    return new OtherProcess(child);
  }

  /** The method's answer, or the code of its error. */
  async call(method: Method, ...args: unknown[]): Promise<unknown> {
    const id = this.#nextId++;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, method, args });
    });
    return answer.code ?? answer.value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}

test('each of two processes sees at once what the other has resolved', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  await using other = await OtherProcess.open(folder);
  for (let i = 0; i < 20; i++) {
    await store.mutateRows([setRow('r', `mine ${i}`)]);
    assert.equal(textOf(await other.call('readRow', 't', 'r', FILTERS)), `mine ${i}`);
    await other.call('mutateRows', [setRow('r', `theirs ${i}`)]);
    assert.equal(textOf(await store.readRow('t', 'r', FILTERS)), `theirs ${i}`);
  }
});

test('a read sees what another process resolved since a read in the same turn of the event loop', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  const before = store.readRow('t', 'r0', FILTERS);
  // Blocks this turn until another process has written, so lmdb has no chance to renew its
  // snapshot.
  execFileSync(process.execPath, [WRITE, folder, 'r', '1']);
  const after = store.readRow('t', 'r0', FILTERS);
  const scanned = store.readRange('t', { limit: 9 }, FILTERS);
  assert.equal(await before, undefined);
  assert.equal((await after)?.cells.length, 2);
  assert.equal((await scanned).length, 1);
});

test('of two processes that lock the same cells at once exactly one wins each cell', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  await using other = await OtherProcess.open(folder);
  const rows = Array.from({ length: 200 }, (_, i) => `r${i}`);
  const lockAll = (owner: string): ConditionalRowMutation[] =>
    rows.map((row) => ({
      table: 't',
      row,
      anyOf: [{ family: 'data', qualifier: 'q' }],
      ifNotFound: setRow(row, owner).mutations,
    }));
  // In small batches, so that the groups of the two processes alternate instead of one finishing
  // first.
  const mine: (boolean | Error)[] = [];
  const theirs: boolean[] = [];
  await Promise.all([
    inBatches(lockAll('mine'), async (batch) => {
      mine.push(...(await store.checkAndMutateRows(batch)));
    }),
    inBatches(lockAll('theirs'), async (batch) => {
      theirs.push(...((await other.call('checkAndMutateRows', batch)) as boolean[]));
    }),
  ]);
  for (const [i, row] of rows.entries()) {
    assert.notEqual(mine[i], theirs[i], `exactly one found ${row} unlocked`);
    const owner = textOf(await store.readRow('t', row, FILTERS));
    assert.equal(owner, mine[i] === false ? 'mine' : 'theirs');
  }
});

test('a table dropped by another process is gone for writers and for readers', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  await using other = await OtherProcess.open(folder);
  await store.mutateRows([setRow('r')]);
  await other.call('dropTable', 't');
  const { mutations } = setRow('r');
  const conditional = { table: 't', row: 'r', anyOf: FILTERS, ifNotFound: mutations };
  await assert.rejects(store.mutateRows([setRow('r')]), { code: 'TABLE_NOT_FOUND' });
  await assert.rejects(store.checkAndMutateRow(conditional), { code: 'TABLE_NOT_FOUND' });
  await assert.rejects(store.readRow('t', 'r', FILTERS), { code: 'TABLE_NOT_FOUND' });
});

test('a table dropped and recreated by another process is read and written as the new one', async () => {
  const folder = temporaryFolder();
  await using reader = await openWithTable(folder);
  await using other = await OtherProcess.open(folder);
  await reader.mutateRows([setRow('r', 'old')]);
  await other.call('dropTable', 't');
  await other.call('createTable', 't', { families: ['lock', 'data', 'more'] });
  await other.call('mutateRows', [setRow('r', 'new')]);
  assert.equal(textOf(await reader.readRow('t', 'r', FILTERS)), 'new');
  assert.equal((await reader.readRange('t', { limit: 9 }, [{ family: 'more' }])).length, 0);
  await reader.mutateRows([setRow('r', 'newer')]);
  assert.equal(textOf((await other.call('readRow', 't', 'r', FILTERS)) as Row), 'newer');
});

test('kill -9 loses no acknowledged write and leaves no half row, and the next process writes at once', async () => {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  const acknowledged: string[] = [];
  for (const [life, count] of [1, 40, 150].entries()) {
    acknowledged.push(...(await writeUntilKilled(folder, `life-${life}-`, count)));
    await using store = await openEmbedded({ folder });
    await store.mutateRows([setRow(`alive-${life}`)]);
    const rows = await store.readRange('t', { start: 'life', limit: 1_000_000 }, FILTERS);
    for (const { key, cells } of rows) {
      assert.deepEqual(
        cells.map((cell) => `${cell.family}=${Buffer.from(cell.value).toString()}`),
        [`data=${key}`, `lock=${key}`],
      );
    }
    const present = new Set(rows.map((row) => row.key));
    assert.deepEqual(
      acknowledged.filter((row) => !present.has(row)),
      [],
    );
  }
});

/** The keys that a writing process printed until it was killed, after its `count`-th. */
async function writeUntilKilled(folder: string, prefix: string, count: number): Promise<string[]> {
  const child = spawn(process.execPath, [WRITE, folder, prefix], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: string[] = [];
  for await (const row of createInterface({ input: child.stdout })) {
    acknowledged.push(row);
    if (acknowledged.length === count) child.kill('SIGKILL');
  }
  assert.ok(acknowledged.length >= count);
  return acknowledged;
}

async function inBatches<T>(
  items: readonly T[],
  use: (batch: T[]) => Promise<void>,
): Promise<void> {
  const size = 5;
  for (let i = 0; i < items.length; i += size) await use(items.slice(i, i + size));
}

function textOf(row: unknown): string | undefined {
  const cell = (row as Row | undefined)?.cells[0];
  return cell && Buffer.from(cell.value).toString();
}
