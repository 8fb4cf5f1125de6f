/**
 * Several processes have one folder open: one of them owns the store and serves the others. The
 * others must not notice which one it is, nor when another one takes its place. Owners that a test
 * plays itself are in stand-in-owners.test.ts.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasCode, type PercolatorError, systemClock } from '../../../base/index.ts';
import type { Bigtable, ConditionalRowMutation, Row } from '../../bigtable.ts';
import { lockFolder, storeIn } from '../folder.ts';
import { openEmbedded } from '../index.ts';
import { openPatiently } from '../open-embedded.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { openWithTable, setRow } from '../../../testing/small-rows.ts';
import { Connection, ownerOf } from './connection.ts';
import { OtherProcess } from './other-process.fixture.ts';
import { Service } from './service.ts';
import { codeOf, FILTERS, IMPATIENT, lockRow, newStore, PATIENT } from './shared-store.fixture.ts';

test('each of two processes sees at once what the other has written', async () => {
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

test('when two processes lock the same cells at once, exactly one wins each cell', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  await using other = await OtherProcess.open(folder);
  const rows = Array.from({ length: 200 }, (_, i) => `r${i}`);
  const lockAll = (owner: string): ConditionalRowMutation[] =>
    rows.map((row) => lockRow(row, owner));
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

test('a client is told of changes, its own included', async () => {
  const folder = temporaryFolder();
  await using owner = await openWithTable(folder);
  await using client = await openEmbedded({ folder });
  for (const writer of [owner, client]) {
    const told = new Promise<boolean>((resolve) => client.onChange?.(() => resolve(true)));
    // The owner hears of the listener before it answers this read. A change before that may be told
    // or not: a client that listens, then looks, misses none.
    await client.readRow('t', 'r', FILTERS);
    await writer.mutateRows([setRow('r')]);
    assert.ok(await told);
  }
});

test('kill -9 of the owner: conditional mutations are in doubt, all else goes on with the next owner', async () => {
  const folder = await newStore();
  await using owner = await OtherProcess.open(folder);
  await using client = await openEmbedded({ folder });
  await using other = await OtherProcess.open(folder);
  await client.mutateRows([setRow('before')]);
  owner.signal('SIGSTOP'); // So that nothing of the following is answered.
  const locked = client.checkAndMutateRow(lockRow('locked', 'mine')).catch(codeOf);
  const several = client.checkAndMutateRows([lockRow('several', 'mine')]);
  const created = client.createTable('u', { families: ['f'] });
  const written = client.mutateRows([setRow('after')]);
  const read = client.readRow('t', 'before', FILTERS);
  await systemClock.sleep(20);
  owner.signal('SIGKILL');
  assert.equal(await locked, 'STORE_IN_DOUBT');
  assert.equal(codeOf((await several)[0] as PercolatorError), 'STORE_IN_DOUBT');
  await created;
  await written;
  assert.equal(textOf(await read), 'before');
  assert.equal(textOf(await other.call('readRow', 't', 'after', FILTERS)), 'after');
  // What was in doubt is settled: it was applied, or never will be.
  assert.equal(typeof (await client.checkAndMutateRow(lockRow('locked', 'mine'))), 'boolean');
});

test('an owner that closes answers or passes on every request', async () => {
  const folder = await newStore();
  const owner = await openEmbedded({ folder });
  const clients = [await openEmbedded({ folder }), await openEmbedded({ folder })];
  const sent: Promise<boolean>[] = [];
  const closed = Promise.withResolvers<void>();
  for (let i = 0; i < 400; i++) {
    for (const [j, client] of clients.entries()) {
      sent.push(client.checkAndMutateRow(lockRow(`${j} ${i}`, 'mine')));
    }
    if (i === 200) void owner.close().then(closed.resolve);
    if (i % 10 === 0) await systemClock.yield();
  }
  assert.deepEqual(new Set(await Promise.all(sent)), new Set([false]));
  await closed.promise;
  for (const client of clients) await client.close();
});

test('requests to an owner that is stopped end at their deadline, and are never applied', async () => {
  const folder = await newStore();
  await using owner = await OtherProcess.open(folder);
  await using client = await openPatiently({ folder }, IMPATIENT);
  owner.signal('SIGSTOP');
  const wrote = client.mutateRows([setRow('late')]).catch(codeOf);
  const locked = client.checkAndMutateRow(lockRow('late', 'mine')).catch(codeOf);
  const read = client.readRow('t', 'late', FILTERS).catch(codeOf);
  assert.equal(await wrote, 'STORE_IN_DOUBT');
  assert.equal(await locked, 'STORE_IN_DOUBT');
  assert.equal(await read, 'STORE_UNAVAILABLE');
  await assert.rejects(openPatiently({ folder }, IMPATIENT), {
    code: 'STORE_UNAVAILABLE',
    message: /cannot be opened: it is in use by another process, which does not answer$/,
  });
  owner.signal('SIGCONT');
  // What the owner had taken before this mutation is visible when this one has resolved.
  await untilDone(() => client.mutateRows([setRow('later')]));
  assert.equal(await owner.call('readRow', 't', 'late', FILTERS), undefined);
});

test('a client that has closed its store may end, although the owner is stopped', async () => {
  const folder = await newStore();
  await using owner = await OtherProcess.open(folder);
  await using client = await OtherProcess.open(folder);
  owner.signal('SIGSTOP');
  const giveUp = new AbortController();
  const late = systemClock.sleep(30_000, giveUp.signal).then(() => 'still there');
  const ended = client[Symbol.asyncDispose]().then(() => 'ended');
  const found = await Promise.race([ended, late]);
  giveUp.abort();
  owner.signal('SIGCONT');
  await ended;
  assert.equal(found, 'ended');
});

test('mutations of a client are applied in the order in which it sent them', async () => {
  const folder = await newStore();
  const owner = await openEmbedded({ folder });
  await using client = await openEmbedded({ folder });
  const sent: Promise<void>[] = [];
  for (let i = 0; i < 300; i++) {
    sent.push(client.mutateRows([setRow('r', String(i))]));
    if (i === 150) sent.push(owner.close());
    if (i % 7 === 0) await systemClock.yield();
  }
  await Promise.all(sent);
  assert.equal(textOf(await client.readRow('t', 'r', FILTERS)), '299');
});

test('only this user may connect, and no socket stays when the store is closed', async () => {
  const folder = join(temporaryFolder(), 'made');
  const store = await openEmbedded({ folder });
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.equal(statSync(join(storeIn(folder) ?? '', 'socket')).mode & 0o777, 0o600);
  await store.close();
  assert.ok(!readdirSync(join(folder, 'store')).some((name) => name.startsWith('socket')));
});

test('processes that differ in fsync are refused; a reader does not care', async () => {
  const folder = temporaryFolder();
  await using owner = await openWithTable(folder);
  await assert.rejects(openEmbedded({ folder, fsync: false }), {
    code: 'STORE_REFUSED',
    message: new RegExp(
      `process ${process.pid} uses it with fsync true, and this one with false: all must use the same$`,
    ),
  });
  await using reader = await openEmbedded({ folder, fsync: false, readOnly: true });
  assert.deepEqual(await reader.listTables(), await owner.listTables());
});

test('a reader sees what the owner writes, and refuses to write', async () => {
  const folder = temporaryFolder();
  await using owner = await openEmbedded({ folder });
  await using reader = await openEmbedded({ folder, readOnly: true });
  assert.deepEqual(await reader.listTables(), []);
  await owner.createTable('t', { families: ['data', 'lock'] });
  await owner.mutateRows([setRow('r')]);
  assert.equal(textOf(await reader.readRow('t', 'r', FILTERS)), 'r');
  await assert.rejects(reader.mutateRows([setRow('r')]), { code: 'READ_ONLY' });
  const [answer] = await reader.checkAndMutateRows([lockRow('r', 'reader')]);
  assert.equal(codeOf(answer as PercolatorError), 'READ_ONLY');
});

test('a reader makes no store, not even in a folder whose owner left before making one', async () => {
  const folder = temporaryFolder();
  const unlock = lockFolder(folder, { readOnly: false });
  const opening = openEmbedded({ folder, readOnly: true });
  void opening.catch(() => undefined); // It may fail while this test sleeps.
  await systemClock.sleep(50); // It finds the folder locked, and waits.
  unlock?.();
  await assert.rejects(opening, {
    code: 'STORE_REFUSED',
    message: /cannot be opened: there is no store in it$/,
  });
  assert.deepEqual(readdirSync(folder), ['lock']);
});

test('several readers share a store without an owner, and a writer waits for them', async () => {
  const folder = await newStore();
  let writer: Promise<Bigtable>;
  {
    await using one = await openEmbedded({ folder, readOnly: true });
    await using other = await openEmbedded({ folder, readOnly: true });
    assert.deepEqual(await one.listTables(), await other.listTables());
    await assert.rejects(openPatiently({ folder }, IMPATIENT), { code: 'STORE_UNAVAILABLE' });
    writer = openEmbedded({ folder });
  }
  await (await writer).close();
});

test('a process that may not own the store waits for one that owns it', async () => {
  const folder = await newStore();
  await assert.rejects(openPatiently({ folder, own: false }, IMPATIENT), {
    code: 'STORE_UNAVAILABLE',
    message: /cannot be opened: no process that owns it answers, and this one may not own it$/,
  });
  const waiting = openPatiently({ folder, own: false }, PATIENT);
  assert.equal(await ownerOf(folder), undefined);
  await using owner = await OtherProcess.open(folder);
  await using client = await waiting;
  const pid = await ownerOf(folder);
  assert.ok(pid !== undefined && pid !== process.pid);
  owner.signal('SIGKILL');
  const read = client.readRow('t', 'r', FILTERS);
  await using next = await OtherProcess.open(folder);
  assert.equal(await read, undefined);
  assert.notEqual(await ownerOf(folder), pid);
  assert.deepEqual(await next.call('readRow', 't', 'r', FILTERS), undefined);
});

test('arguments that cannot be sent fail alone', async () => {
  const folder = temporaryFolder();
  await using owner = await openWithTable(folder);
  await using client = await openEmbedded({ folder });
  const good = client.mutateRows([setRow('r')]);
  const table = 10n as unknown as string;
  await assert.rejects(client.readRow(table, 'r', FILTERS), TypeError);
  await assert.rejects(client.readRange('t', { limit: Number.NaN }, FILTERS), {
    code: 'INVALID_ARGUMENT',
  });
  await good;
  assert.equal((await client.readRange('t', { limit: Infinity }, FILTERS)).length, 1);
  assert.equal(textOf(await owner.readRow('t', 'r', FILTERS)), 'r');
});

test('an answer that cannot be sent is an error of its call, and the owner lives', async () => {
  const folder = temporaryFolder();
  const cellsOf: Readonly<Record<string, unknown>> = {
    wrong: { timestamp: 1n, value: Buffer.alloc(0) }, // JSON has no such number.
    large: { timestamp: 1, value: { length: 2 ** 52 } },
  };
  const stub = {
    readRow: async (_: string, row: string) => ({ key: row, cells: [cellsOf[row]] }),
    listTables: async () => ['t'],
  };
  const service = await serve(folder, stub);
  const times = { attachMs: 1_000, requestMs: 1_000 };
  const client = await openPatiently({ folder, own: false }, times);
  await assert.rejects(client.readRow('t', 'wrong', FILTERS), /BigInt/);
  assert.deepEqual(await client.listTables(), ['t']);
  await assert.rejects(client.readRow('t', 'large', FILTERS), { code: 'STORE_UNAVAILABLE' });
  assert.deepEqual(await client.listTables(), ['t']);
  await client.close();
  await service.close();
});

test('a read, but no mutation, may take longer than a client waits for a silent owner, as long as the owner works', async () => {
  const folder = temporaryFolder();
  const stub = {
    readRange: () => systemClock.sleep(5_000).then(() => []),
    mutateRows: () => systemClock.sleep(5_000),
  };
  const service = await serve(folder, stub);
  const times = { attachMs: 2_000, requestMs: 2_000 };
  const client = await openPatiently({ folder, own: false }, times);
  const written = client.mutateRows([setRow('r')]).catch(codeOf);
  assert.deepEqual(await client.readRange('t', { limit: 1 }, FILTERS), []);
  assert.equal(await written, 'STORE_IN_DOUBT');
  await client.close();
  await service.close();
});

test('P61: requests that are too large for one frame are refused together, and the connection goes on', async (t) => {
  const folder = temporaryFolder();
  await using _ = await openWithTable(folder);
  await using client = await openPatiently({ folder }, { attachMs: 2_000, requestMs: 2_000 });
  const opened = t.mock.method(Connection, 'open');
  const earlier = client.checkAndMutateRow(lockRow('r', 'mine')).catch(codeOf);
  await systemClock.yield(); // `earlier` is sent.
  const value = { length: 2 ** 52 } as Uint8Array;
  const mark = { kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value } as const;
  const marks = client.mutateRows([{ table: 't', row: 'm', mutations: [mark] }]).catch(codeOf);
  const commit = client.checkAndMutateRow(lockRow('r', 'theirs')).catch(codeOf);
  const told = new Promise<boolean>((resolve) => client.onChange?.(() => resolve(true)));
  assert.equal(await marks, 'STORE_UNAVAILABLE');
  assert.equal(await commit, 'STORE_UNAVAILABLE');
  assert.equal(await earlier, false);
  await client.mutateRows([setRow('s')]);
  assert.ok(await told, 'the owner has heard of the listener');
  assert.equal(opened.mock.callCount(), 0);
});

/** Serves a store that has only some methods. */
async function serve(folder: string, stub: object): Promise<Service> {
  const service = new Service(folder, stub as Bigtable, { fsync: true, store: 1 });
  await service.start();
  return service;
}

