/**
 * The process that owns the storage, like the owner of an embedded store: it may die, and another
 * process takes its place. Everything that is in flight then meets one of two fates:
 *
 *     reads, blind mutations,          sent again to the next owner until their deadline, even if
 *     creating and dropping tables     they were applied
 *     conditional mutations            in doubt: applied if they had arrived
 */
import type { Timeline } from './timeline.ts';

export type FateWithOwner = 'sentAgain' | 'inDoubt';

export class Owner {
  readonly #timeline: Timeline;
  readonly #inFlight = new Set<() => void>();
  #backMs = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** When the storage can be reached: now, or when the next owner serves it. */
  get reachedMs(): number {
    return Math.max(this.#backMs, this.#timeline.nowMs);
  }

  /**
   * @param onDeath called if the owner dies before the message is answered
   * @returns a function to call when the message has been answered
   */
  carry(onDeath: () => void): () => void {
    this.#inFlight.add(onDeath);
    return () => this.#inFlight.delete(onDeath);
  }

  die(downMs: number): void {
    this.#backMs = this.#timeline.nowMs + downMs;
    const lost = [...this.#inFlight];
    this.#inFlight.clear();
    for (const lose of lost) lose();
  }
}
