/**
 * A client of a Bigtable that suffers faults: its process dies, answers and requests are lost,
 * mutations arrive twice, and a test may do something of its own at any exact step.
 *
 *     client ──▶ FaultyBigtable ──▶ the store, shared with other clients
 *                      │
 *                      └─▶ trace: every read and mutation, in order
 *
 * A *mutation* here is the atomic unit: the mutations of one row. A `mutateRows` of three rows is
 * three mutations, delivered one after the other, so a crash may fall between them; the same goes
 * for `checkAndMutateRows`. All mutations of one client are delivered in the order sent, each after
 * the previous one has been applied, so the n-th mutation is the same one in every run.
 *
 * Faults compose. `loseRequest` and `duplicate` on one mutation make a delayed request: the caller
 * receives STORE_IN_DOUBT, and the mutation arrives when `deliverDuplicates` is called. With
 * `refuse` in place of `loseRequest`, the caller hears "no" to a request whose copy is applied.
 *
 * The client never draws at random; a predicate may.
 */
import { assert, PercolatorError } from '../base/index.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Mutation,
  RowMutation,
} from '../bigtable/index.ts';

export interface ReadCall {
  readonly kind: 'read';
  readonly operation: 'readRow' | 'readRows' | 'readRange';
  readonly table: string;
  /** The rows asked for; for a range its start and its end, as far as they were given. */
  readonly rows: readonly string[];
  readonly filters: readonly CellFilter[];
}

export interface MutationCall {
  readonly kind: 'mutation';
  readonly operation: 'checkAndMutateRow' | 'checkAndMutateRows' | 'mutateRows';
  /** 1 for the first mutation of this client. */
  readonly number: number;
  readonly table: string;
  readonly row: string;
  /** What a conditional mutation looks for; absent for a blind one. */
  readonly anyOf?: readonly CellFilter[] | undefined;
  /** What is set and erased; for a conditional mutation first `ifFound`, then `ifNotFound`. */
  readonly mutations: readonly Mutation[];
  readonly silent?: boolean | undefined;
}

export type WatchedCall = ReadCall | MutationCall;

type MutationPredicate = (call: MutationCall) => boolean;

/**
 * What every call of a crashed client throws. Not a `PercolatorError`: a dead process handles no
 * errors.
 */
export class CrashedError extends Error {
  override readonly name = 'CrashedError';
}

export class FaultyBigtable implements Bigtable {
  readonly manifest: Manifest;
  /** Every read and mutation before the crash, oldest first, also those that were lost. */
  readonly trace: WatchedCall[] = [];
  /** Awaited before a call is delivered. It must not wait for a mutation of this same client. */
  beforeCall: ((call: WatchedCall) => Promise<void> | void) | undefined;
  /**
   * Awaited after a call has succeeded and before its caller is answered. Like `beforeCall`, it
   * must not wait for a mutation of this client.
   */
  afterCall: ((call: WatchedCall) => Promise<void> | void) | undefined;

  readonly #store: Bigtable;
  readonly #losesAnswer: MutationPredicate[] = [];
  readonly #losesRequest: MutationPredicate[] = [];
  readonly #refuses: MutationPredicate[] = [];
  readonly #duplicates: MutationPredicate[] = [];
  /** Copies that are still in flight, in the order sent. */
  #inFlight: (() => Promise<unknown>)[] = [];
  #crashBefore = Infinity;
  #crashAfter = Infinity;
  #crashed = false;
  #closed = false;
  /** Mutations delivered or being delivered. */
  #mutationCount = 0;
  /** Resolves when every mutation sent so far has been delivered or lost. */
  #sent: Promise<unknown> = Promise.resolve();

  /**
   * @param manifest replaces fields of the store's own: with `{ ordered: false }` the engine takes
   *   the slower path
   */
  constructor(store: Bigtable, manifest: Partial<Manifest> = {}) {
    this.#store = store;
    this.manifest = { ...store.manifest, ...manifest };
  }

