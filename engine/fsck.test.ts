/**
 * The claims of the audit of a whole database:
 * which tables exist, and that it writes nothing unasked.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError, systemClock } from './base/index.ts';
import { type Bigtable, decorate } from './bigtable/index.ts';
import { openEmbedded } from './bigtable/embedded/index.ts';
import { createLeaseTable, leaseToken, writeLease } from './leases/lease-table.ts';
import type { Finding } from './audit/index.ts';
import { fsck, type FsckOptions } from './fsck.ts';
import { batchTimestamps, openAllocator } from './oracle/index.ts';
import { openPercolator } from './percolator.ts';
import { createMemoryBigtable, temporaryFolder } from './testing/index.ts';
import { lockOf, plantLease, summaryOf } from './testing/planting.ts';
import { placeOf, NOTIFY_FAMILIES, TABLE_FAMILIES } from './transaction/index.ts';

const liveness = { self: 'auditor', isDead: (token: string) => token.startsWith('dead') };

/** A database of two tables, `accounts` with an observed column. */
async function fill(store: Bigtable): Promise<void> {
  await using percolator = await openPercolator({ store });
  await percolator.createTable('accounts', { observedColumns: ['balance'] });
  await percolator.createTable('log');
  await percolator.transact(async (transaction) => {
    transaction.set({ table: 'accounts', row: 'Bob', column: 'balance' }, '3');
    transaction.set({ table: 'log', row: '1', column: 'line' }, 'Bob has $3');
  });
  await percolator.settled();
}

async function filled(): Promise<Bigtable> {
  const store = createMemoryBigtable();
  await fill(store);
  return store;
}

async function findings(store: Bigtable, options: FsckOptions = {}): Promise<readonly Finding[]> {
  return Array.fromAsync(await fsck(store, { liveness, ...options }));
}

async function summaries(store: Bigtable, options?: FsckOptions): Promise<readonly string[]> {
  return (await findings(store, options)).map(summaryOf);
}

async function plantLock(store: Bigtable, owner: string): Promise<void> {
  const value = Buffer.from(lockOf('accounts/Ann:rating', owner));
  const lock = { ...placeOf('lock', 'rating'), timestamp: 3, value };
  await store.mutateRows([
    { table: 'accounts', row: 'Ann', mutations: [{ kind: 'set', ...lock }] },
  ]);
}

test('a database in order has no findings, and all of it was read', async () => {
  const store = await filled();
  const audit = await fsck(store);
  assert.deepEqual(await Array.fromAsync(audit), []);
  assert.deepEqual(audit.counters, { tables: 2, rows: 2, cells: 5 });
});

test('only the tables asked for are audited, and one that does not exist is refused', async () => {
  const store = await filled();
  await plantLock(store, 'dead');
  assert.deepEqual(await summaries(store, { tables: ['log'] }), []);
  assert.equal((await summaries(store, { tables: ['log', 'accounts'] })).length, 1);
  await assert.rejects(fsck(store, { tables: ['lgo'] }), {
    code: 'TABLE_NOT_FOUND',
    message: /lgo/,
  });
});

test('tables of other programs are ignored', async () => {
  const store = await filled();
  await store.createTable('foreign', { families: ['foreign'] });
  assert.deepEqual(await summaries(store), []);
});

for (const code of ['TABLE_MISMATCH', 'STORE_REFUSED'] as const) {
  test(`a table of another program that the storage refuses with ${code} is ignored`, async () => {
    const store = await filled();
    await store.createTable('foreign', { families: ['foreign'] });
    const readRange: Bigtable['readRange'] = async (table, ...given) => {
      if (table === 'foreign') throw new PercolatorError(code, 'it is not yours');
      return store.readRange(table, ...given);
    };
    assert.deepEqual(await summaries(decorate(store, { readRange })), []);
  });
}

test('a table of another program with the name of a dropped one is ignored', async () => {
  const store = await filled();
  await drop(store, 'all');
  await store.createTable('log', { families: ['foreign'] });
  assert.deepEqual(await summaries(store, { repair: true }), []);
  assert.ok((await store.listTables()).includes('log'));
});

test('what remained of a dropped table is not dropped if another program has replaced it', async () => {
  const store = await filled();
  await drop(store, 'all');
  await store.createTable('log', { families: TABLE_FAMILIES });
  const audit = await fsck(store, { liveness, repair: true });
  await store.dropTable('log');
  await store.createTable('log', { families: ['foreign'] });
  const [finding] = await Array.fromAsync(audit);
  assert.equal(finding?.code, 'table-left-over');
  assert.equal(finding.repair?.done, false);
  assert.ok((await store.listTables()).includes('log'));
});

