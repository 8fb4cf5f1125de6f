/** The thread in which the serving index is written, so that its syncs block no other thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { IndexWriter } from './index-writer.ts';
import type { Change } from './serving-index.ts';

export interface WriterTask {
  readonly kind: 'apply' | 'replaceAll';
  readonly changes: readonly Change[];
}

/**
 * The first answer says whether the index was opened; then there is one for each task, in order.
 */
export interface WriterAnswer {
  readonly error?: string | undefined;
}

try {
  const writer = new IndexWriter(workerData as string);
  answer({});
  parentPort?.on('message', ({ kind, changes }: WriterTask) => {
    try {
      writer[kind](changes);
      answer({});
    } catch (error) {
      answer({ error: messageOf(error) });
    }
  });
  parentPort?.on('close', () => writer[Symbol.dispose]());
} catch (error) {
  answer({ error: messageOf(error) });
}

function answer(said: WriterAnswer): void {
  parentPort?.postMessage(said);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
