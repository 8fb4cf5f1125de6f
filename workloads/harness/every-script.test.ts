/**
 * Every benchmark accepts the file that `./run.sh tune` writes, even if some settings have no effect
 * on it.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { DEFAULTS } from '../tools/tune/candidates.ts';
import { asConfig } from './engine-settings.ts';

const ROOT = path.dirname(path.dirname(import.meta.dirname));
const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

for (const [script, command] of Object.entries(scripts)) {
  const program = /^node (\S+\.ts)$/.exec(command)?.[1];
  if (!script.startsWith('bench:') || program === undefined) continue;
  test(`${script} knows every setting that tune recommends`, async () => {
    const folder = temporaryFolder();
    const config = path.join(folder, 'config.json');
    // The last setting stops the script before it does anything.
    // It would report an earlier unknown setting first.
    writeFileSync(config, JSON.stringify({ ...asConfig(DEFAULTS), 'no-such-setting': 1 }));
    const options = { cwd: ROOT, reject: false } as const;
    const { exitCode, stderr } = await execaNode(program, ['--config', config], options);
    assert.equal(exitCode, 2);
    assert.match(stderr, /there is no --no-such-setting\.$/);
  });
}
