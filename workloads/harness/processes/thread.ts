/** Programs in threads of this process: each has a heap and a garbage collector of its own. */
import { totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import { UsageError } from '#results';
import { bytesText } from '../experiment/plan.ts';

export interface ThreadOptions<Message> {
  /** What the program finds in `workerData`. */
  readonly data: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Called with each message that the program posts, among them the last one. */
  readonly onMessage?: (message: Message) => void;
}

const MEMORY_PART_MAX = 0.85;

/**
 * With Node's default young generation, short-lived objects survive its collections too often and
 * are copied, which costs a simulation a tenth of its time. With its default old generation, a
 * large simulation runs out of memory although the machine has more.
 */
const RESOURCE_LIMITS = {
  maxYoungGenerationSizeMb: 96,
  maxOldGenerationSizeMb: Math.round((MEMORY_PART_MAX * totalmem()) / 2 ** 20),
};

/**
 * Runs a program in a thread. Resolves with the last message that it has posted, when it has ended.
 * @throws the error that ended it; or, if the signal stopped it, the signal's reason
 */
export async function runThread<Message>(
  program: URL,
  { data, signal, onMessage }: ThreadOptions<Message>,
): Promise<Message> {
  signal?.throwIfAborted();
  const thread = new Worker(program, { workerData: data, resourceLimits: RESOURCE_LIMITS });
  const stop = (): void => {
    void thread.terminate();
  };
  signal?.addEventListener('abort', stop);
  try {
    const last = await lastMessage(thread, onMessage);
    signal?.throwIfAborted();
    return last;
  } catch (error) {
    throw signal?.aborted === true ? signal.reason : error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

function lastMessage<Message>(
  thread: Worker,
  onMessage: ((message: Message) => void) | undefined,
): Promise<Message> {
  let last: Message | undefined;
  return new Promise((resolve, reject) => {
    thread.on('message', (message: Message) => {
      last = message;
      onMessage?.(message);
    });
    thread.on('error', (error: Error & { readonly code?: string }) => {
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLittleMemory() : error);
    });
    thread.on('exit', () => {
      if (last === undefined) reject(new Error('a thread ended without an answer'));
      else resolve(last);
    });
  });
}

function tooLittleMemory(): UsageError {
  return new UsageError(
    `A thread needs more memory than it may use here (${100 * MEMORY_PART_MAX} % of ` +
      `${bytesText(totalmem())}). With a smaller load or repository it needs less.`,
  );
}
