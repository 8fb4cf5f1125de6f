/**
 * The oracle that a process has opened and gives to its database. As any caller who gives one, the
 * process closes it when the database is closed: no caller waits any more for what was asked
 * before, so nothing more is sent for it.
 *
 *     database ──▶ entrance: calls  ──▶ the oracle's client: ──▶ sent, until the oracle
 *                  after the close      queues, tries again      is closed
 *                  are noticed
 *
 * So whether a closed database goes on (P81) is seen at the entrance, not by what is sent.
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import type { TimestampOracle } from '../../../engine/oracle/index.ts';

export class GivenOracle {
  readonly #onLate: () => void;
  #isClosed = false;

  /** @param onLate called when the database asks after the close */
  constructor(onLate: () => void) {
    this.#onLate = onLate;
  }

  /** To be called when the database has been closed. */
  close(): void {
    this.#isClosed = true;
  }

  /** For each request that the oracle's client is about to send. Undefined until the close. */
  refusal(): Promise<never> | undefined {
    if (!this.#isClosed) return undefined;
    return Promise.reject(new PercolatorError('STORE_CLOSED', 'the oracle was closed'));
  }

  /** The oracle for the database. */
  entrance(oracle: TimestampOracle): TimestampOracle {
    const asked = <T>(answer: Promise<T>): Promise<T> => {
      if (this.#isClosed) this.#onLate();
      return answer;
    };
    return {
      get horizon() {
        return oracle.horizon;
      },
      get drops() {
        return oracle.drops;
      },
      next: () => asked(oracle.next()),
      readHorizon: () => asked(oracle.readHorizon()),
      raiseHorizon: (horizon) => asked(oracle.raiseHorizon(horizon)),
      announceDrop: () => asked(oracle.announceDrop()),
      belongTo: (identity) => asked(oracle.belongTo(identity)),
    };
  }
}
