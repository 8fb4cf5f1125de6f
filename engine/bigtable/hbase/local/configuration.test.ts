/** What a local HBase writes, as its configuration says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { configure } from './configuration.ts';
import { confOf } from './java-processes.ts';

test('the times in the logs are in UTC, and say so', async () => {
  const folder = temporaryFolder();
  const shape = { regionServers: 0, dataNodes: 0, sessionTimeoutMs: 6_000 };
  const ports = { zooKeeper: 1, nameNode: 2, master: 3, regionServers: [4] };
  await configure(folder, shape, ports);
  const logging = readFileSync(join(confOf(folder), 'log4j2.properties'), 'utf8');
  assert.match(logging, /pattern = %d\{ISO8601\}\{UTC\}Z /);
});
