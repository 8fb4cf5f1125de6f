/** What a local HBase says of the Java that there is. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { classPathOf, javaVersion, whyNoHBase } from './find-java.ts';

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

/* Where the class path that Maven has found is kept. */

/** Like Maven's plugin, it takes a relative output path as relative to the folder of the pom. */
const MAVEN = `#!/bin/sh
for word; do
  case "$word" in
    -Dmdep.outputFile=*) out=\${word#*=} ;;
    */pom.xml) cd "$(dirname "$word")" ;;
  esac
done
[ -n "$out" ] || exit 0
mkdir -p "$(dirname "$out")" && echo /a.jar >"$out"
`;

test('the class path is found although XDG_CACHE_HOME is relative, or neither it nor HOME is set', async (t) => {
  const { PATH, HOME } = env; // Of this process: for `mvn`, and for homedir().
  const [bin, home] = [temporaryFolder(), temporaryFolder()];
  t.after(() => Object.assign(env, { PATH, HOME }));
  await writeFile(join(bin, 'mvn'), MAVEN);
  await chmod(join(bin, 'mvn'), 0o755);
  Object.assign(env, { PATH: `${bin}:${PATH}`, HOME: home });
  const artifacts = { name: 'test', coordinates: ['g:a:1'], without: [], megabytes: 1 };
  for (const environment of [{ XDG_CACHE_HOME: 'caches', HOME: home }, {}]) {
    assert.equal(await classPathOf(artifacts, environment, () => {}), '/a.jar');
  }
});
