/**
 * A timestamp oracle with a script written by the test, so that a transaction receives exactly the
 * timestamps that it has in a figure of the paper.
 */
import { assert } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';

export class ScriptedOracle implements TimestampOracle {
  /** Everything handed out, oldest first. */
  readonly given: Timestamp[] = [];
  /** Awaited before a timestamp is chosen: a test may act meanwhile, or make the call fail. */
  beforeNext: (() => Promise<void> | void) | undefined;
  /** Awaited after a timestamp was chosen, before the caller receives it: the answer is slow. */
  afterNext: (() => Promise<void> | void) | undefined;
  /** Horizon of the garbage collection; here the persisted one and the known one are the same. */
  horizon: Timestamp = 0;
  /** How many drops were announced. */
  drops = 0;
  /** Awaited before the horizon is read, or raised. */
  beforeHorizon: (() => Promise<void> | void) | undefined;
  #last: Timestamp;

  /** Counts up from `first`. */
  constructor(first: Timestamp = 1) {
    this.#last = first - 1;
  }

  /** The next timestamp will be `next`, which must be larger than all before. */
  skipTo(next: Timestamp): void {
    assert(next > this.#last, 'the oracle only moves forward');
    this.#last = next - 1;
  }

  async next(): Promise<Timestamp> {
    await this.beforeNext?.();
    this.#last += 1;
    const given = this.#last;
    this.given.push(given);
    await this.afterNext?.();
    return given;
  }

  async readHorizon(): Promise<Timestamp> {
    await this.beforeHorizon?.();
    return this.horizon;
  }

  async raiseHorizon(horizon: Timestamp): Promise<Timestamp> {
    await this.beforeHorizon?.();
    this.horizon = Math.max(this.horizon, horizon);
    return this.horizon;
  }

  async announceDrop(): Promise<number> {
    this.drops += 1;
    return this.drops;
  }

  /** A script fits any database. */
  async belongTo(): Promise<void> {}
}
