/**
 * Virtual time: a queue of future events, in whole microseconds.
 *
 *     at(time, event)    remembers the event
 *     run(isOver)        takes all events of the earliest time, in the order they were added; lets
 *                        all code that they woke run until it waits again; then the next time
 *
 * Nothing happens between two times, so an hour of waiting costs nothing, and nothing depends on
 * the speed of the machine: no real timer takes part.
 *
 * Both simulators run on it: the virtual cluster on `EventLoop` itself, the simulator of the
 * verification on a `Timeline`, which counts in milliseconds.
 *
 * It is made for millions of events. Those of the next moments lie in a ring with a slot for each
 * microsecond, where adding and taking cost the same however many there are; a bitmap finds the
 * next slot that is not empty. Later events wait in a heap until the ring reaches them.
 */
import { nextTick } from 'node:process';
import { Heap } from '../../harness/heap.ts';

/** An object, not a function, because a message in flight is the event of its own arrival. */
export interface VirtualEvent {
  happen(): void;
}

/** Slots of the ring: so many that few events wait in the heap, and a power of two, for `MASK`. */
const SLOTS = 1 << 16;
const MASK = SLOTS - 1;
const US_PER_MS = 1_000;
/** Turns after which Node's own event loop has a turn, in which it delivers signals. */
const TURNS_BETWEEN_BREAKS = 4_096;

export class EventLoop {
  /** Now, in microseconds since the run began. Only grows. */
  nowUs = 0;
  readonly #slots: (VirtualEvent[] | undefined)[] = Array.from<undefined>({ length: SLOTS });
  /** A bit is 1 for each slot that is not empty, and in `#summary` for each word that is not 0. */
  readonly #words = new Uint32Array(SLOTS / 32);
  readonly #summary = new Uint32Array(SLOTS / 1024);
  /** Events in the ring. */
  #inRing = 0;
  readonly #later = new Heap<LaterEvent>(isBefore);
  /** Numbers them. */
  #laterAdded = 0;

  /** The event happens at `timeUs`, or now if that has passed. */
  at(timeUs: number, event: VirtualEvent): void {
    const time = Math.max(this.nowUs, Math.ceil(timeUs));
    if (time - this.nowUs < SLOTS) this.#enter(time, event);
    else this.#later.push({ time, number: this.#laterAdded++, event });
  }

  after(delayUs: number, event: VirtualEvent): void {
    this.at(this.nowUs + delayUs, event);
  }

  /**
   * Resolves to true when `isOver` returns true, to false when nothing is left that could happen.
   * Rejects with what an event throws.
   */
  run(isOver: () => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let turns = 0;
      // The tick comes when all reactions to settled promises have run, with those they cause.
      const whenQuiet = (): void => {
        if (++turns % TURNS_BETWEEN_BREAKS === 0) setImmediate(turn);
        else nextTick(turn);
      };
      const turn = (): void => {
        try {
          if (isOver()) return resolve(true);
          if (!this.#takeTurn()) return resolve(false);
        } catch (error) {
          return reject(error);
        }
        queueMicrotask(whenQuiet);
      };
      setImmediate(turn);
    });
  }

  /** All events of the earliest time. False if there are none. */
  #takeTurn(): boolean {
    const time = this.#nextTime();
    if (time === undefined) return false;
    this.nowUs = time;
    this.#enterUntil(time + SLOTS);
    const slot = time & MASK;
    const events = this.#slots[slot] ?? [];
    this.#slots[slot] = undefined;
    this.#clear(slot);
    this.#inRing -= events.length;
    for (const event of events) event.happen();
    return true;
  }

  #nextTime(): number | undefined {
    if (this.#inRing === 0) return this.#later.first?.time;
    const slot = this.#nextSlot(this.nowUs & MASK);
    return this.nowUs + ((slot - this.nowUs) & MASK);
  }

  /** The ring has come so far that it takes the later events before `endUs`. */
  #enterUntil(endUs: number): void {
    for (;;) {
      const { first } = this.#later;
      if (first === undefined || first.time >= endUs) return;
      this.#later.pop();
      this.#enter(first.time, first.event);
    }
  }

  #enter(time: number, event: VirtualEvent): void {
    const slot = time & MASK;
    const events = this.#slots[slot];
    this.#inRing++;
    if (events !== undefined) {
      events.push(event);
      return;
    }
    this.#slots[slot] = [event];
    const word = slot >>> 5;
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (slot & 31));
    const group = word >>> 5;
    this.#summary[group] = (this.#summary[group] ?? 0) | (1 << (word & 31));
  }

  #clear(slot: number): void {
    const word = slot >>> 5;
    const left = (this.#words[word] ?? 0) & ~(1 << (slot & 31));
    this.#words[word] = left;
    if (left !== 0) return;
    const group = word >>> 5;
    this.#summary[group] = (this.#summary[group] ?? 0) & ~(1 << (word & 31));
  }

  /** The first slot that is not empty, from `from` around the ring; there is one. */
  #nextSlot(from: number): number {
    const word = from >>> 5;
    const here = (this.#words[word] ?? 0) & (-1 << (from & 31));
    if (here !== 0) return (word << 5) | lowestBit(here);
    const nextWord = this.#nextWord((word + 1) & (this.#words.length - 1));
    return (nextWord << 5) | lowestBit(this.#words[nextWord] ?? 0);
  }

  #nextWord(from: number): number {
    const group = from >>> 5;
    const here = (this.#summary[group] ?? 0) & (-1 << (from & 31));
    if (here !== 0) return (group << 5) | lowestBit(here);
    for (let i = 1; ; i++) {
      const next = (group + i) & (this.#summary.length - 1);
      const bits = this.#summary[next] ?? 0;
      if (bits !== 0) return (next << 5) | lowestBit(bits);
    }
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}

/** An event beyond the ring. */
interface LaterEvent {
  readonly time: number;
  readonly number: number;
  readonly event: VirtualEvent;
}

/** Those of one time in the order they were added. */
function isBefore(a: LaterEvent, b: LaterEvent): boolean {
  return a.time < b.time || (a.time === b.time && a.number < b.number);
}

/** Virtual time in whole milliseconds, with functions as events. */
export class Timeline {
  /**
   * Turns taken so far, and events in them: a finer clock than `nowMs`, for judges that ask which
   * event came first. Only grows.
   */
  ticks = 0;
  readonly #loop = new EventLoop();

  /** Now, in milliseconds since the run began. Only grows. */
  get nowMs(): number {
    return this.#loop.nowUs / US_PER_MS;
  }

  at(timeMs: number, action: () => void): void {
    const happen = (): void => {
      this.ticks++;
      action();
    };
    this.#loop.at(US_PER_MS * Math.ceil(timeMs), { happen });
  }

  after(delayMs: number, action: () => void): void {
    this.at(this.nowMs + delayMs, action);
  }

  /** As that of the loop. */
  run(isOver: () => boolean): Promise<boolean> {
    return this.#loop.run(() => {
      this.ticks++;
      return isOver();
    });
  }
}
