/**
 * What two processes with one store say to each other over a socket.
 *
 *     frame: length of the text │ length of the values │ text: JSON, a list of messages │ values
 *
 * All that a process says in one turn of the event loop is one frame. The receiver takes it in one
 * turn, in order: so a commit has the fate of the marks sent just before it (P61). The text names
 * the place of each value among the values, because JSON cannot hold bytes; but it is five times as
 * fast as the serializer of Node for such messages.
 */
import type {
  Bigtable,
  ConditionalRowMutation,
  Mutation,
  Row,
  RowMutation,
} from '../../bigtable.ts';
import { type DamagedRow, type ErrorCode, PercolatorError } from '../../../base/index.ts';

/** Both sides must speak the same protocol: raise it with every change of a message. */
export const PROTOCOL = 8;

export type Method = Exclude<
  keyof Bigtable,
  'manifest' | 'onChange' | 'damage' | 'close' | typeof Symbol.asyncDispose
>;

export const MUTATIONS: ReadonlySet<Method> = new Set([
  'checkAndMutateRow',
  'checkAndMutateRows',
  'mutateRows',
  'createTable',
  'dropTable',
]);

/** The first message, from the owner. */
export interface Greeting {
  readonly protocol: number;
  readonly fsync: boolean;
  readonly process: number;
  /** No other store has this number, except a copy. */
  readonly store: number;
  /** What the owner's clock says, in whole milliseconds: see `Request`. */
  readonly clockMs: number;
}

/**
 * To the owner. The deadline is in milliseconds of the owner's clock.
 *
 * Why not simply how long the request has left? It may lie in a socket for an hour, while the owner
 * is stopped, and the owner could not tell (P62). And no clock is the same in all processes: that
 * of Node counts from when the machine started, those of Deno and Bun from when the process did,
 * and the wall clock may be set. So the client reckons with the owner's clock. What that has said,
 * less what the client's own says on hearing it, is less than the owner is ahead, because the words
 * took a while. Of all that was heard, the largest is the best bound, and no deadline is too late.
 * If deadlines are too early, because the words took long, the owner refuses a request as `late`,
 * with what its clock says now: that is a better bound, and the request is sent again.
 */
export type Request = readonly [id: number, method: Method, deadlineMs: number, given: unknown[]];

/**
 * To the owner, which from now on says when something has changed; or which learns that all that
 * follows was sent after the fence that it has told.
 */
export type Notice = readonly ['listening' | 'fenced'];

/** From the owner: the answer to a request, or a notice that answers none. */
export type Answer =
  | readonly [id: number, value: unknown]
  | readonly [id: number, value: null, error: SentError]
  /** The store is closing: the request was not taken, and may be sent to the next owner. */
  | readonly [id: number, value: null, error: null]
  /** The mutation was sent before a fence: it was not taken, and is to be sent again. */
  | readonly [id: number, value: null, error: 'fenced']
  /** The request was not taken because its deadline was over on the owner's clock. */
  | readonly [id: number, value: null, error: 'late', clockMs: number]
  /** Cells may have been set in these tables; null: in any. */
  | readonly ['changed', tables: readonly string[] | null]
  /** `working`: it has reads of this client that are not answered yet. */
  | readonly ['closing' | 'fenced' | 'working'];

export interface SentError {
  readonly code?: string | undefined;
  readonly message: string;
  readonly damagedRow?: DamagedRow | undefined;
}

export function sentError(error: unknown): SentError {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof PercolatorError)) return { message };
  const { code, damagedRow } = error;
  return damagedRow === undefined ? { code, message } : { code, message, damagedRow };
}

export function receivedError({ code, message, damagedRow }: SentError): Error {
  if (code === undefined) return new Error(message);
  return new PercolatorError(code as ErrorCode, message, { damagedRow });
}

/** Replaces the value of a cell: by its place, or by its bytes. */
type Swap = <T extends { readonly value: Uint8Array }>(holder: T) => T;

const inMutations = (mutations: readonly Mutation[], swap: Swap): readonly Mutation[] =>
  mutations.map((mutation) => (mutation.kind === 'set' ? swap(mutation) : mutation));

const inRow = (row: Row | undefined | null, swap: Swap): Row | undefined =>
  row === undefined || row === null ? undefined : { ...row, cells: row.cells.map(swap) };

function inConditional(conditional: ConditionalRowMutation, swap: Swap): ConditionalRowMutation {
  const { ifFound = [], ifNotFound = [] } = conditional;
  return {
    ...conditional,
    ifFound: inMutations(ifFound, swap),
    ifNotFound: inMutations(ifNotFound, swap),
  };
}

const same = <T>(given: T): T => given;

type Call<M extends Method> = NonNullable<Bigtable[M]>;

