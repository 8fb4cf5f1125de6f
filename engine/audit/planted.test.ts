/**
 * Everything that an audit can find in a table, planted by hand, one thing at a time: it is found,
 * and nothing else is. Then the database is repaired: what can be repaired is gone, and repairing
 * again changes nothing.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { type TestClient, openTestDatabase, put, type TestDatabase } from '../testing/index.ts';
import { FINDING_CODES } from './index.ts';
import { type Planted, PLANTED_NOTIFICATIONS } from '../testing/planted-notifications.ts';
import {
  erase,
  findingsOf,
  lockOf,
  plant,
  recordOf,
  summaryOf,
  TABLES,
} from '../testing/planting.ts';
import { NOTIFY_FAMILIES, TABLE_FAMILIES } from '../transaction/index.ts';

const PLANTED: readonly Planted[] = [
  {
    name: 'nothing',
    plant: async () => {},
    found: [],
  },
  // Locks.
  {
    name: 'a lock that is not JSON',
    plant: (database) => plant(database, 'lock z', 50, 'oops'),
    found: ['error lock-undecodable z:c @ 50'],
  },
  {
    name: 'a lock without an owner',
    plant: (database) => plant(database, 'lock z', 50, lockOf('z', 'x', { owner: null })),
    found: ['error lock-undecodable z:c @ 50'],
  },
  {
    name: 'a lock that touches without saying what',
    plant: (database) => plant(database, 'lock z', 50, lockOf('z', 'x', { operation: 'touch' })),
    found: ['error lock-undecodable z:c @ 50'],
  },
  {
    name: 'a second lock in one cell',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z', 'alive'));
      await plant(database, 'lock z', 60, lockOf('z', 'alive'));
    },
    found: ['error lock-overtaken z:c @ 50 60'],
  },
  {
    name: 'a record committed over a lock',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z', 'alive'));
      await plant(database, 'write z', 70, recordOf(60, 'delete'));
    },
    found: ['error lock-overtaken z:c @ 50 60 70'],
  },
  {
    name: 'a lock that remained when its transaction committed',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z', 'alive'));
      await plant(database, 'write z', 70, recordOf(50, 'delete'));
    },
    found: ['error lock-after-end z:c @ 50 70'],
  },
  {
    name: 'a lock next to its own rollback record',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z', 'alive'));
      await plant(database, 'rollback z', 50);
    },
    found: ['error lock-after-end z:c @ 50'],
  },
  {
    name: 'a lock whose primary was never locked',
    plant: (database) => plant(database, 'lock z', 50, lockOf('y', 'dead')),
    found: ['warning lock-primary-absent z:c @ 50'],
    left: [],
  },
  {
    name: 'a lock whose primary is in a row that does not exist',
    plant: (database) => plant(database, 'lock z', 50, lockOf('nowhere', 'dead')),
    found: ['warning lock-primary-absent z:c @ 50'],
    left: [],
  },
  {
    name: 'a lock whose primary is in a table that does not exist',
    plant: (database) => plant(database, 'lock z', 50, lockOf('nowhere/z', 'dead')),
    found: ['error lock-primary-absent z:c @ 50'],
  },
  {
    name: 'a lock whose primary is absent, below the horizon: its rollback record may have been collected',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('y', 'dead'));
      database.oracle.horizon = 60;
    },
    found: ['warning lock-primary-absent z:c @ 50'],
    left: ['warning rollback-below-horizon z:c @ 50'],
  },
  {
    name: 'a lock whose primary is absent, and whose owner is alive',
    plant: (database) => plant(database, 'lock z', 50, lockOf('y', 'alive')),
    found: [],
  },
  {
    name: 'a primary that says that another cell is the primary',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z:primary', 'alive'));
      await plant(database, 'lock z:primary', 50, lockOf('u/z:primary', 'alive'));
    },
    found: ['error lock-primary-mismatch z:c @ 50'],
  },
  {
    name: 'a primary that does not say in which table it is',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('y', 'alive'));
      await plant(database, 'lock y', 50, lockOf('y', 'alive', { primary: ['', 'y', 'c'] }));
    },
    found: ['error lock-undecodable y:c @ 50'],
  },
  {
    name: 'a lock whose primary has committed',
    plant: async (database) => {
      await plant(database, 'write u/z', 70, recordOf(50, 'delete'));
      await plant(database, 'lock z', 50, lockOf('u/z', 'alive'));
    },
    found: ['warning lock-left-committed z:c @ 50'],
    left: [],
  },
  {
    name: 'a lock whose primary was rolled back',
    plant: async (database) => {
      await plant(database, 'rollback u/z', 50);
      await plant(database, 'lock z', 50, lockOf('u/z', 'alive'));
    },
    found: ['warning lock-left-rolled-back z:c @ 50'],
    left: [],
  },
  {
    name: 'locks of a dead owner',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z', 'dead'));
      await plant(database, 'lock u/z', 50, lockOf('z', 'dead'));
    },
    found: ['warning lock-left-by-dead z:c @ 50', 'warning lock-left-by-dead z:c @ 50'],
    left: [],
  },
  {
    name: 'a lock held for two minutes',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z', 'alive'));
      await database.clock.runUntil(database.clock.sleep(120_000));
    },
    found: ['warning lock-long-held z:c @ 50'],
  },
  {
    name: 'a lock taken just now',
    plant: (database) => plant(database, 'lock z', 50, lockOf('z', 'alive')),
    found: [],
  },
  // Records.
  {
    name: 'a record that says neither put nor delete nor touch',
    plant: (database) => plant(database, 'write z', 70, recordOf(50, 'patch')),
    found: ['error record-undecodable z:c @ 70'],
  },
  {
    name: 'a record that begins after its end',
    plant: (database) => plant(database, 'write z', 70, recordOf(80, 'delete')),
    found: ['error record-undecodable z:c @ 70'],
  },
  {
    name: 'an acknowledgment that cannot be decoded',
    plant: (database) => plant(database, 'write z:ack_o:seen', 70, 'oops'),
    found: ['error record-undecodable z:ack_o:seen @ 70'],
  },
  {
    name: 'a put whose data is gone',
    plant: (database) => plant(database, 'write z', 70, recordOf(50)),
    found: ['error record-without-data z:c @ 50 70'],
  },
  {
    name: 'a touch of data that is gone',
    plant: (database) => plant(database, 'write z', 70, recordOf(60, 'touch 50 55')),
    found: ['error record-without-data z:c @ 60 70'],
  },
  {
    name: 'a put whose data is gone, which no snapshot reads any more',
    plant: async (database) => {
      await plant(database, 'write z', 70, recordOf(50));
      await plant(database, 'write z', 80, recordOf(75, 'delete'));
      database.oracle.horizon = 80;
    },
    found: [],
  },
  {
    name: 'the newest put below the horizon without its data',
    plant: async (database) => {
      await plant(database, 'write z', 70, recordOf(50));
      await plant(database, 'write z', 90, recordOf(85, 'delete'));
      database.oracle.horizon = 80;
    },
    found: ['error record-without-data z:c @ 50 70'],
  },
  {
    name: 'two transactions that overlap in a cell',
    plant: async (database) => {
      await plant(database, 'write z', 70, recordOf(50, 'delete'));
      await plant(database, 'write z', 80, recordOf(60, 'delete'));
    },
    found: ['error record-overlap z:c @ 60 50'],
  },
  {
    name: 'one transaction committed twice in a cell',
    plant: async (database) => {
      await plant(database, 'write z', 70, recordOf(50, 'delete'));
      await plant(database, 'write z', 80, recordOf(50, 'delete'));
    },
    found: ['error record-overlap z:c @ 50 50'],
  },
  {
    name: 'two overlapping runs of an observer',
    plant: async (database) => {
      await plant(database, 'write z:seen', 40, recordOf(30, 'delete'));
      await plant(database, 'write z:ack_o:seen', 70, recordOf(50));
      await plant(database, 'write z:ack_o:seen', 80, recordOf(60));
    },
    found: ['error record-overlap z:ack_o:seen @ 60 50'],
  },
  {
    name: 'a touch that brought an older version back',
    plant: async (database) => {
      await plant(database, 'data z', 30, 'old');
      await plant(database, 'data z', 50, 'new');
      await plant(database, 'write z', 40, recordOf(30));
      await plant(database, 'write z', 60, recordOf(50));
      await plant(database, 'write z', 80, recordOf(70, 'touch 30 40'));
    },
    found: ['error record-wrong-touch z:c @ 70 80'],
  },
  {
    name: 'a touch that overlaps a put, and so could not see it',
    plant: async (database) => {
      await plant(database, 'data z', 30, 'new');
      await plant(database, 'write z', 60, recordOf(30, 'put'));
      await plant(database, 'write z', 80, recordOf(50, 'touch 0 0'));
    },
    found: ['error record-overlap z:c @ 50 30'],
  },
  {
    name: 'a touch as it should be',
    plant: async (database) => {
      await plant(database, 'data z', 50, 'new');
      await plant(database, 'write z', 60, recordOf(50));
      await plant(database, 'write z', 80, recordOf(70, 'touch 50 60'));
    },
    found: [],
  },
  // Shared locks.
  {
    name: 'shared locks of several transactions, committed and not',
    plant: async (database) => {
      await plant(database, 'write z:ack_%read:c', 60, recordOf(40));
      await plant(database, 'write z:ack_%read:c', 70, recordOf(50));
      await plant(database, 'rollback z:ack_%read:c', 40, '');
      await plant(database, 'data z', 80, 'new');
      await plant(database, 'write z', 90, recordOf(80));
    },
    found: [],
  },
  {
    name: 'a write that overlaps a shared lock',
    plant: async (database) => {
      await plant(database, 'write z:ack_%read:c', 70, recordOf(40));
      await plant(database, 'data z', 50, 'new');
      await plant(database, 'write z', 60, recordOf(50));
    },
    found: ['error record-overlap z:ack_%read:c @ 40 50'],
  },
  {
    name: 'a write over a shared lock, which came again after its commit',
    plant: async (database) => {
      await plant(database, 'lock z:ack_%read:c', 50, lockOf('z:ack_%read:c', 'x'));
      await plant(database, 'write z:ack_%read:c', 55, recordOf(50));
      await plant(database, 'lock x', 50, lockOf('x', 'x'));
      await plant(database, 'data z', 70, 'new');
      await plant(database, 'write z', 80, recordOf(70));
    },
    found: [
      'error lock-after-end z:ack_%read:c @ 50 55',
      'error lock-overtaken z:ack_%read:c @ 50 70',
    ],
  },
  // Data.
  {
    name: 'data of no transaction',
    plant: (database) => plant(database, 'data z', 50, 'oops'),
    found: ['error data-without-record z:c @ 50'],
  },
  {
    name: 'data of no transaction, below the horizon',
    plant: async (database) => {
      await plant(database, 'data z', 50, 'oops');
      database.oracle.horizon = 60;
    },
    found: ['error data-without-record z:c @ 50'],
    left: [],
  },
  {
    name: 'data that remained when its transaction was rolled back',
    plant: async (database) => {
      await plant(database, 'data z', 50, 'oops');
      await plant(database, 'rollback z', 50);
    },
    found: ['error data-without-record z:c @ 50'],
    left: [],
  },
  {
    name: 'a record erased from under its data',
    plant: async (database, client) => {
      const committed = await client.write({ z: 'new' });
      await erase(database, 'write z', committed);
    },
    found: ['error data-without-record z:c @ 100'],
  },
  {
    name: 'data under a lock',
    plant: async (database) => {
      await plant(database, 'lock z', 50, lockOf('z', 'alive', { operation: 'put' }));
      await plant(database, 'data z', 50, 'to be');
    },
    found: [],
  },
  {
    name: 'data under a record that cannot be decoded: the record may point to the data',
    plant: async (database) => {
      await plant(database, 'data z', 50, 'whose');
      await plant(database, 'write z', 70, 'oops');
    },
    found: ['error record-undecodable z:c @ 70'],
  },
  {
    name: 'damage in a row that is also notified: found once',
    plant: async (database, client) => {
      await client.write({ 'z:seen': 'new' });
      await plant(database, 'data z', 50, 'oops');
    },
    found: ['error data-without-record z:c @ 50'],
  },
  // Rollback records.
  {
    name: 'a transaction both committed and rolled back',
    plant: async (database) => {
      await plant(database, 'rollback z', 50);
      await plant(database, 'write z', 70, recordOf(50, 'delete'));
    },
    found: ['error committed-and-rolled-back z:c @ 50 70'],
  },
  {
    name: 'a rollback record below the horizon',
    plant: async (database) => {
      await plant(database, 'rollback z', 50);
      await plant(database, 'rollback z', 60);
      database.oracle.horizon = 60;
    },
    found: ['warning rollback-below-horizon z:c @ 50'],
  },
  // Timestamps.
  {
    name: 'cells of another database, whose oracle was ahead',
    plant: async (database) => {
      await plant(database, 'data z', 1_000, 'foreign');
      await plant(database, 'write z', 1_001, recordOf(1_000));
    },
    found: ['error timestamp-ahead z:c @ 1000 1001'],
  },
  {
    name: 'a notification that is ahead of the oracle',
    plant: async (database) => {
      await plant(database, 'write z:seen', 40, recordOf(30, 'delete'));
      await plant(database, 'notify t.notify/z:seen', 1_000);
    },
    found: ['error timestamp-ahead z:seen @ 1000'],
  },
  {
    name: 'an acknowledgment that is ahead of the oracle',
    plant: async (database) => {
      await plant(database, 'write z:seen', 40, recordOf(30, 'delete'));
      await plant(database, 'write z:ack_o:seen', 1_000, recordOf(50));
    },
    found: ['error acknowledgment-ahead z:ack_o:seen @ 1000'],
  },
  ...PLANTED_NOTIFICATIONS,
  // Tables.
  {
    name: 'a table without its companion, whose notifications are lost',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'write z:ack_o:seen', 50, recordOf(45));
      await database.store.dropTable('t.notify');
    },
    found: ['error companion-missing t @'],
    left: [],
  },
  {
    name: 'a table that does not exist',
    plant: (database) => database.store.dropTable('u'),
    found: ['error table-missing u @'],
  },
  {
    name: 'a table with other families',
    plant: async (database) => {
      await database.store.dropTable('u');
      await database.store.createTable('u', { families: ['lock'] });
    },
    found: ['error table-unreadable u @'],
  },
];

describe('planted:', () => {
  for (const { name, plant: plantIt, found, says, left = found, tables = TABLES } of PLANTED) {
    test(name, async () => {
      const { database, client } = await openWith(plantIt);
      const before = await findingsOf(client, { tables });
      assert.deepEqual(before.map(summaryOf), found);
      if (says !== undefined) assert.equal(before[0]?.sentence, says);

      const repairing = await findingsOf(client, { tables, repair: true });
      for (const { repair } of repairing) assert.equal(typeof repair?.note, 'string');
      const after = await findingsOf(client, { tables });
      assert.deepEqual(after.map(summaryOf), left, 'what a repair leaves');
      const stored = await everything(database);
      await findingsOf(client, { tables, repair: true });
      assert.deepEqual(await everything(database), stored, 'a second repair changes nothing');
    });
  }

  test('a notification that may be lost is left to an operator, who knows the observers', async () => {
    const { client } = await openWith(async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'write z:ack_old:seen', 50, recordOf(45));
      await plant(database, 'write z:ack_new:seen', 80, recordOf(70));
    });
    const [finding] = await findingsOf(client, { repair: true });
    const note = 'only an operator knows whether the observers of the column have been retired';
    assert.deepEqual(finding?.repair, { done: false, note });
  });

  for (const [ruled, severity] of [
    ['u', 'error'],
    ['u.notify', 'warning'],
  ] as const) {
    test(`a rule of the storage that deletes versions in ${ruled} is found, and the rest is audited`, async () => {
      const { client } = await openWith((database) =>
        plant(database, 'lock z', 50, lockOf('u/y', 'dead')),
      );
      client.store.beforeCall = ({ table }) => {
        if (table === ruled) throw new PercolatorError('TABLE_MISMATCH', 'it has a GC rule');
      };
      const findings = await findingsOf(client);
      assert.deepEqual(findings.map(summaryOf), [
        `error table-unreadable ${ruled} @`,
        `${severity} lock-primary-absent z:c @ 50`,
      ]);
      assert.equal(findings[0]?.sentence, 'it has a GC rule');
    });
  }

  test('without repair nothing is written', async () => {
    for (const { plant: plantIt, tables = TABLES } of PLANTED) {
      const { database, client } = await openWith(plantIt);
      const stored = await everything(database);
      await findingsOf(client, { tables });
      assert.deepEqual(await everything(database), stored);
      assert.equal(client.store.mutationCount, 0);
    }
  });

  test('in many rows, with and without notifications, each fault is found once', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => `row ${String(i).padStart(3, '0')}`);
    const { client } = await openWith(async (database) => {
      for (const [i, row] of rows.entries()) {
        if (i % 3 !== 0) await plant(database, `rollback ${row}`, 50);
        if (i % 3 !== 1) await plant(database, `notify t.notify/${row}:seen`, 60);
      }
      database.oracle.horizon = 70;
    });
    const found = (await findingsOf(client)).map(({ code, cell }) => `${code} ${cell.row}`);
    const notified = rows.filter((_, i) => i % 3 !== 1).map((row) => `notification-clean ${row}`);
    const rolled = rows.filter((_, i) => i % 3 !== 0).map((row) => `rollback-below-horizon ${row}`);
    assert.deepEqual(found.toSorted(), [...rolled, ...notified].toSorted());
  });

  test('every code about a table’s content has been planted', () => {
    const planted = new Set(PLANTED.flatMap(({ found }) => found.map((one) => one.split(' ')[1])));
    // See fsck.test.ts and fsck-damaged.test.ts.
    const ofDatabases = [
      'engine-table-missing',
      'lease-left-by-dead',
      'lease-undecodable',
      'row-damaged',
      'store-damaged',
      'table-left-over',
      'table-undefined',
      'table-unfinished',
    ];
    const missing = Object.keys(FINDING_CODES).filter((code) => !planted.has(code));
    assert.deepEqual(missing.toSorted(), ofDatabases);
  });
});

async function openWith(
  plantIt: Planted['plant'],
): Promise<{ readonly database: TestDatabase; readonly client: TestClient }> {
  const database = await openTestDatabase({ observed: ['seen'] });
  const writer = database.client('alive');
  await writer.write({ p: 'committed', x: 'committed' });
  await writer.write({ x: undefined, y: 'committed' });
  const transaction = await writer.begin();
  put(transaction, { 'u/x': 'discarded' });
  transaction.discard();
  database.oracle.skipTo(100);
  database.bury('dead');
  await plantIt(database, writer);
  return { database, client: database.client('auditor') };
}

async function everything({ store }: TestDatabase): Promise<unknown> {
  const tables = (await store.listTables()).toSorted();
  return Promise.all(
    tables.map(async (table) => {
      const families = table.endsWith('.notify') ? NOTIFY_FAMILIES : TABLE_FAMILIES;
      const filters = families.map((family) => ({ family }));
      const rows = await store.readRange(table, { limit: 100 }, filters).catch(() => []);
      return { table, rows };
    }),
  );
}
