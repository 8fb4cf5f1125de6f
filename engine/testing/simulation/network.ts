/**
 * The way of a message from a process to a service and back, and what can happen to it on the way.
 *
 *     sent ──delay──▶ arrives: applied ──delay──▶ answer heard
 *       │               │    └──▶ a copy arrives again, soon or much later
 *       │               └──▶ answer lost: the sender gives up at its deadline
 *       └──▶ lost, or late: the sender gives up first; a late one arrives all the same
 *
 * Every message takes its own time, so messages overtake one another.
 */
import { assert, PercolatorError } from '../../base/index.ts';
import { chooseBetween } from './chance.ts';
import type { MessageFault } from './knobs.ts';
import type { SimulatedProcess } from './process.ts';
import { MESSAGE_LIFETIME_MS, type World } from './world.ts';

export interface Message<T> {
  /** Applied at its destination, each time it arrives. */
  readonly arrive: () => T;
  /** Told to a sender who has given up. */
  readonly gaveUp: () => PercolatorError;
  /** Not before then: in ordered mode, the arrival of what was sent before. */
  readonly notBeforeMs?: number | undefined;
  /** Faults that cannot happen to it. */
  readonly immuneTo?: ReadonlySet<MessageFault> | undefined;
  /** For stories. */
  readonly describe: () => string;
}

interface Sent<T> {
  readonly answer: Promise<T>;
  readonly arrivesMs: number;
}

/** What each draw of chance about a message is for; 0 decides which fault it meets. */
const REQUEST_DELAY = 1;
const ANSWER_DELAY = 2;
const COPY_DELAY = 3;
const PAUSE = 4;

export function send<T>(world: World, process: SimulatedProcess, message: Message<T>): Sent<T> {
  const { timeline, knobs } = world;
  if (!process.isAlive) return { answer: noAnswer(), arrivesMs: timeline.nowMs };
  const number = process.messages++;
  world.messages++;
  const fault = faultOf(world, process, number, message);
  if (fault === 'crashBefore') {
    world.tell?.(process.name, 'dies');
    process.kill();
    return { answer: noAnswer(), arrivesMs: timeline.nowMs };
  }
  const delay = (purpose: number): number =>
    world.isInStep ? 1 : chooseBetween(0, knobs.delayMsMax, world.draw(process, number, purpose));
  const slowMs = fault === 'slow' ? 3 * knobs.lockTimeToLiveMs : 0;
  const arrivesMs = Math.max(timeline.nowMs + delay(REQUEST_DELAY), message.notBeforeMs ?? 0);
  const answer = new Promise<T>((resolve, reject) => {
    const giveUp = (): void => {
      timeline.after(knobs.deadlineMs, () => {
        process.deliver(() => {
          world.tell?.(process.name, `gives up on: ${message.describe()}`);
          reject(message.gaveUp());
        });
      });
    };
    const arrive = (): void => {
      applyAndAnswer(world, process, message, {
        delayMs: delay(ANSWER_DELAY) + slowMs,
        resolve,
        reject,
        isHeard: fault !== 'loseAnswer',
      });
    };
    if (fault === 'loseRequest') return giveUp();
    if (fault === 'partial') {
      timeline.at(arrivesMs, () => {
        process.deliver(() => {
          reject(message.gaveUp());
        });
      });
      return;
    }
    if (fault === 'late') {
      giveUp();
      const lateness = world.draw(process, number, COPY_DELAY);
      const lateMs = timeline.nowMs + knobs.deadlineMs + chooseBetween(0, 200, lateness);
      timeline.at(lateMs, () => applyCopy(world, message));
      world.expectUntil(lateMs);
      return;
    }
    if (fault === 'loseAnswer') giveUp();
    timeline.at(arrivesMs, arrive);
    const copyMs = copyDelayMs(fault, world.draw(process, number, COPY_DELAY));
    if (copyMs !== undefined) {
      timeline.at(arrivesMs + copyMs, () => applyCopy(world, message));
      world.expectUntil(arrivesMs + copyMs);
    }
  });
  if (fault === 'crashAfter') {
    world.tell?.(process.name, 'dies');
    process.kill();
  }
  if (fault === 'pause') {
    // Long enough for a lock's time to live, or for the collector to give the process up and collect.
    const longestMs = knobs.collector ? 2_000 : 4 * knobs.lockTimeToLiveMs;
    const ms = chooseBetween(1, longestMs, world.draw(process, number, PAUSE));
    world.tell?.(process.name, `stands still for ${ms} ms`);
    process.pause(ms);
  }
  return { answer, arrivesMs };
}

/** One for each caller: a promise that all shared would remember all who ever waited for it. */
function noAnswer(): Promise<never> {
  return new Promise(() => {});
}

function faultOf<T>(
  world: World,
  process: SimulatedProcess,
  number: number,
  message: Message<T>,
): MessageFault | undefined {
  const fault = world.faultOf(process, number);
  if (fault === undefined || message.immuneTo?.has(fault) === true) return undefined;
  world.count(fault);
  return fault;
}

function copyDelayMs(fault: MessageFault | undefined, drawn: number): number | undefined {
  if (fault === 'duplicate') return chooseBetween(0, 20, drawn);
  if (fault === 'replay') return chooseBetween(20, MESSAGE_LIFETIME_MS - 50, drawn);
  return undefined;
}

function applyAndAnswer<T>(
  world: World,
  process: SimulatedProcess,
  message: Message<T>,
  answer: {
    readonly delayMs: number;
    readonly resolve: (value: T) => void;
    readonly reject: (error: unknown) => void;
    readonly isHeard: boolean;
  },
): void {
  let hear: () => void;
  try {
    const value = message.arrive();
    hear = () => {
      answer.resolve(value);
    };
    world.tell?.(process.name, `${message.describe()} ⇒ ${describeAnswer(value)}`);
  } catch (error) {
    assert(error instanceof PercolatorError, 'a service answers with errors of the engine');
    hear = () => {
      answer.reject(error);
    };
    world.tell?.(process.name, `${message.describe()} ⇒ ${error.code}`);
  }
  if (!answer.isHeard) return;
  world.timeline.after(answer.delayMs, () => {
    process.deliver(hear);
  });
}

function applyCopy<T>(world: World, message: Message<T>): void {
  try {
    const value = message.arrive();
    world.tell?.('(a copy)', `${message.describe()} ⇒ ${describeAnswer(value)}`);
  } catch (error) {
    assert(error instanceof PercolatorError, 'a service answers with errors of the engine');
  }
}

/** What was read is part of the description. */
function describeAnswer(value: unknown): string {
  return typeof value === 'boolean' ? String(value) : 'done';
}
