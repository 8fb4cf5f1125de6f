/**
 * The lock service's advisory locks for scanners (P49), over the same bad network: the real table
 * of locks, which may be lost at any moment. If there is a second database, it uses the same
 * service, and its scanners are always somewhere in tables of the same names (P75).
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import {
  type RangeLock,
  type RangeLocks,
  RangeLockTable,
} from '../../../engine/lock-service/index.ts';
import { ScanLocks } from '../../../engine/observer/scan-locks.ts';
import { send } from './network.ts';
import { TABLES } from './plan.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

/** Dead processes release nothing; their rows must become free within the patience of a run. */
const TTL_MS = 150;
/** Every process must have an id. Nothing is drawn with this one: the service sends no message. */
const ID = 20_000;
const NO_LOCK: RangeLock = { release: () => {} };

export class ScanLockService {
  readonly #world: World;
  readonly #clock: SimulatedClock;
  #locks: RangeLockTable;

  constructor(world: World) {
    this.#world = world;
    const process = new SimulatedProcess(world.timeline, { name: 'locks', id: ID }, () => {});
    this.#clock = new SimulatedClock(world.timeline, process, { skewMs: 0, rate: 1 });
    this.#locks = new RangeLockTable(this.#clock, TTL_MS);
  }

  /** Restarts empty. */
  lose(): void {
    this.#locks = new RangeLockTable(this.#clock, TTL_MS);
  }

  locksFor(process: SimulatedProcess): RangeLocks {
    return {
      tryLock: async (range) => {
        const what = `${range.table} from ${range.from} to ${range.to}`;
        const lock = (): number => {
          this.#lockElsewhere();
          return this.#locks.lock(process.name, range) ?? 0;
        };
        try {
          const number = await this.#ask(process, lock, `locks ${what} against scanners`);
          return number === 0 ? undefined : { release: () => this.#release(process, number) };
        } catch {
          return NO_LOCK; // As in the real client: without an answer, the rows count as free.
        }
      },
    };
  }

  /** The scanners of the second database work on all its rows. */
  #lockElsewhere(): void {
    if (this.#world.knobs.secondDatabase === undefined) return;
    const other = this.#locks.of('scanner of the second database');
    for (const name of TABLES) {
      const rows = ['', '\u{10ffff}'].map((row) => ({
        name,
        table: this.#world.names.table(name),
        row,
      }));
      void new ScanLocks(other, this.#clock, 'second-database').tryLock(rows);
    }
  }

  #release(process: SimulatedProcess, number: number): void {
    const unlock = (): void => this.#locks.unlock(number);
    this.#ask(process, unlock, `releases lock ${number}`).catch(() => {});
  }

  #ask<T>(process: SimulatedProcess, arrive: () => T, what: string): Promise<T> {
    return send(this.#world, process, {
      arrive,
      gaveUp: () => new PercolatorError('STORE_UNAVAILABLE', 'the lock service did not answer'),
      describe: () => what,
    });
  }
}
