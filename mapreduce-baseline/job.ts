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
 *    nothing later. `createJob` may be `async`. (Each engine refuses the rest: load-job.ts.)
 *
 * Promises of the runner: every record of the input is mapped exactly once in the output that is
 * published, and `reduce` is called exactly once per key, with every value of it. What a job prints
 * goes to standard error. A task whose process the job ends has failed.
 */
import type { Slice } from './bytes.ts';

/** Takes records. The slices are copied before `emit` returns. */
export interface Output {
  emit(key: Slice, value: Slice): void;
}

/** The values of one key, one after the other. `value` is valid until the next call of `next`. */
export interface Values {
  readonly value: Slice;
  /** Moves `value` to the next value, at first to the first one; false when there is none. */
  next(): boolean;
}

export interface MapReduceJob {
  /** Called once per input record, without its newline. */
  map(record: Slice, output: Output): void;
  /** Called, if there is one, on some of the values of a key before they leave the map worker. */
  combine?: ((key: Slice, values: Values, output: Output) => void) | undefined;
  /** Called once per key. It need not read all values. */
  reduce(key: Slice, values: Values, output: Output): void;
}

/**
 * The `createJob` export of a job's module. The parameters arrive as a structured clone, or as JSON
 * from an engine other than this baseline.
 */
export type CreateJob = (parameters: unknown) => MapReduceJob | Promise<MapReduceJob>;
