/**
 * The contract between the MapReduce and the author of map and reduce functions.
 *
 *     input ─ split ─▶ map ─ (combine) ─ partition ─▶ spill files ─ group ─▶ reduce ─▶ output parts
 *
 * Records of the input and of the output are lines: bytes up to a newline. Between map and reduce a
 * record is a key and a value, any bytes at all. In the output, key and value are joined by a tab,
 * or the key stands alone if the value is empty.
 *
 * A job lives in a module of its own, which each worker process loads by its URL. The module
 * exports `createJob(parameters)`; each task has a fresh job, so a job may keep scratch space but
 * must not expect to see all records.
 *
 * Promises of the job, without which the output is wrong:
 * 1. `map`, `combine` and `reduce` depend on their arguments alone. A task may run twice.
 * 2. `combine` emits under the key it was given, and reducing what it emits gives the same as
 *    reducing what it was given. It may run any number of times, or never.
 * 3. The order of the values of a key means nothing.
 * 4. `map`, `combine` and `reduce` are done when they return: they are not `async`, and emit
 *    nothing later. `createJob` may be `async`. (`loadJob` refuses the rest, with every engine.)
 *
 * Promises of the runner: every record of the input is mapped exactly once in the output that is
 * published, and `reduce` is called exactly once per key, with every value of it. What a job prints
 * goes to standard error. A task whose process the job ends has failed.
 *
 * `MapReduceError` says which of them was broken, or what else failed.
 */
import { Slice } from './bytes.ts';

/** Takes records. The slices are copied before `emit` returns. */
export interface Output {
  emit(key: Slice, value: Slice): void;
}

/** The values of one key, one after the other. `value` is valid until the next call of `next`. */
export interface ValueCursor {
  readonly value: Slice;
  /** Moves `value` to the next value, at first to the first one; false when there is none. */
  next(): boolean;
}

export interface MapReduceJob {
  /** Called once per input record, without its newline. */
  map(record: Slice, output: Output): void;
  /** Called, if there is one, on some of the values of a key before they leave the map worker. */
  combine?: ((key: Slice, values: ValueCursor, output: Output) => void) | undefined;
  /** Called once per key. It does not have to read all values. */
  reduce(key: Slice, values: ValueCursor, output: Output): void;
}

/**
 * The `createJob` export of a job's module. The parameters arrive as a structured clone, or as JSON
 * from an engine other than this baseline.
 */
export type CreateJob = (parameters: unknown) => MapReduceJob | Promise<MapReduceJob>;

/**
 * A job as every engine calls it: made from its module, and held to its contract. What it does
 * beyond the contract would give a wrong result, each engine another one, so it is refused:
 *
 * - A function that returns a promise would emit after the records have moved on.
 * - So would one that keeps `output`, and emits later.
 * - What is no slice has no bytes.
 *
 * @throws JOB_INVALID
 */
export async function loadJob(url: string, parameters: unknown): Promise<MapReduceJob> {
  const { createJob } = await importJob(url, 'JOB_INVALID');
  if (typeof createJob !== 'function') throw invalid(`${url} does not export createJob`);
  const job: unknown = await (createJob as CreateJob)(parameters);
  if (typeof job === 'object' && job !== null) return checkedJob(job as MapReduceJob);
  throw invalid(`createJob of ${url} must return a job, but returned ${typeof job}`);
}

/** The exports of a job's module. @throws the error code given, if it cannot be loaded */
export async function importJob(
  url: string,
  code: MapReduceErrorCode,
): Promise<Record<string, unknown>> {
  try {
    return (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MapReduceError(code, `${url} cannot be loaded: ${reason}`, { cause });
  }
}

/** The same job, which throws JOB_INVALID where it breaks its contract. */
function checkedJob(job: MapReduceJob): MapReduceJob {
  const [mapped, combined, reduced] = [
    new CheckedOutput(),
    new CheckedOutput(),
    new CheckedOutput(),
  ];
  return {
    map: (record: Slice, output: Output) => {
      mapped.begin(output);
      const returned: unknown = job.map(record, mapped);
      mapped.end('map', returned);
    },
    combine:
      job.combine === undefined || job.combine === null
        ? undefined
        : (key: Slice, values: ValueCursor, output: Output) => {
            combined.begin(output);
            const returned: unknown = job.combine?.(key, values, combined);
            combined.end('combine', returned);
          },
    reduce: (key: Slice, values: ValueCursor, output: Output) => {
      reduced.begin(output);
      const returned: unknown = job.reduce(key, values, reduced);
      reduced.end('reduce', returned);
    },
  };
}

/** Takes records during a call only. */
class CheckedOutput implements Output {
  #output: Output | undefined;

  begin(output: Output): void {
    this.#output = output;
  }

  emit(key: Slice, value: Slice): void {
    const output = this.#output;
    if (output === undefined) {
      throw invalid('emit must be called before map, combine or reduce has returned');
    }
    if (!isSlice(key)) throw invalid(`the key of a record must be a Slice, but is ${shown(key)}`);
    if (!isSlice(value)) {
      throw invalid(`the value of a record must be a Slice, but is ${shown(value)}`);
    }
    output.emit(key, value);
  }

  end(name: string, returned: unknown): void {
    this.#output = undefined;
    if (returned !== undefined) refusePromise(name, returned);
  }
}

function isSlice(given: unknown): boolean {
  if (given instanceof Slice) return true;
  const { bytes, start, end } = (given ?? {}) as Partial<Slice>;
  if (typeof start !== 'number' || typeof end !== 'number') return false;
  return start === end || Buffer.isBuffer(bytes); // Another copy of the class, or its likeness.
}

function refusePromise(name: string, returned: unknown): void {
  if (!(returned instanceof Promise)) return; // Ignored, as TypeScript does.
  returned.catch(() => {}); // It may fail later; this is the reason.
  throw invalid(`${name} must not be async: it returned a promise, and its record has moved on`);
}

function shown(given: unknown): string {
  if (typeof given === 'string') return `the text ${JSON.stringify(given.slice(0, 40))}`;
  if (given === null || typeof given !== 'object') return String(given);
  return `a ${given.constructor?.name ?? 'object'}`;
}

function invalid(reason: string): MapReduceError {
  return new MapReduceError('JOB_INVALID', reason);
}

/**
 * Resolves once what a job goes on with after its last record has run, as far as it waits for
 * nothing: what it emits then is refused while its task can still fail.
 */
export function lateWork(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** What the baseline's errors are told apart by. */
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

/**
 * The one error class of the baseline. The code is the contract; the message names the task, file
 * or option concerned, and `cause` keeps what was thrown underneath.
 */
export class MapReduceError extends Error {
  override readonly name = 'MapReduceError';
  readonly code: MapReduceErrorCode;

  constructor(code: MapReduceErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