/** On a busy machine, an impatient client may give up at first. */
async function untilDone(call: () => Promise<void>): Promise<void> {
  const isDone = (): Promise<boolean> =>
    call().then(
      () => true,
      () => false,
    );
  while (!(await isDone())) await systemClock.sleep(20);
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

test('a damaged record is STORE_DAMAGED for every process, and so is a store that cannot be opened', async () => {
  const folder = temporaryFolder();
  const written = await openWithTable(folder);
  await written.mutateRows([setRow('r', 'the value')]);
  await written.close();
  const log = join(folder, 'store', '0000000001.log');
  const bytes = readFileSync(log);
  const at = bytes.indexOf('the value');
  writeFileSync(log, bytes.fill('another', at, at + 7));
  {
    await using owner = await openEmbedded({ folder });
    await using client = await openEmbedded({ folder });
    for (const store of [owner, client]) {
      const why = await store.readRow('t', 'r', FILTERS).catch((error: unknown) => error);
      assert.ok(hasCode(why, 'STORE_DAMAGED'));
      assert.match(why.message, /0000000001\.log, byte \d+: .*fsck/);
      assert.deepEqual([why.damagedRow?.table, why.damagedRow?.row], ['t', 'r']);
    }
  }
  rmSync(log);
  await assert.rejects(openEmbedded({ folder }), {
    code: 'STORE_DAMAGED',
    message: /^the embedded store in .* cannot be opened: the embedded store is damaged: /,
  });
});