/** By method: how its arguments and its answer hold values. */
const HOLDERS: {
  readonly [M in Method]: {
    readonly given: (given: Parameters<Call<M>>, swap: Swap) => unknown;
    readonly answer: (answer: Awaited<ReturnType<Call<M>>>, swap: Swap) => unknown;
  };
} = {
  readRow: { given: same, answer: inRow },
  readRows: { given: same, answer: (rows, swap) => rows.map((row) => inRow(row, swap)) },
  readRange: { given: same, answer: (rows, swap) => rows.map((row) => inRow(row, swap)) },
  checkAndMutateRow: {
    given: ([conditional], swap) => [inConditional(conditional, swap)],
    answer: same,
  },
  checkAndMutateRows: {
    given: ([conditionals], swap) => [conditionals.map((one) => inConditional(one, swap))],
    answer: (answers) => answers.map((one) => (one instanceof Error ? sentError(one) : one)),
  },
  mutateRows: {
    given: ([rows], swap) => [rows.map((row) => inRowMutation(row, swap))],
    answer: same,
  },
  sampleRowKeys: { given: same, answer: same },
  createTable: { given: same, answer: same },
  listTables: { given: same, answer: same },
  dropTable: { given: same, answer: same },
  fence: { given: same, answer: same },
};

function inRowMutation(row: RowMutation, swap: Swap): RowMutation {
  return { ...row, mutations: inMutations(row.mutations, swap) };
}

/** Gathers messages until they are sent in one frame. */
export class FrameWriter {
  #texts: string[] = [];
  #textLength = 0;
  #values: Uint8Array[] = [];
  #valueBytes = 0;

  /** About how many bytes the frame will have. */
  get length(): number {
    return this.#textLength + this.#valueBytes;
  }

  add(message: Greeting | Answer | Notice): void {
    this.#addText(JSON.stringify(message));
  }

  /** @throws if the arguments cannot be sent; then nothing was added */
  addRequest([id, method, deadlineMs, given]: Request): void {
    this.#addSwapped((swap) => [
      id,
      method,
      deadlineMs,
      HOLDERS[method].given(given as never, swap),
    ]);
  }

  /** @throws if the answer cannot be sent; then nothing was added */
  addAnswer(id: number, method: Method, answer: unknown): void {
    this.#addSwapped((swap) => [id, HOLDERS[method].answer(answer as never, swap)]);
  }

  take(): Buffer {
    const text = `[${this.#texts.join(',')}]`;
    const textBytes = Buffer.byteLength(text);
    const frame = Buffer.allocUnsafe(HEADER_BYTES + textBytes + this.#valueBytes);
    frame.writeUInt32LE(textBytes, 0);
    frame.writeUInt32LE(this.#valueBytes, 4);
    let at = HEADER_BYTES + frame.write(text, HEADER_BYTES);
    for (const value of this.#values) {
      frame.set(value, at);
      at += value.length;
    }
    this.#texts = [];
    this.#textLength = 0;
    this.#values = [];
    this.#valueBytes = 0;
    return frame;
  }

  #addText(text: string): void {
    this.#texts.push(text);
    this.#textLength += text.length;
  }

  #addSwapped(messageOf: (swap: Swap) => unknown): void {
    const values: Uint8Array[] = [];
    let offset = this.#valueBytes;
    const message = messageOf((holder) => {
      const { value } = holder;
      const place: Place = [offset, value.length];
      offset += value.length;
      values.push(value);
      return { ...holder, value: place };
    });
    this.#addText(JSON.stringify(message));
    for (const value of values) this.#values.push(value);
    this.#valueBytes = offset;
  }
}

/** Where a value lies among the values of its frame, in bytes. */
type Place = readonly [offset: number, length: number];

const HEADER_BYTES = 8;

/** Cuts the bytes of a socket into frames. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #length = 0;
  #needed = HEADER_BYTES;

  /** The frames that are complete with this chunk. */
  *add(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= this.#needed) {
      const bytes =
        this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
      const end = HEADER_BYTES + bytes.readUInt32LE(0) + bytes.readUInt32LE(4);
      this.#chunks = [bytes];
      this.#needed = end;
      if (this.#length < end) return;
      // An empty rest would keep the memory of this frame, and have the next one copied.
      this.#chunks = bytes.length > end ? [bytes.subarray(end)] : [];
      this.#length -= end;
      this.#needed = HEADER_BYTES;
      yield new Frame(bytes.subarray(0, end));
    }
  }
}

export class Frame {
  readonly messages: readonly unknown[];
  readonly #values: Buffer;

  constructor(bytes: Buffer) {
    const end = HEADER_BYTES + bytes.readUInt32LE(0);
    this.messages = JSON.parse(bytes.toString('utf8', HEADER_BYTES, end)) as unknown[];
    this.#values = bytes.subarray(end);
  }

  given(method: Method, sent: unknown): readonly unknown[] {
    return HOLDERS[method].given(sent as never, this.#share) as unknown[];
  }

  answer(method: Method, sent: unknown): unknown {
    if (method === 'checkAndMutateRows') return (sent as unknown[]).map(booleanOrError);
    return HOLDERS[method].answer(sent as never, this.#copy);
  }

  readonly #share: Swap = (holder) => {
    const [offset, length] = holder.value as unknown as Place;
    return { ...holder, value: this.#values.subarray(offset, offset + length) };
  };

  /** A copy, because a caller may keep one value for long. */
  readonly #copy: Swap = (holder) => {
    const [offset, length] = holder.value as unknown as Place;
    return { ...holder, value: Buffer.from(this.#values.subarray(offset, offset + length)) };
  };
}

function booleanOrError(answer: unknown): boolean | Error {
  return typeof answer === 'boolean' ? answer : receivedError(answer as SentError);
}
