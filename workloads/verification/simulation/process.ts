/**
 * A simulated process, in one of its lives: it hears of the world only through `deliver`, and the world of it only
 * through `emit`.
 *
 *     alive     what arrives is heard at once, what it sends leaves at once
 *     paused    both wait until it goes on; it does not know that it stood still
 *     dead      what arrives is heard by nobody, for ever; its promises never settle; what waited never leaves
 *
 * All that a process does happens in answer to something delivered, so this is a crash, or a pause, at
 * every await that matters: between two of them nobody else can do anything. A message that waits was on its way out
 * when the process stopped: what it was sent for was decided before.
 */
import type { Timeline } from './timeline.ts';

export class SimulatedProcess {
  /** For stories: `client 1, life 2`. Also its liveness token. */
  readonly name: string;
  /** For draws of chance: unique to this life. */
  readonly id: number;
  /** Messages sent so far; numbers them. */
  messages = 0;
  readonly #timeline: Timeline;
  readonly #onDeath: (process: SimulatedProcess) => void;
  #alive = true;
  /** Stands still until then. */
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
      if (this.#timeline.nowMs < this.#pausedUntilMs) return; // Paused again meanwhile.
      const leaving = this.#leaving;
      this.#leaving = [];
      for (const leave of leaving) this.emit(leave);
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const hear of waiting) this.deliver(hear);
    });
  }

  /** Dies. Harmless if it is dead. */
  kill(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#waiting = [];
    this.#leaving = [];
    this.#onDeath(this);
  }
}
