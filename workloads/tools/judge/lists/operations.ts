/**
 * Pairs the operations of a Jepsen history into transactions, each with its beginning and its end.
 *
 *     {:type :invoke, :f :txn, :process 0, :value [[:append 5 1] [:r 6 nil]],   :index 0}
 *     {:type :ok,     :f :txn, :process 0, :value [[:append 5 1] [:r 6 [1 2]]], :index 3}
 *
 * As in Jepsen: a process runs one transaction at a time; `info` leaves the outcome open; the order
 * of the file is the order of time; operations of processes without a number (the nemesis) are not
 * transactions. An end without an invocation counts as both, also one without a process: a file of
 * ends alone can do without. With invocations it must, or an end would not find its own.
 */
import type {
  Element,
  ListOperation,
  ListTransaction,
} from '../../../verification/judges/index.ts';
import { BadLineError } from '../lines.ts';
import { type Form, nameOf, type NumberedForm, shownForm } from './edn-reader.ts';

export interface JepsenTransaction extends ListTransaction {
  /** Lines of the operations that began and ended it. */
  readonly lines: readonly number[];
}

interface Event {
  readonly line: number;
  /** Counts from 0 in the order of the file. */
  readonly moment: number;
  readonly type: 'invoke' | ListTransaction['outcome'];
  /** Undefined if the operation has none. */
  readonly process: number | undefined;
  /** Jepsen's index, or `moment` if the operation has none. */
  readonly index: number;
  readonly operations: readonly ListOperation[];
}

export class Pairing {
  readonly transactions: JepsenTransaction[] = [];
  /** Appends and reads, also those that are not judged. */
  operations = 0;
  readonly #ownWritesSeen: boolean;
  /** By process: its pending invocation. */
  readonly #pending = new Map<number, Event>();
  /** The first lines of operations with and without a process. */
  #withProcess: number | undefined;
  #without: number | undefined;
  #moments = 0;

  /** @param ownWritesSeen whether transactions read their own appends */
  constructor({ ownWritesSeen }: { readonly ownWritesSeen: boolean }) {
    this.#ownWritesSeen = ownWritesSeen;
  }

  /** @throws BadLineError that names the fault of the operation */
  add(form: NumberedForm): void {
    const event = eventOf(form, this.#moments++);
    if (event === undefined) return;
    this.operations += event.operations.length;
    this.#checkProcess(event);
    const { process = -1 - event.moment } = event; // One of its own.
    const invocation = this.#pending.get(process);
    if (event.type !== 'invoke') {
      this.#pending.delete(process);
      this.#end(invocation ?? event, event);
    } else if (invocation === undefined) {
      this.#pending.set(process, event);
    } else {
      throw new BadLineError(
        `process ${process} must end the transaction it began in line ${invocation.line} before it begins another`,
      );
    }
  }

  #checkProcess({ process, type, line, operations }: Event): void {
    if (process !== undefined) this.#withProcess ??= line;
    else if (operations.length > 0) this.#without ??= line;
    if (this.#without === undefined) return;
    if (this.#without === line && type === 'invoke') {
      throw new BadLineError(':process must be there, so that the end of this invoke is found');
    }
    if (this.#withProcess === undefined) return;
    const [lacks, has] = [this.#without, this.#withProcess];
    throw new BadLineError(
      `all transactions must have a :process, or none, but line ${lacks} has none and line ${has} has one`,
    );
  }

  /** Ends the pending transactions: they may have committed. */
  finish(): readonly JepsenTransaction[] {
    for (const invocation of this.#pending.values()) this.#end(invocation, undefined);
    this.transactions.sort((a, b) => a.beganAt - b.beganAt);
    return this.transactions;
  }

  #end(invocation: Event, end: Event | undefined): void {
    const outcome = end === undefined || end.type === 'invoke' ? 'info' : end.type;
    const operations = outcome === 'ok' ? (end?.operations ?? []) : invocation.operations;
    const isKnown = ({ kind, elements }: ListOperation): boolean =>
      outcome === 'ok' || kind === 'append' || elements.length > 0;
    const known = operations.filter(isKnown);
    this.transactions.push({
      name: `${invocation.index}`,
      process: `${invocation.process ?? -1 - invocation.moment}`,
      outcome,
      beganAt: invocation.moment,
      endedAt: end?.moment,
      operations: this.#ownWritesSeen ? known : readsFirst(known),
      lines: [...new Set([invocation.line, end?.line ?? invocation.line])],
    });
  }
}

/** Puts reads first, so that they read the snapshot. */
function readsFirst(operations: readonly ListOperation[]): readonly ListOperation[] {
  return operations.toSorted((a, b) => Number(a.kind !== 'read') - Number(b.kind !== 'read'));
}

const TYPES = ['invoke', 'ok', 'fail', 'info'] as const;

/** Undefined if it is not an operation of a transaction. */
function eventOf({ form, line }: NumberedForm, moment: number): Event | undefined {
  if (!(form instanceof Map)) {
    throw new BadLineError(`an operation must be a map, but is ${cut(shownForm(form))}`);
  }
  const fields = form as ReadonlyMap<string, Form>;
  const process = fields.get('process') ?? undefined;
  if (process !== undefined && typeof process !== 'number') {
    if (!isTransaction(fields)) return undefined;
    const is = cut(shownForm(process));
    throw new BadLineError(`:process must be a number in a transaction, but is ${is}`);
  }
  const given = nameOf(fields.get('type'));
  const type = TYPES.find((one) => one === given);
  if (type === undefined) {
    const is = cut(shownForm(fields.get('type')));
    throw new BadLineError(`:type must be one of ${TYPES.join(', ')}, but is ${is}`);
  }
  const index = fields.get('index');
  return {
    line,
    moment,
    type,
    process,
    index: typeof index === 'number' ? index : moment,
    operations: operationsOf(fields.get('value')),
  };
}

/** Whether an operation is one of list append, whose process then must not be skipped. */
function isTransaction(fields: ReadonlyMap<string, Form>): boolean {
  const value = fields.get('value');
  const [first] = Array.isArray(value) ? (value as readonly Form[]) : [];
  const [kind] = Array.isArray(first) ? (first as readonly Form[]) : [];
  return kind !== undefined && ['append', 'r'].includes(nameOf(kind));
}

function operationsOf(value: Form | undefined): readonly ListOperation[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.map(operationOf);
  throw new BadLineError(`:value must be a vector of operations, but is ${cut(shownForm(value))}`);
}

function operationOf(form: Form): ListOperation {
  const [kind, key, argument] = Array.isArray(form) ? (form as readonly Form[]) : [];
  const name = kind === undefined ? '' : nameOf(kind);
  if (name === 'append' && key !== undefined && argument !== undefined && argument !== null) {
    return { kind: 'append', key: shownForm(key), elements: [elementOf(argument)] };
  }
  if (name === 'r' && key !== undefined && (argument ?? null) === null) {
    return { kind: 'read', key: shownForm(key), elements: [] };
  }
  if (name === 'r' && key !== undefined && Array.isArray(argument)) {
    const elements = (argument as readonly Form[]).map(elementOf);
    return { kind: 'read', key: shownForm(key), elements };
  }
  throw new BadLineError(
    `an operation must be [:append key element] or [:r key list], but is ${cut(shownForm(form))}`,
  );
}

function elementOf(form: Form): Element {
  return typeof form === 'number' || typeof form === 'string' ? form : shownForm(form);
}

function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
