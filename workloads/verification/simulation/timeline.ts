/**
 * Virtual time: a queue of future actions, in whole milliseconds.
 *
 *     at(time, action)   remembered
 *     run(isOver)        takes all actions of the earliest time, in the order they were added;
 *                        lets all code that they woke run until it waits again; then the next
 *                        time
 *
 * Nothing happens between two times, so an hour of waiting costs nothing, and nothing depends on
 * the speed of the machine.
 */
import { nextTick } from 'node:process';
import { systemClock } from '../../../engine/base/index.ts';

type Action = () => void;

export class Timeline {
  /** Now, in milliseconds since the run began. Only grows. */
  nowMs = 0;
  /**
   * Turns taken so far: a finer clock than `nowMs`, for judges that ask which event came first.
   * Only grows.
   */
  ticks = 0;
  /** Times at which something happens, as a binary heap; each is a key of `#actions`. */
  readonly #times: number[] = [];
  readonly #actions = new Map<number, Action[]>();

  at(timeMs: number, action: Action): void {
    const time = Math.max(this.nowMs, Math.ceil(timeMs));
    const actions = this.#actions.get(time);
    if (actions !== undefined) {
      actions.push(action);
      return;
    }
    this.#actions.set(time, [action]);
    pushTime(this.#times, time);
  }

  after(delayMs: number, action: Action): void {
    this.at(this.nowMs + delayMs, action);
  }

  /**
   * Resolves to true when `isOver` returns true, to false when nothing is left that could happen.
   */
  async run(isOver: () => boolean): Promise<boolean> {
    await systemClock.yield(); // Once in a while the world outside of the run has its turn.
    for (;;) {
      await quiet();
      this.ticks++;
      if (isOver()) return true;
      const next = this.#times[0];
      if (next === undefined) return false;
      popTime(this.#times);
      this.nowMs = next;
      const actions = this.#actions.get(next) ?? [];
      this.#actions.delete(next);
      for (const action of actions) {
        this.ticks++;
        action();
      }
    }
  }
}

/**
 * Resolves when all code that was woken waits again: the next tick comes when all reactions to
 * settled promises have run. A turn of the event loop would also do, at ten times the cost.
 */
function quiet(): Promise<void> {
  return new Promise((resolve) => {
    nextTick(resolve);
  });
}

function pushTime(heap: number[], time: number): void {
  let i = heap.push(time) - 1;
  while (i > 0) {
    const parent = (i - 1) >>> 1;
    const above = heap[parent] as number;
    if (above <= time) break;
    heap[i] = above;
    i = parent;
  }
  heap[i] = time;
}

/** Removes the smallest time. */
function popTime(heap: number[]): void {
  const last = heap.pop() as number;
  const { length } = heap;
  if (length === 0) return;
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= length) break;
    if (child + 1 < length && (heap[child + 1] as number) < (heap[child] as number)) child++;
    if ((heap[child] as number) >= last) break;
    heap[i] = heap[child] as number;
    i = child;
  }
  heap[i] = last;
}
