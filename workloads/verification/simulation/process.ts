/**
 * A simulated process and its clock. A process is in one of its lives: it hears of the world only
 * through `deliver`, and the world hears of it only through `emit`.
 *
 *     alive     deliveries are heard at once; messages leave at once
 *     paused    both wait until it continues; it does not know that it was paused
 *     dead      deliveries are never heard; its promises never settle; waiting messages never leave
 *
 * A process acts only in answer to a delivery, so it can crash or pause at every await that
 * matters: nothing else can happen between two of them. A message that waits was on its way out
 * when the process stopped; the decision to send it was made before.
 */
import type { Clock } from '../../../engine/base/index.ts';
import type { Timeline } from '../world/event-loop.ts';

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

/*
 * A process's view of virtual time. Its monotonic clock has another origin, runs faster or slower
 * than virtual time by up to one percent, and pauses while its machine is suspended. Its wall
 * clock is off by an amount that the run decides, and jumps. Its sleepers wake by the monotonic
 * clock, and only while the process is alive.
 *
 * The one assumption about clocks: a wall clock does not jump back by exactly the time for which
 * its machine is suspended at that moment. By the clocks of the process, jump and suspend together
 * would look like a moment in which nothing happened.
 */

/** A monotonic clock begins at the start of its machine, not of the run. */
const BOOT_MS = 1_000_000;

export class SimulatedClock implements Clock {
  /** How far the wall clock is off; changes when it jumps. */
  skewMs: number;
  readonly #timeline: Timeline;
  readonly #process: SimulatedProcess;
  /** Milliseconds of its monotonic clock per millisecond of virtual time. */
  readonly #rate: number;
  readonly #onSleep: () => void;
  /** Virtual time for which the machine was suspended, without the last suspend. */
  #stoodMs = 0;
  /** The last suspend, which may not be over. */
  #suspend = { fromMs: 0, untilMs: 0 };

  constructor(
    timeline: Timeline,
    process: SimulatedProcess,
    {
      skewMs,
      rate,
      onSleep = () => {},
    }: {
      readonly skewMs: number;
      readonly rate: number;
      /** Called when a sleep has begun. */
      readonly onSleep?: (() => void) | undefined;
    },
  ) {
    this.#timeline = timeline;
    this.#process = process;
    this.skewMs = skewMs;
    this.#rate = rate;
    this.#onSleep = onSleep;
  }

  wallMs(): number {
    return this.#timeline.nowMs + this.skewMs;
  }

  monotonicMs(): number {
    const { fromMs, untilMs } = this.#suspend;
    const { nowMs } = this.#timeline;
    const inSuspendMs = Math.min(nowMs, untilMs) - fromMs;
    return BOOT_MS + (nowMs - this.#stoodMs - inSuspendMs) * this.#rate;
  }

  /** Pauses the machine, and everything on it except its wall clock. */
  suspend(ms: number): void {
    const { nowMs } = this.#timeline;
    const { fromMs, untilMs } = this.#suspend;
    if (nowMs < untilMs) {
      this.#suspend = { fromMs, untilMs: Math.max(untilMs, nowMs + ms) };
    } else {
      this.#stoodMs += untilMs - fromMs;
      this.#suspend = { fromMs: nowMs, untilMs: nowMs + ms };
    }
    this.#process.pause(ms);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    const dueMs = this.monotonicMs() + Math.max(0, ms);
    if (ms > 0) this.#onSleep();
    return new Promise((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', wake); // Thousands of sleeps share one signal.
        this.#process.deliver(resolve);
      };
      const wakeWhenDue = (): void => {
        const leftMs = dueMs - this.monotonicMs();
        if (leftMs <= 0) return wake();
        const suspendedMs = Math.max(0, this.#suspend.untilMs - this.#timeline.nowMs);
        this.#timeline.after(suspendedMs + leftMs / this.#rate, wakeWhenDue);
      };
      // At once means: when all code that this moment woke waits again.
      if (ms <= 0) this.#timeline.after(0, wake);
      else this.#timeline.after(ms / this.#rate, wakeWhenDue);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  yield(): Promise<void> {
    return this.sleep(0); // At the same time, after all code that this moment woke waits again.
  }
}
