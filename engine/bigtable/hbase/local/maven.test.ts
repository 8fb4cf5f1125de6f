/** Where the class path that Maven has found is kept. */
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { test } from 'node:test';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { classPathOf } from './maven.ts';

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
