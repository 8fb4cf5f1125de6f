/**
 * The one error class of the baseline. The code is the contract; the message names the task, file
 * or option concerned, and `cause` keeps what was thrown underneath.
 */

export type MapReduceErrorCode =
  /** An option, an input or a job's module cannot be used; the message says which and why. */
  | 'INVALID_ARGUMENT'
  /** The job cannot be made, or breaks its contract (job.ts), such as by an `async` map. */
  | 'JOB_INVALID'
  /** The output folder exists already; a job never writes over the output of another. */
  | 'OUTPUT_EXISTS'
  /** A record of the input is not what the job expects, or longer than any record may be. */
  | 'RECORD_INVALID'
  /** One attempt at a task threw. The coordinator retries the task. */
  | 'ATTEMPT_FAILED'
  /** A worker process ended at its start, or during a task, which the coordinator then retries. */
  | 'WORKER_DIED'
  /** A task failed as often as it may, or the program of an outside engine did: no output. */
  | 'TASK_FAILED'
  /** The pool of workers was disposed of, or the replacement of a dead worker did not start. */
  | 'POOL_CLOSED';

/** Whether another attempt would end in the same way. */
export function isFinal(code: MapReduceErrorCode): boolean {
  return code === 'RECORD_INVALID' || code === 'JOB_INVALID';
}

export class MapReduceError extends Error {
  override readonly name = 'MapReduceError';
  readonly code: MapReduceErrorCode;

  constructor(code: MapReduceErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
