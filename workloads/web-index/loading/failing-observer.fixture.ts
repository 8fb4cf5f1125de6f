/**
 * For tests: loaded by a pipeline process before its program. The renderer fails three times on
 * pages named `late`, and always on those named `never`.
 */
import { renderer } from '../percolator/documents.ts';

const run = renderer.run.bind(renderer);
let failures = 0;
renderer.run = async (transaction, cell, change) => {
  if (cell.row.endsWith('/never')) throw new Error('it always fails');
  if (cell.row.endsWith('/late') && ++failures <= 3) throw new Error('it fails now');
  await run(transaction, cell, change);
};