test('a defined table must exist, and so must the engine’s own', async () => {
  const store = await filled();
  await store.dropTable('log');
  assert.deepEqual(await summaries(store), ['error table-missing log @']);
  await store.dropTable('percolator-tables');
  assert.deepEqual(await summaries(store), [
    'error engine-table-missing percolator-tables @',
    'error table-undefined accounts @',
  ]);
});

test('without its oracle, a database is audited, and nothing is repaired or created', async () => {
  const store = await filled();
  await plantLock(store, 'dead');
  await store.dropTable('timestamp-oracle');
  const expected = [
    'error engine-table-missing timestamp-oracle @',
    'warning lock-left-by-dead Ann:rating @ 3',
  ];
  assert.deepEqual(await summaries(store, { repair: true }), expected);
  assert.deepEqual(await summaries(store), expected);
});

test('a database that is being opened for the first time lacks no table', async () => {
  const store = createMemoryBigtable();
  const listed = Promise.withResolvers<void>();
  const createTable: Bigtable['createTable'] = async (table, schema) => {
    if (table === 'timestamp-oracle') await listed.promise;
    return store.createTable(table, schema);
  };
  const opening = openPercolator({ store: decorate(store, { createTable }) });
  const listTables = async (): Promise<readonly string[]> => {
    const tables = await store.listTables();
    listed.resolve();
    await opening;
    return tables;
  };
  assert.deepEqual(await summaries(decorate(store, { listTables })), []);
});

/** Drops the table `log` as another process would: wholly, or as far as its companion. */
async function drop(store: Bigtable, part: 'all' | 'companion'): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const dropTable = (table: string): Promise<void> => {
    if (part === 'all' || table === 'log.notify') return store.dropTable(table);
    reached.resolve();
    return new Promise(() => {});
  };
  const percolator = await openPercolator({ store: decorate(store, { dropTable }) });
  await Promise.race([percolator.dropTable('log'), reached.promise]);
}

/** The store; each read that an audit makes of it waits for `before` first. */
function watched(store: Bigtable, before: () => Promise<void>): Bigtable {
  const after = async <T>(look: () => Promise<T>): Promise<T> => {
    await before();
    return look();
  };
  return decorate(store, {
    listTables: () => after(() => store.listTables()),
    readRange: (...given) => after(() => store.readRange(...given)),
    readRow: (...given) => after(() => store.readRow(...given)),
  });
}

for (const part of ['all', 'companion'] as const) {
  test(`a table that is dropped during the audit (${part}) is at most an unfinished one, at whichever call`, async () => {
    let calls = Infinity; // Of the last round. Round `at` drops the table before call `at`.
    for (let at = 1; at <= calls; at++) {
      const store = await filled();
      // A lock in `accounts`, whose primary is read; and in `log` a record that cannot be decoded,
      // whose row is read again.
      await plantLock(store, 'dead');
      const set = { kind: 'set', timestamp: 3, value: Buffer.from('oops') } as const;
      const strange = [{ ...set, ...placeOf('write', 'c') }];
      await store.mutateRows([{ table: 'log', row: '1', mutations: strange }]);
      calls = 0;
      const counting = watched(store, async () => {
        if (++calls === at) await drop(store, part);
      });
      const found = (await summaries(counting)).filter(
        (one) => !one.includes('1:c @ 3') && one !== 'warning table-unfinished log @',
      );
      assert.deepEqual(found, ['warning lock-left-by-dead Ann:rating @ 3'], `before call ${at}`);
    }
    assert.ok(calls > 10, `${calls} calls`);
  });
}

test('a table without a definition is an error if it has cells, and a warning if it is empty', async () => {
  const store = await filled();
  await store.createTable('half', { families: TABLE_FAMILIES });
  assert.deepEqual(await summaries(store), [
    'warning table-undefined half @',
    'error companion-missing half @',
  ]);
  const data = { ...placeOf('data', 'c'), timestamp: 3, value: Buffer.from('') };
  const mutations = [{ kind: 'set', ...data } as const];
  await store.mutateRows([{ table: 'half', row: 'Ann', mutations }]);
  assert.deepEqual(await summaries(store), [
    'error table-undefined half @',
    'error companion-missing half @',
    'error data-without-record Ann:c @ 3',
  ]);
});

