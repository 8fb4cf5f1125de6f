/** The files of settings that a local HBase and a local Hadoop read. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { writeSite } from './site.ts';

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
