/** The unit files are ones that systemd accepts, as far as it can tell without starting them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '../testing/index.ts';

const UNITS = path.join(import.meta.dirname, 'systemd');

test('systemd-analyze accepts the unit files', async (t) => {
  const { exitCode } = await execa('systemd-analyze', ['--version'], { reject: false });
  if (exitCode !== 0) return t.skip('systemd-analyze is not on this machine');
  const folder = temporaryFolder();
  const copies = readdirSync(UNITS).map((name) => {
    // The program is not installed here, and a template is verified as one of its instances.
    const unit = readFileSync(path.join(UNITS, name), 'utf8');
    const copy = path.join(folder, name.replace('@.', '@oracle.'));
    writeFileSync(copy, unit.replaceAll('/usr/bin/percolator', '/usr/bin/env'));
    return copy;
  });
  assert.equal(copies.length, 2);
  const verified = await execa('systemd-analyze', ['verify', '--man=no', ...copies], {
    reject: false,
  });
  assert.equal(verified.stderr, '');
  assert.equal(verified.exitCode, 0);
  return undefined;
});