  /** Mutations delivered so far; after a run without faults, the number of places to crash. */
  get mutationCount(): number {
    return this.#mutationCount;
  }

  get isCrashed(): boolean {
    return this.#crashed;
  }

  /** The process dies now. */
  crash(): void {
    this.#crashed = true;
  }

  /** The process dies after its `number`-th mutation was applied, without receiving the answer. */
  crashAfter(number: number): void {
    this.#crashAfter = number;
  }

  /** The process dies before its `number`-th mutation is applied. */
  crashBefore(number: number): void {
    this.#crashBefore = number;
  }

  /** A mutation that the predicate accepts is applied, and its caller receives STORE_IN_DOUBT. */
  loseAnswer(predicate: MutationPredicate): void {
    this.#losesAnswer.push(predicate);
  }

  /** A mutation that the predicate accepts is lost, and its caller receives STORE_IN_DOUBT. */
  loseRequest(predicate: MutationPredicate): void {
    this.#losesRequest.push(predicate);
  }

  /**
   * A mutation that the predicate accepts is not applied: its caller receives STORE_UNAVAILABLE.
   */
  refuse(predicate: MutationPredicate): void {
    this.#refuses.push(predicate);
  }

  /** A mutation that the predicate accepts arrives again when `deliverDuplicates` is called. */
  duplicate(predicate: MutationPredicate): void {
    this.#duplicates.push(predicate);
  }

  /** Delivers the copies in flight, in the order sent. No caller receives their answers. */
  async deliverDuplicates(): Promise<void> {
    const copies = this.#inFlight;
    this.#inFlight = [];
    for (const deliver of copies) await deliver().catch(() => undefined);
  }

  readonly readRow: Bigtable['readRow'] = async (table, row, filters) => {
    const call: ReadCall = { kind: 'read', operation: 'readRow', table, rows: [row], filters };
    return this.#read(call, () => this.#store.readRow(table, row, filters));
  };

  readonly readRows: Bigtable['readRows'] = async (table, rows, filters) => {
    const call: ReadCall = { kind: 'read', operation: 'readRows', table, rows, filters };
    return this.#read(call, () => this.#store.readRows(table, rows, filters));
  };

  readonly readRange: Bigtable['readRange'] = async (table, range, filters) => {
    const rows = [range.start, range.end].filter((row) => row !== undefined);
    const call: ReadCall = { kind: 'read', operation: 'readRange', table, rows, filters };
    return this.#read(call, () => this.#store.readRange(table, range, filters));
  };

