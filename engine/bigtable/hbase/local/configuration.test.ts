/** What a local HBase writes, as its configuration says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { accepts, configure, freePorts, HOST, LOOPBACK, writeSite } from './configuration.ts';
import { confOf } from './java-processes.ts';

test('the times in the logs are in UTC, and say so', async () => {
  const folder = temporaryFolder();
  const shape = {
    placeOf: () => LOOPBACK,
    regionServers: 0,
    dataNodes: 0,
    sessionTimeoutMs: 6_000,
  };
  const ports = { zooKeeper: 1, nameNode: 2, master: 3, regionServers: [4] };
  await configure(folder, shape, ports);
  const logging = readFileSync(join(confOf(folder), 'log4j2.properties'), 'utf8');
  assert.match(logging, /pattern = %d\{ISO8601\}\{UTC\}Z /);
});

/* The files of settings that a local HBase and a local Hadoop read. */

test('the characters of a path that mean something else in XML are escaped', async () => {
  const folder = temporaryFolder();
  await writeSite(folder, 'core-site.xml', { 'hadoop.tmp.dir': '/tmp/a&b<c', port: 1 });
  assert.equal(
    readFileSync(join(folder, 'core-site.xml'), 'utf8'),
    `<configuration>
<property><name>hadoop.tmp.dir</name><value>/tmp/a&amp;b&lt;c</value></property>
<property><name>port</name><value>1</value></property>
</configuration>
`,
  );
});

/* The ports of a local cluster: free, and outside the range of outgoing connections. */

test('free ports are distinct, and not those that the system gives to connections', async () => {
  const ports = await freePorts(50);
  assert.equal(new Set(ports).size, 50);
  assert.deepEqual(
    ports.filter((port) => port < 10_000 || port >= 32_768),
    [],
  );
});

test('a free port has no listener, and a service can listen at it', async (t) => {
  const [port = 0] = await freePorts(1);
  assert.equal(await accepts(port), false);
  const server = createServer();
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(port, HOST, resolve));
  assert.equal(await accepts(port), true);
});
