/**
 * The side of the thread that writes: one task is in flight at a time, and the changes that come
 * meanwhile are the next one together.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Change } from './serving-index.ts';
import type { WriterAnswer, WriterTask } from './writer-thread.ts';

export class WriterClient {
  readonly #thread: Worker;
  #waiting: Change[] = [];
  /** What all that wait will settle as. */
  #next: Promise<void> | undefined;
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
    this.#waiting.push(change);
    this.#next ??= this.#inTurn(() => {
      const changes = this.#waiting;
      this.#waiting = [];
      this.#next = undefined;
      return { kind: 'apply', changes };
    });
    return this.#next;
  }

  replaceAll(changes: readonly Change[]): Promise<void> {
    return this.#inTurn(() => ({ kind: 'replaceAll', changes }));
  }

  /** Waits for what was asked before. */
  async close(): Promise<void> {
    await this.#done;
    await this.#thread.terminate();
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
  const over = new AbortController();
  const { signal } = over;
  const ended = once(thread, 'exit', { signal }).then(() => ({ error: 'its thread has ended' }));
  const answered = once(thread, 'message', { signal }).then(([said]) => said as WriterAnswer);
  try {
    const { error }: WriterAnswer = await Promise.race([answered, ended]);
    if (error !== undefined) throw new Error(error);
  } finally {
    over.abort();
    await Promise.allSettled([answered, ended]);
  }
}
