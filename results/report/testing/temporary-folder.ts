/** A temporary folder for one test, removed when the test ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface TemporaryFolder extends Disposable {
  readonly path: string;
}

export function temporaryFolder(): TemporaryFolder {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'percolator-results-'));
  return {
    path: folder,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
