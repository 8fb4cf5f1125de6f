/**
 * The servers of a cluster: a connection for each of their services, and for each region server the
 * proof that it still owned its regions a moment ago.
 *
 * A region server that stood still for longer than its session with ZooKeeper has lost its regions
 * to other servers, and does not know it in the first moments after it goes on. It would answer
 * reads with what was there before (P64; promise 2 of bigtable.ts). Mutations are safe: it can no
 * longer write its log, because the master takes that over before it gives away the regions. So:
 *
 *     a mutation sent at m was applied, and an answer came soon after m
 *                                     the server cannot have lost its regions in between
 *     otherwise                       a mutation is sent after the answer; if it succeeds, the server
 *                                     owned its regions all the time
 *
 * Only the sending and receiving times of this process are known: m counts from when its request
 * was sent.
 *
 * Answers alone prove nothing, however closely they follow one another. A network may separate a
 * server from ZooKeeper, and from the master, while this process reaches it: its session ends, and
 * it goes on to answer reads until it writes. What is left is the time from the last mutation that
 * the old server has applied to the first one that the next server does: HBase needs it to recover
 * the log and to open the region, and promises none. With `proofMs` 0 each answer waits for a
 * mutation that was sent after it, and nothing is left.
 */
import { type Clock, isWithin, type Moment, momentOf } from '../../base/index.ts';
import type { Codec, Framed } from './messages.ts';

/**
 * Below the time from the end of an old server's writes to the first one of the next server: HBase
 * looks for 4 s, by default, before it believes that a log is closed, and HDFS, which closes it, is
 * told within 3 s.
 */
const PROOF_MS = 1000;
/** A longer proof would last into those 4 s, less a second for clocks that are not exact. */
export const PROOF_MS_MAX = 3000;
/** The part of a session in which a server that stood still is certain to own its regions. */
export const PROOF_PART: number = 2 / 3;
/**
 * The shortest session of a region server. It renews its session after each third of it, so that
 * 1.5 times `PROOF_MS` would do for a server that stands still; twice that leaves room.
 */
export const SESSION_MS_MIN: number = 3 * PROOF_MS;

export type Service = 'ClientService' | 'ClientMetaService' | 'MasterService';

/** A way to call one service of one server (connection.ts). */
export interface Channel {
  /** @throws HBaseFailure */
  call<Response>(
    methodName: string,
    message: { readonly type: Framed; readonly value: object; readonly response: Codec<Response> },
    timeoutMs: number,
  ): Promise<Response>;
  /** Ends the calls in flight, too. */
  close(): void;
}

export interface ServersOptions {
  readonly clock: Clock;
  /** Called once for each service of each server that is used. */
  readonly connect: (address: string, service: Service) => Channel;
  /**
   * How long a mutation that the server has applied proves its answers, in milliseconds. Default
   * 1,000. 0: each answer waits for one that was sent after it. Longer: a server that is cut off
   * from ZooKeeper and master answers with old cells for as long. Shorter: more mutations are sent
   * only as a proof.
   */
  readonly proofMs?: number | undefined;
}

interface Proof {
  /** After this moment, the server has applied a mutation, and so owned its regions. */
  owned: Moment | undefined;
  /** The mutation in flight that may prove it. */
  renewal: { readonly sent: Moment; readonly done: Promise<void> } | undefined;
}

export class Servers {
  readonly #options: ServersOptions;
  readonly #connections = new Map<string, Channel>();
  readonly #proofs = new Map<string, Proof>();
  /** How many mutations were sent only as a proof. */
  proofs = 0;

  constructor(options: ServersOptions) {
    this.#options = options;
  }

  connection(address: string, service: Service): Channel {
    const name = `${service} ${address}`;
    let connection = this.#connections.get(name);
    if (connection === undefined) {
      connection = this.#options.connect(address, service);
      this.#connections.set(name, connection);
    }
    return connection;
  }

  /**
   * Resolves if the answer that has just arrived comes from the owner of the region.
   * @param prove sends a mutation to the server; rejects if it was not applied
   */
  async confirm(address: string, prove: () => Promise<void>): Promise<void> {
    const proof = this.#proofOf(address);
    if (this.isProven(address)) return;
    const { clock } = this.#options;
    const arrived = momentOf(clock);
    for (;;) {
      const renewal = proof.renewal;
      if (renewal === undefined) break;
      await renewal.done;
      if (renewal.sent.monotonicMs >= arrived.monotonicMs) return;
    }
    const now = momentOf(clock);
    this.proofs++;
    const done = prove().then(() => {
      proof.owned = later(proof.owned, now);
    });
    proof.renewal = { sent: now, done };
    try {
      await done;
    } finally {
      proof.renewal = undefined;
    }
  }

  /** Whether an answer that arrives now needs no further proof. */
  isProven(address: string): boolean {
    const { clock, proofMs = PROOF_MS } = this.#options;
    const { owned } = this.#proofOf(address);
    return owned !== undefined && isWithin(clock, proofMs, owned);
  }

  /** Notes a mutation that the server has applied, which proves that it owned its regions. */
  applied(address: string, sent: Moment): void {
    const proof = this.#proofOf(address);
    proof.owned = later(proof.owned, sent);
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }

  #proofOf(address: string): Proof {
    let proof = this.#proofs.get(address);
    if (proof === undefined) {
      proof = { owned: undefined, renewal: undefined };
      this.#proofs.set(address, proof);
    }
    return proof;
  }
}

function later(a: Moment | undefined, b: Moment): Moment {
  return a !== undefined && a.monotonicMs > b.monotonicMs ? a : b;
}
