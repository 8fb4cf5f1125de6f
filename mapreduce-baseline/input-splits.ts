/**
 * Cutting the input into the pieces that map tasks work on.
 *
 * An input is a range of bytes of a file of lines. It is cut anywhere, without reading it: the rule
 * that makes this right is in record-reader.ts. Small inputs are put together into one task, so
 * that a thousand small files do not cost a thousand tasks.
 */
import { stat } from 'node:fs/promises';
import { MapReduceError } from './errors.ts';

/** A file of newline-delimited records, or a part of one. */
export interface Input {
  readonly path: string;
  /** First byte. Default 0. The records taken are those that begin in `start <= position < end`. */
  readonly start?: number | undefined;
  /**
   * Byte after the last. Default: the size of the file now, or, for an engine outside this process,
   * the size when that engine reads the file. Name the end if the file is being appended to.
   */
  readonly end?: number | undefined;
}

/** A piece of an input; the task that has it takes the records that begin in it. */
export interface Split {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** The work of one map task. */
export type TaskInput = readonly Split[];

/** Cuts the inputs into tasks of about `splitBytes`, in the order of the inputs. */
export function planTaskInputs(inputs: readonly Split[], splitBytes: number): TaskInput[] {
  const tasks: Split[][] = [];
  let room = 0;
  for (const { path, start, end } of inputs) {
    for (let position = start; position < end;) {
      if (room === 0) {
        tasks.push([]);
        room = splitBytes;
      }
      const next = Math.min(end, position + room);
      tasks.at(-1)?.push({ path, start: position, end: next });
      room -= next - position;
      position = next;
    }
  }
  return tasks;
}

/** Fills in the defaults of the inputs and refuses ranges that the files do not have. */
export async function resolveInputs(inputs: readonly Input[]): Promise<Split[]> {
  return Promise.all(inputs.map(resolveInput));
}

/** @throws INVALID_ARGUMENT if there is no such file, it is no regular file, or it is shorter */
export async function resolveInput({ path, start = 0, end }: Input): Promise<Split> {
  const size = await fileSize(path);
  const split = { path, start, end: end ?? size };
  const inFile = start >= 0 && start <= split.end && split.end <= size;
  if (inFile && Number.isSafeInteger(start) && Number.isSafeInteger(split.end)) return split;
  throw new MapReduceError(
    'INVALID_ARGUMENT',
    `input ${path}: the range ${start}-${split.end} is not within its ${size} bytes`,
  );
}

async function fileSize(path: string): Promise<number> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new MapReduceError('INVALID_ARGUMENT', `input ${path} cannot be read`, { cause });
  });
  // The size of a pipe is 0, whatever is in it.
  if (found.isFile()) return found.size;
  throw new MapReduceError('INVALID_ARGUMENT', `input ${path} is not a regular file`);
}