test('a table without a definition that is dropped during the audit does not end it, at whichever call', async () => {
  let calls = Infinity;
  for (let at = 1; at <= calls; at++) {
    const store = await filled();
    await store.createTable('half', { families: TABLE_FAMILIES });
    const data = { ...placeOf('data', 'c'), timestamp: 3, value: Buffer.from('') };
    const mutations = [{ kind: 'set', ...data } as const];
    await store.mutateRows([{ table: 'half', row: 'Ann', mutations }]);
    calls = 0;
    const counting = watched(store, async () => {
      if (++calls === at) await store.dropTable('half');
    });
    const ofOthers = (await findings(counting)).filter(({ cell }) => cell.table !== 'half');
    assert.deepEqual(ofOthers, [], `before call ${at}`);
  }
  assert.ok(calls > 10, `${calls} calls`);
});

test('an empty table without a definition is left to an operator', async () => {
  const store = await filled();
  await store.createTable('half', { families: TABLE_FAMILIES });
  const [finding] = await findings(store, { repair: true });
  assert.equal(finding?.code, 'table-undefined');
  assert.deepEqual(finding.repair, { done: false, note: 'an operator has to look at it' });
});

test('a table that is half made, or half dropped, is one warning', async () => {
  const store = await filled();
  await drop(store, 'companion');
  assert.deepEqual(await summaries(store), ['warning table-unfinished log @']);
  assert.equal((await summaries(store, { tables: ['log'] })).length, 1);
  const reached = Promise.withResolvers<void>();
  const createTable: Bigtable['createTable'] = async (table, schema) => {
    if (table !== 'half.notify') return store.createTable(table, schema);
    reached.resolve();
    return new Promise(() => {});
  };
  const percolator = await openPercolator({ store: decorate(store, { createTable }) });
  await Promise.race([percolator.createTable('half'), reached.promise]);
  assert.deepEqual(await summaries(store, { tables: ['half'] }), [
    'warning table-unfinished half @',
  ]);
});

test('a lock whose primary was in a table with a damaged definition does not end the audit', async () => {
  const store = await filled();
  const value = Buffer.from(lockOf('log/1:line', 'dead'));
  const set = { kind: 'set', ...placeOf('lock', 'rating'), timestamp: 3, value } as const;
  await store.mutateRows([{ table: 'accounts', row: 'Ann', mutations: [set] }]);
  await damage(store, 'log', '{');
  await store.dropTable('log');
  assert.deepEqual(await summaries(store), [
    'error table-undefined log @',
    'error table-missing log @',
    'error lock-primary-absent Ann:rating @ 3',
  ]);
});

for (const primary of ['foreign/x', 'foreign/']) {
  test(`a lock whose primary, ${primary}, is in a table of another program is left to an operator`, async () => {
    const store = await filled();
    await store.createTable('foreign', { families: ['foreign'] });
    const value = Buffer.from(lockOf(primary, 'dead'));
    const set = { kind: 'set', ...placeOf('lock', 'rating'), timestamp: 3, value } as const;
    await store.mutateRows([{ table: 'accounts', row: 'Ann', mutations: [set] }]);
    const found = await findings(store, { repair: true });
    assert.deepEqual(found.map(summaryOf), ['error lock-primary-absent Ann:rating @ 3']);
    assert.match(found[0]?.sentence ?? '', /; its primary foreign\/.* cannot be read: /);
    assert.deepEqual(found[0]?.repair, { done: false, note: 'an operator has to look at it' });
  });
}

test('a table without a legible definition is neither created nor dropped, and a finding says what to mend', async () => {
  const store = await filled();
  await damage(store, 'log', '{');
  await using percolator = await openPercolator({ store });
  const refused = { code: 'TABLE_MISMATCH' };
  await assert.rejects(percolator.createTable('log'), refused);
  await assert.rejects(percolator.dropTable('log'), refused);
  const [finding] = await findings(store);
  const advice =
    /erase column table:definition of its row in percolator-tables in the storage, and create the table again: its rows stay/;
  assert.match(finding?.sentence ?? '', advice);
  // The advice, followed:
  const rows = await store.readRange('log', { limit: 10 }, [{ family: 'cells' }]);
  const erase = { kind: 'erase', family: 'table', qualifier: 'definition', from: 0 } as const;
  const mutations = [{ ...erase, to: Number.MAX_SAFE_INTEGER }];
  await store.mutateRows([{ table: 'percolator-tables', row: 'log', mutations }]);
  await percolator.createTable('log');
  assert.deepEqual(await findings(store), []);
  assert.ok(rows.length > 0);
  assert.deepEqual(await store.readRange('log', { limit: 10 }, [{ family: 'cells' }]), rows);
});

