/**
 * How long a worker rests between two scans that find nothing new.
 *
 *     changes come:     ──scan─5ms─scan─5ms─scan──
 *     none for long:    ──scan─────────250ms─────────scan──
 *     a hint:           ──scan───────╳scan─5ms─scan─────────250ms─────────scan──
 *
 * A rest is a fraction of the time since anything happened. So a change waits at most that fraction
 * of the pause before it, and a worker with nothing to do for long costs almost nothing. Where the
 * storage hints that another process has written (`Bigtable.onChange`), the rest ends at once. The
 * change that caused the hint may not be visible yet, so there is one more scan soon after. Most
 * hints are not about this worker's cells, so they do not count as something happening: an oracle
 * that renews its lease must not keep every worker busy. A hint that is lost costs one rest.
 *
 * After a scan that finds nothing new there is at least the shortest rest, whatever is hinted: a
 * busy storage hints without pause.
 */
import type { Clock } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import type { Settings } from './worker-options.ts';

/** A rest as a fraction of the time in which nothing has happened. */
const PART = 1 / 16;

export class Rest {
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #endHints: () => void;
  /** Aborted by any reason to scan that has come since the last scan began. */
  #woken = new AbortController();
  /** Whether there was such a reason for the last scan. */
  #wasWoken = false;
  /** When anything last happened, on our clock. Only grows. */
  #busyMs: number;

  constructor(clock: Clock, store: Bigtable, settings: Settings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#busyMs = clock.monotonicMs();
    const grows = settings.idleMsMax > settings.idleMs; // Otherwise no hint can shorten a rest.
    this.#endHints = (grows ? store.onChange?.(() => this.wake()) : undefined) ?? (() => {});
  }

  /** Called before each scan: the scan may miss what comes from now on. */
  scanBegins(): void {
    this.#wasWoken = this.#woken.signal.aborted;
    if (this.#wasWoken) this.#woken = new AbortController();
  }

  /** There is a reason to scan soon. */
  wake(): void {
    this.#woken.abort('woken'); // Without a reason, each hint would make an error with a stack.
  }

  /** The scan found something to do. */
  wasBusy(): void {
    this.#busyMs = this.#clock.monotonicMs();
  }

  /** Resolves when it is time to scan again, or at once when `signal` aborts. */
  async sleep(signal: AbortSignal): Promise<void> {
    const { idleMs, idleMsMax } = this.#settings;
    const quietMs = this.#clock.monotonicMs() - this.#busyMs;
    const moreMs = this.#wasWoken ? 0 : Math.min(idleMsMax, quietMs * PART) - idleMs;
    await this.#clock.sleep(idleMs, signal);
    if (moreMs > 0 && !signal.aborted) await this.#clock.sleep(moreMs, this.#woken.signal);
  }

  /** Ends the hints and the rest. */
  end(): void {
    this.#endHints();
    this.#woken.abort();
  }
}
