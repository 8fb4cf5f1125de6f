/**
 * Notifications planted by hand: lost, left over, parked, and those that are right
 * (audit/planted.test.ts).
 */
import type { AuditedTable } from '../audit/index.ts';
import type { TestClient, TestDatabase } from './database.ts';
import { erase, lockOf, plant, recordOf } from './planting.ts';

export interface Planted {
  readonly name: string;
  /** Timestamps from 1 to 99 were handed out; the rows `p`, `x` and `y` are committed and clean. */
  readonly plant: (database: TestDatabase, client: TestClient) => Promise<unknown>;
  readonly found: readonly string[];
  /** The sentence of the first finding, if the test is about that. */
  readonly says?: string;
  /** What is found after a repair. Default: `found`. */
  readonly left?: readonly string[];
  readonly tables?: readonly AuditedTable[];
}

const NAMED: readonly AuditedTable[] = [
  { table: 't', observedColumns: ['seen'], observersOf: () => ['o'] },
];

export const PLANTED_NOTIFICATIONS: readonly Planted[] = [
  {
    name: 'an acknowledgment of a column that was never written',
    plant: (database) => plant(database, 'write z:ack_o:seen', 70, recordOf(50)),
    found: ['error acknowledgment-without-change z:seen @ 50'],
  },
  {
    name: 'an acknowledgment of a column that was deleted and collected',
    plant: async (database) => {
      await plant(database, 'write z:ack_o:seen', 70, recordOf(50));
      database.oracle.horizon = 80;
    },
    found: ['warning acknowledgment-without-change z:seen @ 50'],
  },
  {
    name: 'a change that no observer has seen, without a notification',
    plant: async (database, client) => {
      await plant(database, 'write z:ack_o:seen', 50, recordOf(45));
      const committed = await client.write({ 'z:seen': 'new' });
      await erase(database, 'notify t.notify/z:seen', committed);
    },
    found: ['error notification-lost z:seen @ 101'],
    left: [],
  },
  {
    name: 'a change that one of two observers has seen, without a notification: the other one may have been retired',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'write z:ack_old:seen', 50, recordOf(45));
      await plant(database, 'write z:ack_new:seen', 80, recordOf(70));
    },
    found: ['warning notification-lost z:seen @ 60'],
    says: 'changed at 60, not seen by observer old, and neither notified nor parked: lost, unless it has been retired',
  },
  {
    name: 'a change that the named observer has never seen, without a notification',
    plant: (database) => plant(database, 'write z:seen', 60, recordOf(55, 'delete')),
    found: ['error notification-lost z:seen @ 60'],
    left: [],
    tables: NAMED,
  },
  {
    name: 'P57: a change that no observer has ever acknowledged, without a notification, whichever observers exist',
    plant: (database) => plant(database, 'write z:seen', 60, recordOf(55, 'delete')),
    found: ['error notification-lost z:seen @ 60'],
    left: [],
  },
  {
    name: 'P57: a change that no observer has ever acknowledged, with a weak notification only: the run of a weak notification acknowledges nothing',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'weak t.notify/z:seen', 60);
    },
    found: ['error notification-lost z:seen @ 60'],
    left: [],
  },
  {
    name: 'a change that no observer has ever acknowledged, and that is parked',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      const value = JSON.stringify({ failures: 8, error: 'Error: indigestible' });
      await plant(database, 'parked t.notify/z:seen', 60, value);
    },
    found: ['warning observer-parked z:seen @ 60'],
  },
  {
    name: 'a change of a column that no observer has, as the caller knows, without a notification',
    plant: (database) => plant(database, 'write z:seen', 60, recordOf(55, 'delete')),
    found: [],
    tables: [{ table: 't', observedColumns: ['seen'], observersOf: () => [] }],
  },
  ...['oops', 'null', '5', '{"failures":8}', '{"failures":"8","error":"x"}'].map(
    (value): Planted => ({
      name: `a parked cell with the entry ${value}, which no worker writes`,
      plant: (database) => plant(database, 'parked t.notify/z:seen', 60, value),
      found: ['warning observer-parked z:seen @ 60'],
      says: `parked, with an entry that cannot be decoded: ${value}`,
    }),
  ),
  {
    name: 'a cell that was parked after its first failure',
    plant: (database) =>
      plant(database, 'parked t.notify/z:seen', 60, '{"failures":1,"error":"Error: x"}'),
    found: ['warning observer-parked z:seen @ 60'],
    says: 'parked after 1 failure: Error: x',
  },
  {
    name: 'a touch of a delete that has been collected with its acknowledgments: nothing to see',
    plant: (database) => plant(database, 'write z:seen', 60, recordOf(55, 'touch 0 30')),
    found: [],
  },
  {
    name: 'a lock of a transaction that is about to change an observed cell for the first time',
    plant: (database) => plant(database, 'lock z:seen', 50, lockOf('z:seen', 'alive')),
    found: [],
  },
  {
    name: 'a change that is parked, and not lost',
    plant: async (database) => {
      await plant(database, 'write z:ack_o:seen', 50, recordOf(45));
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      const value = JSON.stringify({ failures: 8, error: 'Error: indigestible' });
      await plant(database, 'parked t.notify/z:seen', 60, value);
    },
    found: ['warning observer-parked z:seen @ 60'],
  },
  {
    name: 'a touch after the run of an observer: nothing has changed',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'write z:ack_o:seen', 80, recordOf(70));
      await plant(database, 'write z:seen', 90, recordOf(85, 'touch 0 60'));
    },
    found: [],
  },
  {
    name: 'an acknowledgment of a column with a colon: `just:seen` by `o`, not `seen` by `o:just`',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'notify t.notify/z:seen', 60);
      await plant(database, 'write z:ack_o:just:seen', 50, recordOf(45));
      await plant(database, 'write z:just:seen', 30, recordOf(25, 'delete'));
    },
    found: [],
    tables: [{ table: 't', observedColumns: ['seen', 'just:seen'] }],
  },
  {
    name: 'a notification of a transaction that died before it committed',
    plant: (database) => plant(database, 'notify t.notify/z:seen', 60),
    found: ['warning notification-clean z:seen @ 60'],
    left: [],
  },
  {
    name: 'a notification ahead of the oracle that no observer needs: notifications below it are still to come',
    plant: (database) => plant(database, 'notify t.notify/z:seen', 1_000),
    found: ['error timestamp-ahead z:seen @ 1000', 'warning notification-clean z:seen @ 1000'],
  },
  {
    name: 'a notification of a transaction that is about to commit',
    plant: async (database) => {
      await plant(database, 'lock z:seen', 50, lockOf('z:seen', 'alive'));
      await plant(database, 'notify t.notify/z:seen', 60);
    },
    found: [],
  },
  {
    name: 'a notification of a change that every observer has seen, as far as is known',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'write z:ack_o:seen', 80, recordOf(70));
      await plant(database, 'notify t.notify/z:seen', 60);
    },
    found: ['warning notification-clean z:seen @ 60'],
  },
  {
    name: 'a notification of a change that every observer has seen, and they are named',
    plant: async (database) => {
      await plant(database, 'write z:seen', 60, recordOf(55, 'delete'));
      await plant(database, 'write z:ack_o:seen', 80, recordOf(70));
      await plant(database, 'notify t.notify/z:seen', 60);
    },
    found: ['warning notification-clean z:seen @ 60'],
    left: [],
    tables: NAMED,
  },
  {
    name: 'a notification of a change that no observer has seen yet: work',
    plant: (_, client) => client.write({ 'z:seen': 'new' }),
    found: [],
  },
  {
    name: 'a notification on a column that is not observed',
    plant: (database) => plant(database, 'weak t.notify/z:c', 60),
    found: ['warning notification-clean z:c @ 60'],
  },
];