async function damage(store: Bigtable, table: string, definition: string): Promise<void> {
  const value = Buffer.from(definition);
  const cell = { family: 'table', qualifier: 'definition', timestamp: 1_000_000, value };
  const mutations = [{ kind: 'set', ...cell } as const];
  await store.mutateRows([{ table: 'percolator-tables', row: table, mutations }]);
}

for (const definition of ['{', '{"observedColumns":3}', '{"observedColumns":[3]}', '{}', 'null']) {
  test(`a definition that says ${definition} is not legible`, async () => {
    const store = await filled();
    await damage(store, 'log', definition);
    assert.deepEqual(await summaries(store), ['error table-undefined log @']);
  });
}

test('the table of a definition that is not legible is audited, even if it was created again', async () => {
  const store = await filled();
  await drop(store, 'all');
  await using percolator = await openPercolator({ store });
  await percolator.createTable('log');
  await damage(store, 'log', '{');
  assert.deepEqual(await summaries(store), ['error table-undefined log @']);
  const [illegible] = await findings(store);
  assert.match(illegible?.sentence ?? '', /restore its row in percolator-tables from a backup/);
  const set = { kind: 'set', timestamp: 3, value: Buffer.from('oops') } as const;
  const mutations = [{ ...set, ...placeOf('write', 'c') }];
  await store.mutateRows([{ table: 'log.i2', row: '1', mutations }]);
  assert.deepEqual(await summaries(store), [
    'error table-undefined log @',
    'error record-undecodable 1:c @ 3',
  ]);
});

for (const damaged of ['{', '{}', 'null']) {
  test(`a lease that says ${damaged} is found, and does not end the audit`, async () => {
    const store = await filled();
    await plantLock(store, 'dead');
    await plantLease(store, 'living one#5', damaged);
    assert.deepEqual(await summaries(store), [
      'error lease-undecodable living one#5 @',
      'warning lock-left-by-dead Ann:rating @ 3',
    ]);
  });
}

test('the lease of a process that is dead is listed, with what it keeps', async () => {
  const store = await filled();
  await createLeaseTable(store);
  for (const process of ['dead one', 'living one']) {
    const token = leaseToken(process, 5);
    await writeLease(store, { token, bound: 17, counter: 1, ttlMs: 30_000 });
  }
  assert.deepEqual(await summaries(store), ['warning lease-left-by-dead dead one#5 @ 17']);
});

test('a read-only store is audited while another process may write to it', async () => {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await fill(store);
  await using reading = await openEmbedded({ folder, readOnly: true });
  assert.deepEqual(await summaries(reading), []);
  await plantLock(store, 'dead');
  assert.deepEqual(await summaries(reading), ['warning lock-left-by-dead Ann:rating @ 3']);
});

test('a repair says for each finding what was done, and transactions go on with larger timestamps', async () => {
  const store = await filled();
  await plantLock(store, 'dead');
  const [finding] = await findings(store, { repair: true });
  assert.deepEqual(finding?.repair, { done: true, note: 'rolled back' });
  assert.deepEqual(await summaries(store), []);
  await fill(store); // With timestamps that were used before, an audit would find overlaps.
  assert.deepEqual(await summaries(store), []);
});

test('P57: a notification that was lost before any observer ran is found, and repaired: the observer runs', async () => {
  const store = await filled();
  await store.dropTable('accounts.notify'); // All notifications go with it.
  await store.createTable('accounts.notify', { families: NOTIFY_FAMILIES });
  const [finding] = await findings(store);
  assert.equal(finding?.code, 'notification-lost');
  const lost = /^changed at \d+, not seen by any observer, and neither notified nor parked$/;
  assert.match(finding.sentence, lost);
  await using percolator = await openPercolator({ store });
  const saw: string[] = [];
  await using worker = percolator.startWorker([
    {
      name: 'late',
      table: 'accounts',
      column: 'balance',
      run: async (_, { row }) => void saw.push(row),
    },
  ]);
  await worker.idle();
  assert.deepEqual(saw, []);
  await findings(store, { repair: true });
  await worker.idle();
  assert.deepEqual(saw, ['Bob']);
  assert.deepEqual(await summaries(store), []);
});

test('repairs take no timestamp of another database, whose oracle was named by mistake', async () => {
  const store = await filled();
  await plantLock(store, 'dead');
  const oracle = batchTimestamps(await openAllocator(await filled(), { clock: systemClock }));
  const repairing = findings(store, { repair: true, oracle });
  await assert.rejects(repairing, { code: 'WRONG_DATABASE' });
  assert.ok((await summaries(store)).length > 0, 'the lock is still there');
});
