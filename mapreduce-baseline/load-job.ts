/**
 * A job as every engine calls it: made from its module, and held to its contract (job.ts). What it
 * does beyond the contract would give a wrong result, each engine another one, so it is refused:
 *
 * - A function that returns a promise would emit after the records have moved on.
 * - So would one that keeps `output`, and emits later.
 * - What is no slice has no bytes.
 */
import { Slice } from './bytes.ts';
import { MapReduceError } from './errors.ts';
import type { CreateJob, MapReduceJob, Output, Values } from './job.ts';

/** @throws JOB_INVALID */
export async function loadJob(url: string, parameters: unknown): Promise<MapReduceJob> {
  const { createJob } = await loadModule(url);
  if (typeof createJob !== 'function') throw invalid(`${url} does not export createJob`);
  const job: unknown = await (createJob as CreateJob)(parameters);
  if (typeof job === 'object' && job !== null) return checkedJob(job as MapReduceJob);
  throw invalid(`createJob of ${url} must return a job, but returned ${typeof job}`);
}

async function loadModule(url: string): Promise<Record<string, unknown>> {
  try {
    return (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MapReduceError('JOB_INVALID', `${url} cannot be loaded: ${reason}`, { cause });
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
        : (key: Slice, values: Values, output: Output) => {
            combined.begin(output);
            const returned: unknown = job.combine?.(key, values, combined);
            combined.end('combine', returned);
          },
    reduce: (key: Slice, values: Values, output: Output) => {
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
