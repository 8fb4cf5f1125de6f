/**
 * A queue with servers, first come first served: the cores of a machine, its disks, its card.
 *
 * The order of the calls decides which work comes first, and each call says when its work will be
 * finished. So a station needs no event of its own: later work cannot overtake earlier work.
 */
import { assert } from '#engine/base';

export class Station {
  readonly servers: number;
  /** Pieces of work so far. */
  arrivals = 0;
  /** Time in which servers worked, or will have to for what has come. */
  busyUs = 0;
  /** Time that pieces of work waited for a server, in all. */
  waitedUs = 0;
  /** When each server has finished what has come so far. */
  readonly #freeUs: Float64Array;
  #standsUntilUs = 0;

  constructor(servers: number) {
    assert(Number.isSafeInteger(servers) && servers > 0, 'a station has servers');
    this.servers = servers;
    this.#freeUs = new Float64Array(servers);
  }

  /** Work of `serviceUs` comes now; returns when it will be finished. */
  take(nowUs: number, serviceUs: number): number {
    const free = this.#freeUs;
    let first = 0;
    let freeUs = free[0] ?? 0;
    for (let i = 1; i < free.length && freeUs > nowUs; i++) {
      const other = free[i] ?? 0;
      if (other >= freeUs) continue;
      first = i;
      freeUs = other;
    }
    const waitUs = freeUs > nowUs ? freeUs - nowUs : 0;
    const finishUs = nowUs + waitUs + serviceUs;
    free[first] = finishUs;
    this.arrivals++;
    this.busyUs += serviceUs;
    this.waitedUs += waitUs;
    return finishUs;
  }

  /** No server works for this long from `nowUs` on, which may be the end of an earlier stand. */
  stand(nowUs: number, us: number): void {
    const free = this.#freeUs;
    this.#standsUntilUs = nowUs + us;
    for (let i = 0; i < free.length; i++) free[i] = Math.max(free[i] ?? 0, nowUs) + us;
  }

  /** All work that has come is lost. What of it was not finished does not count in `busyUs`. */
  clear(nowUs: number): void {
    this.busyUs -= this.backlogUs(nowUs);
    this.#freeUs.fill(nowUs);
    this.#standsUntilUs = 0;
  }

  /** When no server works any more, if nothing else comes. */
  get idleUs(): number {
    return Math.max(...this.#freeUs);
  }

  /** Time of work that has come and is not finished. */
  backlogUs(nowUs: number): number {
    const fromUs = Math.max(nowUs, this.#standsUntilUs);
    return this.#freeUs.reduce((sum, freeUs) => sum + Math.max(0, freeUs - fromUs), 0);
  }
}
