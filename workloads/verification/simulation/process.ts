/**
 * A simulated process, in one of its lives: it hears of the world only through `deliver`, and the
 * world hears of it only through `emit`.
 *
 *     alive     deliveries are heard at once; messages leave at once
 *     paused    both wait until it continues; it does not know that it was paused
 *     dead      deliveries are never heard; its promises never settle; waiting messages never leave
 *
 * A process acts only in answer to a delivery, so it can crash or pause at every await that
 * matters: nothing else can happen between two of them. A message that waits was on its way out
 * when the process stopped; the decision to send it was made before.
 */
import type { Timeline } from './timeline.ts';

export class SimulatedProcess {
  /** For stories: `client 1, life 2`. Also its liveness token. */
  readonly name: string;
  /** For draws of chance: unique to this life. */
  readonly id: number;
  /** The number of messages sent so far; numbers them. */
  messages = 0;
  readonly #timeline: Timeline;
  readonly #onDeath: (process: SimulatedProcess) => void;
  #alive = true;
  /** The process is paused until then. */
  #pausedUntilMs = 0;
  #waiting: (() => void)[] = [];
  #leaving: (() => void)[] = [];

  constructor(
    timeline: Timeline,
    { name, id }: { readonly name: string; readonly id: number },
    onDeath: (process: SimulatedProcess) => void,
  ) {
    this.#timeline = timeline;
    this.name = name;
    this.id = id;
    this.#onDeath = onDeath;
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  deliver(hear: () => void): void {
    if (!this.#alive) return;
    if (this.#timeline.nowMs < this.#pausedUntilMs) this.#waiting.push(hear);
    else hear();
  }

  emit(leave: () => void): void {
    if (!this.#alive) return;
    if (this.#timeline.nowMs < this.#pausedUntilMs) this.#leaving.push(leave);
    else leave();
  }

  pause(ms: number): void {
    const until = this.#timeline.nowMs + ms;
    if (!this.#alive || until <= this.#pausedUntilMs) return;
    this.#pausedUntilMs = until;
    this.#timeline.at(until, () => {
      if (this.#timeline.nowMs < this.#pausedUntilMs) return; // It was paused again meanwhile.
      const leaving = this.#leaving;
      this.#leaving = [];
      for (const leave of leaving) this.emit(leave);
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const hear of waiting) this.deliver(hear);
    });
  }

  /** Kills the process. Harmless if it is dead. */
  kill(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#waiting = [];
    this.#leaving = [];
    this.#onDeath(this);
  }
}
