/**
 * The HBase store on a real HBase of this machine is a Bigtable: the same suite as for every other.
 * What the manifest does not promise is skipped, and says so. After it, what is special to HBase.
 */
import { after, describe, test } from 'node:test';
import type { Bigtable } from '../bigtable.ts';
import { conformanceSuite } from '../conformance.ts';
import { claimHBase } from './claims.fixture.ts';
import { openHBase } from './index.ts';
import { type LocalHBase, startHBase, whyNoHBase } from './local/index.ts';

const why = await whyNoHBase(process.env);
if (why === undefined) {
  claimAll(await startHBase({ environment: process.env, regionServers: 0, startQuickly: true }));
} else {
  test('the HBase store on a local HBase', { skip: why }, () => {});
}

function claimAll(hbase: LocalHBase): void {
  after(() => hbase.stop());
  const open = (): Promise<Bigtable> => openHBase({ servers: hbase.servers });
  conformanceSuite('HBase', open);
  describe('the HBase store', () => claimHBase(open, hbase));
}
