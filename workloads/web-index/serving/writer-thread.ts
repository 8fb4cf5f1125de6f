/**
 * The thread in which the serving index is written: a sync of the disk blocks it, and nothing else.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { IndexWriter } from './index-writer.ts';
import type { Change } from './serving-index.ts';

export interface WriterTask {
  readonly kind: 'apply' | 'replaceAll';
  readonly changes: readonly Change[];
}

/** The answer to each task, in order; the first one says that the index is open. */
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
