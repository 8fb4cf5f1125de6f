/** A folder for the test or the suite that asks for it, removed when that ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** Not for a `before` hook: its folder would be removed when the hook ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'percolator-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
