/**
 * The callers' side of the thread that writes (writer-thread.ts): one task is in flight at a time,
 * and the changes that come meanwhile are sent together as the next one.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Change } from './serving-index.ts';
import type { WriterAnswer, WriterTask } from './writer-thread.ts';

const ENDED = 'its thread has ended';

interface Batch {
  readonly changes: Change[];
  readonly done: Promise<void>;
}

export class WriterClient {
  readonly #thread: Worker;
  /** The changes that are the next task together; undefined if none wait. */
  #batch: Batch | undefined;
  /** Settles when the last task that was sent is done; never rejects. */
  #done: Promise<unknown> = Promise.resolve();

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  /** @throws an error if the index cannot be opened */
  static async open(folder: string): Promise<WriterClient> {
    const thread = new Worker(new URL('writer-thread.ts', import.meta.url), { workerData: folder });
    await answerOf(thread);
    return new WriterClient(thread);
  }

  /** Resolves when the change is durable. */
  apply(change: Change): Promise<void> {
    this.#batch ??= this.#newBatch();
    this.#batch.changes.push(change);
    return this.#batch.done;
  }

  /** Changes that were applied before are replaced; those that are applied from now on stay. */
  replaceAll(changes: readonly Change[]): Promise<void> {
    this.#batch = undefined;
    return this.#inTurn(() => ({ kind: 'replaceAll', changes }));
  }

  /** Waits for what was asked before. */
  async close(): Promise<void> {
    await this.#done;
    await this.#thread.terminate();
  }

  #newBatch(): Batch {
    const changes: Change[] = [];
    const done = this.#inTurn(() => {
      if (this.#batch === batch) this.#batch = undefined;
      return { kind: 'apply', changes };
    });
    const batch = { changes, done };
    return batch;
  }

  /** Makes and sends the task when those before it are done. */
  #inTurn(makeTask: () => WriterTask): Promise<void> {
    const sent = this.#done.then(() => {
      this.#thread.postMessage(makeTask());
      return answerOf(this.#thread);
    });
    this.#done = sent.catch(() => {});
    return sent;
  }
}

/** Rejects if the thread could not do the task, or has ended. */
async function answerOf(thread: Worker): Promise<void> {
  if (thread.threadId < 0) throw new Error(ENDED); // The event of its exit is over.
  const over = new AbortController();
  const { signal } = over;
  const ended = once(thread, 'exit', { signal }).then(() => ({ error: ENDED }));
  const answered = once(thread, 'message', { signal }).then(([said]) => said as WriterAnswer);
  try {
    const { error }: WriterAnswer = await Promise.race([answered, ended]);
    if (error !== undefined) throw new Error(error);
  } finally {
    over.abort();
    await Promise.allSettled([answered, ended]);
  }
}
