/**
 * A worker process of the chaos test: runs the observers on a shared folder. The serving index is
 * in the parent, so that it outlives the worker; a call is a message, answered when it is applied.
 *
 *     node worker.fixture.ts <folder>
 */
import { openPercolator } from '#engine';
import { createObservers } from '../percolator/pipeline.ts';
import { createTables } from '../percolator/tables.ts';
import type { ExportTarget } from '../serving/serving-index.ts';

/** A message to the parent, which answers a call with its number. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'call'; readonly call: number; readonly what: ServingCall };

export type ServingCall =
  | { readonly put: Parameters<ExportTarget['put']> }
  | { readonly remove: Parameters<ExportTarget['remove']> };

const waiting = new Map<number, PromiseWithResolvers<void>>();
let calls = 0;
const NO_PARENT = new Error('the parent is gone, and the serving index with it');

function tell(message: FromWorker): void {
  process.send?.(message);
}

function call(what: ServingCall): Promise<void> {
  const answer = Promise.withResolvers<void>();
  waiting.set(++calls, answer);
  if (process.connected) tell({ kind: 'call', call: calls, what });
  else answer.reject(NO_PARENT);
  return answer.promise;
}

const serving: ExportTarget = {
  put: (...put) => call({ put }),
  remove: (...remove) => call({ remove }),
};

const [, , folder = ''] = process.argv;
const percolator = await openPercolator({ folder });
await createTables(percolator);
const worker = percolator.startWorker(createObservers(serving), { concurrency: 16 });
process.on('message', (answered: number) => {
  waiting.get(answered)?.resolve();
  waiting.delete(answered);
});
process.on('disconnect', () => {
  for (const { reject } of waiting.values()) reject(NO_PARENT); // Or their runs would never end.
  void worker.stop().then(() => percolator.close());
});
tell({ kind: 'ready' });
