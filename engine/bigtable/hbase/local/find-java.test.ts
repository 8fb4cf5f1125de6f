/** What a local HBase says of the Java that there is. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { javaVersion, whyNoHBase } from './find-java.ts';

/** A Java that knows nothing but its version. */
function javaHome(version: string): string {
  const home = temporaryFolder();
  mkdirSync(join(home, 'bin'));
  const script = `#!/bin/sh\necho 'openjdk version "${version}"' >&2\n`;
  writeFileSync(join(home, 'bin', 'java'), script, { mode: 0o755 });
  return home;
}

test('a Java that is too old is named by its major version, even if it is older than 9', async () => {
  assert.equal(await javaVersion({ JAVA_HOME: javaHome('17.0.2') }), 17);
  const why = await whyNoHBase({ JAVA_HOME: javaHome('1.8.0_392') });
  assert.equal(why, 'a local HBase needs Java 11 or newer, and java is of version 8');
});
