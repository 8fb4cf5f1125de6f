/**
 * The HBase store on the simulated HBase, through real sockets: the same claims as on a real one
 * (engine/hbase.test.ts), so that what runs on the simulated one says something about HBase. A
 * whole database runs on it, too.
 */
import { after, describe } from 'node:test';
import { databaseSuite } from '../../testing/database-suite.ts';
import type { Bigtable } from '../bigtable.ts';
import { conformanceSuite } from '../conformance.ts';
import { claimHBase } from './claims.fixture.ts';
import { openHBase } from './index.ts';
import { serveHBase } from './simulated-server.fixture.ts';

/** So that a collector does not wait for long (P66); no server stands still here. */
const QUICK = { sessionTimeoutMs: 3000, timeoutMs: 2000 };

for (const rowsPerAnswer of [Infinity, 300]) {
  const served = await serveHBase({ rowsPerAnswer });
  after(() => served[Symbol.asyncDispose]());
  const open = (): Promise<Bigtable> => openHBase({ servers: [served.master] });
  const name = `the simulated HBase, with at most ${rowsPerAnswer} rows in an answer`;
  if (rowsPerAnswer === Infinity) {
    conformanceSuite(name, open);
    databaseSuite(name, () => openHBase({ servers: [served.master], ...QUICK }));
  }
  describe(`the HBase store on ${name}`, () => claimHBase(open, { servers: [served.master] }));
}
