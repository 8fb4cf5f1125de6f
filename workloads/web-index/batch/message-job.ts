/**
 * A MapReduce job in which keys receive messages and answer with messages to keys.
 *
 *     line "key TAB message" ─ map ─▶ all messages of a key ─ reduce ─▶ lines "key TAB message"
 *
 * So the jobs of a chain follow one another like the rounds of a game: what a key still needs, it
 * sends to itself. Messages are JSON, which holds no tab and no line end, as every engine demands.
 */
import { MapReduceError, type MapReduceJob, type Output, Slice } from '#mapreduce';

/** A message, and the key that receives it in the next round. */
export type Addressed<M> = readonly [key: string, message: M];

/** What a key answers to all that it has received, in no particular order. */
export type Round<I, O> = (key: string, messages: readonly I[]) => Iterable<Addressed<O>>;

/** The messages in a line of the first job's input. Default: the line's message, to its key. */
export type Opening<L, I> = (key: string, message: L) => Iterable<Addressed<I>>;

export function messageJob<L, I, O>(round: Round<I, O>, opening?: Opening<L, I>): MapReduceJob {
  return {
    map:
      opening === undefined
        ? passOn()
        : (line, output) => {
            const [key, message] = parsed(line);
            emitAll(opening(key, message as L), output);
          },
    reduce: (key, values, output) => {
      const messages: I[] = [];
      while (values.next()) messages.push(JSON.parse(values.value.toString()) as I);
      emitAll(round(key.toString(), messages), output);
    },
  };
}

function passOn(): MapReduceJob['map'] {
  const [key, value] = [new Slice(), new Slice()];
  return (line, output) => {
    const tab = tabIn(line);
    key.point(line.bytes, line.start, tab);
    output.emit(key, value.point(line.bytes, tab + 1, line.end));
  };
}

function emitAll<O>(answers: Iterable<Addressed<O>>, output: Output): void {
  for (const [key, message] of answers) {
    output.emit(new Slice(Buffer.from(key)), new Slice(Buffer.from(JSON.stringify(message))));
  }
}

function parsed(line: Slice): readonly [key: string, message: unknown] {
  const tab = tabIn(line);
  const key = line.bytes.toString('utf8', line.start, tab);
  return [key, JSON.parse(line.bytes.toString('utf8', tab + 1, line.end))];
}

function tabIn(line: Slice): number {
  const tab = line.bytes.indexOf('\t', line.start);
  if (tab >= 0 && tab < line.end) return tab;
  const beginning = line.bytes.toString('utf8', line.start, Math.min(line.end, line.start + 60));
  throw new MapReduceError('RECORD_INVALID', `this line has no message: ${beginning}`);
}
