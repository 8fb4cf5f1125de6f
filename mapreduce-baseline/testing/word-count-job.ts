/** The job every MapReduce begins with, for tests; with and without a combiner. */
import { Slice } from '../bytes.ts';
import type { MapReduceJob, Output, ValueCursor } from '../job.ts';

const SPACE = 0x20;

export interface WordCountParameters {
  readonly combine: boolean;
}

export function createJob(parameters: unknown): MapReduceJob {
  const { combine } = parameters as WordCountParameters;
  return { map: countWordsOf, combine: combine ? addUp : undefined, reduce: addUp };
}

function countWordsOf(record: Slice, output: Output): void {
  const { bytes, start, end } = record;
  const one = new Slice(Buffer.from('1'));
  for (let from = start; from <= end;) {
    let to = from;
    while (to < end && bytes[to] !== SPACE) to++;
    output.emit(new Slice(bytes, from, to), one);
    from = to + 1;
  }
}

function addUp(key: Slice, values: ValueCursor, output: Output): void {
  let sum = 0;
  while (values.next()) sum += Number(values.value.toString());
  output.emit(key, new Slice(Buffer.from(String(sum))));
}
