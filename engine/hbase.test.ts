/**
 * All tests that need a real HBase on this machine, except chaos. HBase is slow to start, so they
 * share one.
 *
 *   1. It is a Bigtable: the same suite as for every other store, and what is special to HBase.
 *   2. A whole database is on it.
 *   3. Transactions crash at each step of their commits, where every message goes to another
 *      process and erases are tombstones.
 *
 * What the manifest does not promise is skipped, and says so. All crash cases run on the store in
 * memory (transaction/crashes.test.ts); here only some of them run, because each costs dozens of
 * calls.
 */
import { after, describe, test } from 'node:test';
import { systemClock } from './base/index.ts';
import { conformanceSuite } from './bigtable/conformance.ts';
import { claimHBase } from './bigtable/hbase/claims.fixture.ts';
import { whyNoHBase } from './bigtable/hbase/index.ts';
import { type Bigtable, type LocalHBase, openStore, startHBase } from './index.ts';
import { crashSuite, type OpenDatabase } from './testing/crash-suite.ts';
import { databaseSuite } from './testing/database-suite.ts';
import { openTestDatabase } from './testing/index.ts';
import { ownRows } from './testing/own-rows.ts';

const why = await whyNoHBase(process.env);
if (why === undefined) {
  claimAll(await startHBase({ environment: process.env, regionServers: 0 }));
} else {
  test('a database on a local HBase', { skip: why }, () => {});
}

function claimAll(hbase: LocalHBase): void {
  after(() => hbase.stop());
  const { servers, sessionTimeoutMs } = hbase;
  const open = (): Promise<Bigtable> => openStore({ kind: 'hbase', servers, sessionTimeoutMs });
  conformanceSuite('HBase', open);
  describe('the HBase store', () => claimHBase(open, hbase));
  databaseSuite('HBase', open);
  describe('on HBase,', () => claimCrashes(open));
}

function claimCrashes(open: () => Promise<Bigtable>): void {
  let shared: Promise<Bigtable> | undefined;
  let cases = 0;
  after(async () => (await shared)?.close());
  const openCase: OpenDatabase = async (options) => {
    shared ??= open();
    const store = ownRows(await shared, `case-${++cases}`);
    return openTestDatabase({ ...options, store, clock: systemClock });
  };
  crashSuite(openCase, {
    shapes: ['two rows, the primary deleted'],
    recoveries: ['a reader that knows the owner is dead'],
  });
  for (const [shape, recovery] of [
    ['three rows in two tables', 'a scan'],
    ['an observed cell', 'a transaction that locks every cell'],
    ['two cells that are locked', 'two readers at once'],
  ] as const) {
    crashSuite(openCase, { shapes: [shape], recoveries: [recovery], alsoAfterwards: false });
  }
}
