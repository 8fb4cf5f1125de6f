/**
 * The end of an open database (P81, closed during commits).
 *
 *     open ──begin──▶ closing: nothing new begins, waits end, commits in flight go on to their end
 *          ──end────▶ closed: nothing is sent to storage and oracle any more
 *
 * A commit that was cut off in the middle would leave its locks. All that meet them would wait for
 * their time to live, because the process lives.
 */
import { type Clock, PercolatorError } from '../base/index.ts';
import { answersTo } from '../bigtable/decorate.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';

export class Closing {
  readonly #begun = new AbortController();
  #isOver = false;

  /** Aborted as soon as the database begins to close. */
  get signal(): AbortSignal {
    return this.#begun.signal;
  }

  begin(): void {
    this.#begun.abort('closed'); // Without a reason, it would make an error with a stack.
  }

  end(): void {
    this.begin();
    this.#isOver = true;
  }

  /** For what begins: @throws STORE_CLOSED once the database is closing */
  refuseNew(): void {
    if (this.#begun.signal.aborted) throw wasClosed();
  }

  /** For each call of storage and oracle. Undefined until the database is closed. */
  refusal(): Promise<never> | undefined {
    return this.#isOver ? Promise.reject(wasClosed()) : undefined;
  }

  /**
   * Sleeps for work that may be cut off: @throws STORE_CLOSED as soon as the database is closing
   */
  async sleep(clock: Clock, ms: number): Promise<void> {
    await clock.sleep(ms, this.signal);
    this.refuseNew();
  }
}

/** Work that hears an answer after the database was closed must not go on with the oracle. */
export function oracleUntilClosed(oracle: TimestampOracle, closing: Closing): TimestampOracle {
  return {
    get horizon() {
      return oracle.horizon;
    },
    get drops() {
      return oracle.drops;
    },
    next: () => closing.refusal() ?? oracle.next(),
    readHorizon: () => closing.refusal() ?? oracle.readHorizon(),
    raiseHorizon: (horizon) => closing.refusal() ?? oracle.raiseHorizon(horizon),
    announceDrop: () => closing.refusal() ?? oracle.announceDrop(),
    belongTo: (identity) => closing.refusal() ?? oracle.belongTo(identity),
  };
}

/**
 * What hears an answer after the database was closed must not go on with the store, even if that
 * stays open. So this is below all else that asks it: batching, the oracle's row, definitions.
 */
export function storeUntilClosed(store: Bigtable, closing: Closing): Bigtable {
  /** Sends in this turn, because a storage may keep the order (`manifest.ordered`). */
  const send = <T>(call: () => Promise<T>): Promise<T> => closing.refusal() ?? call();
  const { fence } = store;
  return decorate(store, {
    fence: fence && (() => send(() => fence.call(store))),
    readRow: (...given) => send(() => store.readRow(...given)),
    readRows: (...given) => send(() => store.readRows(...given)),
    readRange: (...given) => send(() => store.readRange(...given)),
    checkAndMutateRow: (conditional) => send(() => store.checkAndMutateRow(conditional)),
    checkAndMutateRows: (conditionals) => {
      const refusal = closing.refusal();
      if (refusal === undefined) return store.checkAndMutateRows(conditionals);
      return answersTo(conditionals.map(() => refusal));
    },
    mutateRows: (rows) => send(() => store.mutateRows(rows)),
    sampleRowKeys: (table) => send(() => store.sampleRowKeys(table)),
    createTable: (...given) => send(() => store.createTable(...given)),
    listTables: () => send(() => store.listTables()),
    dropTable: (table) => send(() => store.dropTable(table)),
  });
}

export function wasClosed(): PercolatorError {
  return new PercolatorError('STORE_CLOSED', 'the database was closed');
}