  readonly checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) =>
    this.#checkAndMutate('checkAndMutateRow', conditional);

  readonly checkAndMutateRows: Bigtable['checkAndMutateRows'] = async (conditionals) =>
    Promise.all(
      conditionals.map((conditional) =>
        this.#checkAndMutate('checkAndMutateRows', conditional).catch(survivable),
      ),
    );

  readonly mutateRows: Bigtable['mutateRows'] = async (rows) => {
    this.#assertAlive();
    const answers = await Promise.allSettled(rows.map((row) => this.#mutateRow(row)));
    this.#assertNotCrashed();
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  };

  readonly sampleRowKeys: Bigtable['sampleRowKeys'] = async (table) =>
    this.#untraced(() => this.#store.sampleRowKeys(table));

  readonly createTable: Bigtable['createTable'] = async (table, schema) => {
    await this.#untraced(() => this.#store.createTable(table, schema));
  };

  readonly listTables: Bigtable['listTables'] = async () =>
    this.#untraced(() => this.#store.listTables());

  readonly dropTable: Bigtable['dropTable'] = async (table) => {
    await this.#untraced(() => this.#store.dropTable(table));
  };

  /** Closes this client only: the store goes on, and serves its other clients. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #read<T>(call: ReadCall, deliver: () => Promise<T>): Promise<T> {
    this.#assertAlive();
    this.trace.push(call);
    await this.beforeCall?.(call);
    this.#assertNotCrashed();
    const answer = await this.#heard(deliver);
    await this.afterCall?.(call);
    this.#assertNotCrashed();
    return answer;
  }

  async #untraced<T>(deliver: () => Promise<T>): Promise<T> {
    this.#assertAlive();
    return this.#heard(deliver);
  }

  #checkAndMutate(
    operation: MutationCall['operation'],
    conditional: ConditionalRowMutation,
  ): Promise<boolean> {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    const mutations = [...ifFound, ...ifNotFound];
    return this.#send({ operation, table, row, anyOf, mutations }, () =>
      this.#store.checkAndMutateRow(conditional),
    );
  }

  #mutateRow(rowMutation: RowMutation): Promise<void> {
    return this.#send({ operation: 'mutateRows', ...rowMutation }, () =>
      this.#store.mutateRows([rowMutation]),
    );
  }

  /** Delivers the mutation when those sent before it have been delivered. */
  async #send<T>(
    mutation: Omit<MutationCall, 'kind' | 'number'>,
    deliver: () => Promise<T>,
  ): Promise<T> {
    this.#assertAlive();
    const answer = this.#sent.then(() => this.#deliver(mutation, deliver));
    this.#sent = answer.catch(() => undefined);
    return answer;
  }

  async #deliver<T>(
    mutation: Omit<MutationCall, 'kind' | 'number'>,
    deliver: () => Promise<T>,
  ): Promise<T> {
    this.#assertNotCrashed();
    this.#mutationCount += 1;
    const call: MutationCall = { kind: 'mutation', number: this.#mutationCount, ...mutation };
    if (call.number >= this.#crashBefore) this.crash();
    this.#assertNotCrashed();
    this.trace.push(call);
    await this.beforeCall?.(call);
    this.#assertNotCrashed();
    const answer = await this.#heard(() => this.#throughFaults(call, deliver));
    await this.afterCall?.(call);
    this.#assertNotCrashed();
    return answer;
  }

  async #throughFaults<T>(call: MutationCall, deliver: () => Promise<T>): Promise<T> {
    if (this.#duplicates.some((holds) => holds(call))) this.#inFlight.push(deliver);
    if (this.#losesRequest.some((holds) => holds(call))) throw inDoubt('request', call);
    if (this.#refuses.some((holds) => holds(call))) {
      throw new PercolatorError('STORE_UNAVAILABLE', `mutation ${call.number} was refused`);
    }
    const answer = await deliver();
    if (call.number >= this.#crashAfter) this.crash();
    if (this.#losesAnswer.some((holds) => holds(call))) throw inDoubt('answer', call);
    return answer;
  }

  /** Neither an answer nor an error that arrives after the crash reaches a caller. */
  async #heard<T>(deliver: () => Promise<T>): Promise<T> {
    try {
      return await deliver();
    } finally {
      this.#assertNotCrashed();
    }
  }

  #assertAlive(): void {
    this.#assertNotCrashed();
    if (this.#closed) throw new PercolatorError('STORE_CLOSED', 'this client was closed');
  }

  #assertNotCrashed(): void {
    if (this.#crashed) throw new CrashedError('the process of this client has crashed');
  }
}

/** The predicate, true at most once: for a script that wants one fault and then none. */
export function once(predicate: MutationPredicate): MutationPredicate {
  let held = false;
  return (call) => {
    if (held) return false;
    held = predicate(call);
    return held;
  };
}

function inDoubt(lost: 'request' | 'answer', call: MutationCall): PercolatorError {
  return new PercolatorError(
    'STORE_IN_DOUBT',
    `the ${lost} of mutation ${call.number}, of row ${call.row}, was lost`,
  );
}

/** The answer for one entry of a batch. A crash is no answer: it ends the caller. */
function survivable(error: unknown): Error {
  assert(error instanceof Error, 'a store rejects with errors');
  if (error instanceof CrashedError) throw error;
  return error;
}
