/**
 * The requests of processes to the storage and to the timestamp oracle, as data: so they can wait
 * for delivery, be compared, be delivered twice, and be told in a story.
 *
 * Each row of a mutation is a message of its own, because nothing is promised across rows; so is
 * each read of a row. Equal messages are one object, and so are equal answers.
 */
import type {
  CellFilter,
  ConditionalRowMutation,
  Row,
  RowMutation,
  Timestamp,
} from '../../../engine/bigtable/index.ts';
import { PercolatorError, unreachable } from '../../../engine/base/index.ts';
import { describeFilters, describeMutations, describeRow } from '../world/describe.ts';

export type MessageRequest =
  | { readonly kind: 'timestamp' }
  | {
      readonly kind: 'read';
      readonly table: string;
      readonly row: string;
      readonly filters: readonly CellFilter[];
    }
  | ({ readonly kind: 'check' } & ConditionalRowMutation)
  | ({ readonly kind: 'mutate' } & RowMutation);

export interface ProcessMessage {
  /** Unique to its content. */
  readonly id: number;
  readonly request: MessageRequest;
  /** `table/row`; empty for the oracle. */
  readonly rowName: string;
  readonly isMutation: boolean;
}

/** The answer: a value, or no answer at all. */
export interface MessageAnswer {
  /** Unique to its content. */
  readonly id: number;
  readonly value: Timestamp | boolean | Row | undefined;
  /** The sender has given up; the message may still be in flight. */
  readonly isLost: boolean;
}

export class MessageBook {
  readonly #messages = new Map<string, ProcessMessage>();
  readonly #answers = new Map<string, MessageAnswer>();

  message(request: MessageRequest): ProcessMessage {
    const text = textOf(request);
    const known = this.#messages.get(text);
    if (known !== undefined) return known;
    const message: ProcessMessage = {
      id: this.#messages.size,
      request,
      rowName: request.kind === 'timestamp' ? '' : `${request.table}/${request.row}`,
      isMutation: request.kind === 'check' || request.kind === 'mutate',
    };
    this.#messages.set(text, message);
    return message;
  }

  answer(value: MessageAnswer['value']): MessageAnswer {
    return this.#answer(textOf(value), value, false);
  }

  /** The answer that a sender hears when the answer to its mutation was lost. */
  noAnswer(): MessageAnswer {
    return this.#answer('no answer', undefined, true);
  }

  #answer(text: string, value: MessageAnswer['value'], isLost: boolean): MessageAnswer {
    const known = this.#answers.get(text);
    if (known !== undefined) return known;
    const answer = { id: this.#answers.size, value, isLost };
    this.#answers.set(text, answer);
    return answer;
  }
}

/** The error that a sender hears when the outcome of its mutation is unknown. */
export function inDoubt({ rowName }: ProcessMessage): PercolatorError {
  return new PercolatorError('STORE_IN_DOUBT', `mutating ${rowName} got no answer`);
}

/** For stories: the request and its answer. */
export function describeMessage(
  { request, rowName }: ProcessMessage,
  answer?: MessageAnswer,
): string {
  const value = answer?.value;
  switch (request.kind) {
    case 'timestamp':
      return `asks for a timestamp: ${value as Timestamp}`;
    case 'read':
      return `reads ${rowName} (${describeFilters(request.filters)}): ${describeRow(value as Row)}`;
    case 'mutate':
      return `${rowName}: ${describeMutations(request.mutations)}`;
    case 'check':
      return `${rowName}: ${describeCheck(request, value)}`;
    default:
      return unreachable(request);
  }
}

function describeCheck(
  { anyOf, ifFound, ifNotFound }: MessageRequest & { readonly kind: 'check' },
  found: unknown,
): string {
  const filters = describeFilters(anyOf);
  if (found === undefined) return `if ${filters}`;
  return found === true
    ? `found ${filters}: ${describeMutations(ifFound)}`
    : `not found ${filters}: ${describeMutations(ifNotFound)}`;
}

/** The same text for the same content: values are bytes, which JSON would write as objects. */
function textOf(content: unknown): string {
  return (
    JSON.stringify(content, (_, value: unknown) => {
      if (!isSerializedBuffer(value)) {
        return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
      }
      return Buffer.from(value.data).toString('latin1');
    }) ?? 'undefined'
  );
}

/** `JSON.stringify` converts a Buffer to JSON before it calls the replacer. */
function isSerializedBuffer(
  value: unknown,
): value is { readonly type: 'Buffer'; readonly data: readonly number[] } {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer';
}
