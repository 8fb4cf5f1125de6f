/**
 * The way of a message from a process to a service and back, and what can happen to it on the way.
 *
 *     sent ──the process may pause──▶ leaves ──delay──▶ arrives: applied ──delay──▶ answer heard
 *                                       │                 │    └──▶ a copy arrives, soon or later
 *                                       │                 └──▶ answer lost: the sender gives up
 *                                       └──▶ lost or late: the sender gives up; a late one arrives
 *
 * When the owner of the storage dies, all that is in flight to it is lost at once (world.ts).
 *
 * After a fence, no copy arrives any more, and nothing whose sender has died or given up (P84).
 *
 * A sender gives up at its deadline, unless an answer that is slow is on its way. Every message
 * takes its own time, so messages overtake one another, except in a lane.
 */
import { assert, PercolatorError } from '../../../engine/base/index.ts';
import type { ExplorerRequest } from '../explorer/world/message.ts';
import { chooseBetween } from './chance.ts';
import { GROUP_FAULTS, type GroupFault, type MessageFault } from './knobs.ts';
import type { NetworkEvent } from './network-event.ts';
import type { SimulatedProcess } from './process.ts';
import { type FateWithOwner, MESSAGE_LIFETIME_MS, type World } from './world.ts';

export interface NetworkMessage<T> {
  /** Applied at its destination, each time it arrives. */
  readonly arrive: () => T;
  /** The error for a sender that has given up. */
  readonly gaveUp: () => PercolatorError;
  /** What becomes of it when the owner of the storage dies. Absent: it is not for the storage. */
  readonly fate?: FateWithOwner | undefined;
  /** Whether a fence ends it, once its sender has died or heard something (P84). Default false. */
  readonly isMutation?: boolean | undefined;
  /** Absent: it travels on its own. */
  readonly lane?: Lane | undefined;
  /** Faults that cannot happen to it. */
  readonly immuneTo?: ReadonlySet<MessageFault> | undefined;
  /** For stories. */
  readonly describe: () => string;
  /** For recordings, each time the same object. Absent: it is not recorded. */
  readonly request?: ExplorerRequest | undefined;
}

/** The purpose of each draw of chance about a message; 0 decides which fault it meets. */
const REQUEST_DELAY = 1;
const ANSWER_DELAY = 2;
const COPY_DELAY = 3;
const PAUSE = 4;

/**
 * A copy of a message arrives within this time after the message left, even if the message had to
 * wait for a delayed group. A collector whose clock is fast waits a little less than the
 * lifetime.
 */
const COPY_AGE_MS_MAX = MESSAGE_LIFETIME_MS - 10;

interface Journey<T> {
  readonly message: NetworkMessage<T>;
  readonly number: number;
  readonly fault: MessageFault | undefined;
  /** When it left for the first time. */
  readonly leftMs: number;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export function send<T>(
  world: World,
  process: SimulatedProcess,
  message: NetworkMessage<T>,
): Promise<T> {
  if (!process.isAlive) return noAnswer();
  const number = process.messages++;
  world.messages++;
  record(world, process, message, { kind: 'sent' });
  if (world.silent === 'all' || (world.silent === 'storage' && message.fate !== undefined)) {
    return giveUpInSilence(world, process, message);
  }
  const fault = faultOf(world, process, number, message);
  if (fault === 'crashBefore') {
    world.tell?.(process.name, 'dies');
    process.kill();
    return noAnswer();
  }
  const stops = fault === 'stall' || fault === 'pause';
  const joins = message.lane?.isLeaving === true;
  const isHeld = fault === 'stall' && !joins;
  if (isHeld) standStill(world, process, number, world.longestStopMs / 3);
  const answer = new Promise<T>((resolve, reject) => {
    const go = (): void => {
      const leftMs = world.timeline.nowMs;
      leave(world, process, { message, number, fault, leftMs, resolve, reject });
    };
    if (joins) go();
    else process.emit(go);
  });
  if (fault === 'crashAfter') {
    world.tell?.(process.name, 'dies');
    process.kill();
  }
  if (stops && !isHeld) standStill(world, process, number, 1);
  return answer;
}

function giveUpInSilence<T>(
  world: World,
  process: SimulatedProcess,
  message: NetworkMessage<T>,
): Promise<T> {
  return new Promise((_, reject) => {
    giveUp(world, process, { message, reject, afterMs: world.knobs.deadlineMs });
  });
}

/** The sender hears, after this time, that there will be no answer. */
function giveUp<T>(
  world: World,
  process: SimulatedProcess,
  {
    message,
    reject,
    afterMs,
    told,
  }: Pick<Journey<T>, 'message' | 'reject'> & {
    readonly afterMs: number;
    readonly told?: () => void;
  },
): void {
  world.timeline.after(afterMs, () => {
    process.deliver(() => {
      told?.();
      world.tell?.(process.name, `gives up on: ${message.describe()}`);
      record(world, process, message, { kind: 'given up' });
      reject(message.gaveUp());
    });
  });
}

/**
 * Pauses the process, perhaps for longer than a lock lives, or until the collector has given up the
 * process and collected.
 */
function standStill(
  world: World,
  process: SimulatedProcess,
  number: number,
  shortestMs: number,
): void {
  const drawn = world.draw(process, number, PAUSE);
  const ms = chooseBetween(Math.ceil(shortestMs), world.longestStopMs, drawn);
  world.tell?.(process.name, `pauses for ${ms} ms`);
  world.record?.({ kind: 'paused', process: process.name });
  process.pause(ms);
}

/**
 * A new promise for each caller: a shared one would keep references to all that ever waited for it.
 */
function noAnswer(): Promise<never> {
  return new Promise(() => {});
}

function leave<T>(world: World, process: SimulatedProcess, journey: Journey<T>): void {
  const { timeline, knobs } = world;
  const { message, number, fault, reject } = journey;
  const { fences } = world;
  let isTold = false;
  const isEnded = (): boolean => message.isMutation === true && fences < world.fences;
  const delay = (purpose: number): number =>
    world.isInStep ? 1 : chooseBetween(0, knobs.delayMsMax, world.draw(process, number, purpose));
  const requestMs = delay(REQUEST_DELAY);
  const group = message.lane?.join(number, requestMs);
  const wayMs = group?.arrivesMs ?? timeline.nowMs + requestMs;
  const arrivesMs = message.fate === undefined ? wayMs : Math.max(wayMs, world.owner.reachedMs);
  const told = (): void => {
    isTold = true;
  };
  const giveUpAfter = (afterMs: number): void =>
    giveUp(world, process, { message, reject, afterMs, told });
  const drawn = world.draw(process, number, COPY_DELAY);
  const lateMs = timeline.nowMs + knobs.deadlineMs + chooseBetween(0, 200, drawn);
  if (fault === 'late') arriveAgain(world, process, { message, isEnded }, lateMs);
  if (fault === 'partial') giveUpAfter(arrivesMs - timeline.nowMs);
  if (fault === 'loseRequest' || fault === 'loseAnswer' || fault === 'late') {
    giveUpAfter(knobs.deadlineMs);
  }
  if (fault === 'loseRequest' || fault === 'late' || fault === 'partial') return;
  if (fault === 'stall' && drawn < 0.5) giveUpAfter(0); // Its deadline passed during the pause.
  const slowMs = fault === 'slow' ? 3 * knobs.lockTimeToLiveMs : 0;
  const delayMs = delay(ANSWER_DELAY) + slowMs;
  const isHeard = fault !== 'loseAnswer';
  const trip = takeTrip(world, process, journey, delayMs);
  let hasArrived = false;
  timeline.at(arrivesMs, () => {
    if (trip.isLost || (isEnded() && (isTold || !process.isAlive))) return;
    hasArrived = true;
    applyAndAnswer(world, process, inGroup(message, group), { ...trip, delayMs, isHeard });
  });
  const copyMs = copyDelayMs(fault, drawn);
  if (copyMs !== undefined && group?.fault === undefined) {
    const latestMs = Math.max(arrivesMs, timeline.nowMs + COPY_AGE_MS_MAX);
    // A group that was lost with the owner is lost as a whole: also no copy of a part arrives.
    const isLost = (): boolean => isEnded() || (group !== undefined && !hasArrived);
    const copy = { message, isEnded: isLost };
    arriveAgain(world, process, copy, Math.min(arrivesMs + copyMs, latestMs));
  }
}

/**
 * The way of a message to the storage's owner, which may die before the sender hears an answer.
 * A message that is sent again takes another trip, to an owner that may die as well.
 */
function takeTrip<T>(
  world: World,
  process: SimulatedProcess,
  journey: Journey<T>,
  delayMs: number,
): {
  isLost: boolean;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
} {
  const { timeline, owner, knobs } = world;
  const { message, leftMs, resolve, reject } = journey;
  if (message.fate === undefined) return { isLost: false, resolve, reject };
  const isLate = (): boolean => timeline.nowMs > leftMs + knobs.deadlineMs;
  const sendAgain = (): void => {
    const again = takeTrip(world, process, journey, delayMs);
    timeline.at(owner.reachedMs, () => {
      if (again.isLost) return;
      applyAndAnswer(world, process, message, { ...again, delayMs, isHeard: true });
    });
  };
  const answered = owner.carry(() => {
    trip.isLost = true;
    process.deliver(() => {
      if (message.fate === 'sentAgain' && !isLate()) sendAgain();
      else reject(message.gaveUp());
    });
  });
  const hear =
    <V>(settle: (value: V) => void) =>
    (value: V): void => {
      if (trip.isLost) return;
      answered();
      settle(value);
    };
  const trip = { isLost: false, resolve: hear(resolve), reject: hear(reject) };
  return trip;
}

/** The message, with the fault of its group. */
function inGroup<T>(
  message: NetworkMessage<T>,
  group: MutationGroup | undefined,
): NetworkMessage<T> {
  const fault = group?.fault;
  if (fault === undefined || fault === 'delayGroup') return message;
  const refused = new PercolatorError('STORE_UNAVAILABLE', 'the group was refused');
  return {
    ...message,
    arrive: () => {
      if (fault === 'refuseGroup') throw refused;
      if (fault === 'loseGroupAnswer') message.arrive();
      throw message.gaveUp();
    },
  };
}

function faultOf<T>(
  world: World,
  process: SimulatedProcess,
  number: number,
  message: NetworkMessage<T>,
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
  message: NetworkMessage<T>,
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
    record(world, process, message, { kind: 'applied', answer: value, isHeard: answer.isHeard });
  } catch (error) {
    assert(error instanceof PercolatorError, 'a service answers with errors of the engine');
    hear = () => {
      answer.reject(error);
    };
    world.tell?.(process.name, `${message.describe()} ⇒ ${error.code}`);
    record(world, process, message, {
      kind: 'applied',
      answer: error.code,
      isHeard: answer.isHeard,
    });
  }
  if (!answer.isHeard) return;
  world.timeline.after(answer.delayMs, () => {
    process.deliver(hear);
  });
}

function arriveAgain<T>(
  world: World,
  process: SimulatedProcess,
  { message, isEnded }: { readonly message: NetworkMessage<T>; readonly isEnded: () => boolean },
  timeMs: number,
): void {
  world.expectUntil(timeMs);
  world.timeline.at(timeMs, () => {
    if (isEnded()) return;
    try {
      const value = message.arrive();
      world.tell?.('(a copy)', `${message.describe()} ⇒ ${describeAnswer(value)}`);
      record(world, process, message, { kind: 'applied again', answer: value, isHeard: false });
    } catch (error) {
      assert(error instanceof PercolatorError, 'a service answers with errors of the engine');
      const { code } = error;
      world.tell?.('(a copy)', `${message.describe()} ⇒ ${code}`);
      record(world, process, message, { kind: 'applied again', answer: code, isHeard: false });
    }
  });
}

type RecordedPart<E> = E extends { readonly request: unknown }
  ? Omit<E, 'process' | 'request'>
  : never;

function record(
  world: World,
  { name: process }: SimulatedProcess,
  { request }: Pick<NetworkMessage<unknown>, 'request'>,
  part: RecordedPart<NetworkEvent>,
): void {
  if (request !== undefined) world.record?.({ ...part, process, request });
}

/** What a read returned is part of `describe`. */
function describeAnswer(value: unknown): string {
  return typeof value === 'boolean' ? String(value) : 'done';
}

/*
 * A connection that keeps the order of mutations, as the embedded store does (row-store.ts): the
 * mutations that a process sends in one turn form a group, which arrives as one, and never before
 * an earlier group.
 *
 * A fault meets a group as a whole. The group is refused, so that nothing of it is applied; or it
 * is lost, or applied with its answer lost, so that its sender does not know the outcome; or it is
 * delayed, with everything after it. After a group that failed, a later one may succeed.
 */

interface MutationGroup {
  readonly arrivesMs: number;
  readonly fault: GroupFault | undefined;
}

/** For draws of chance about the group that begins with a message. */
const FAULT = 5;
const DELAY = 6;
/** A delayed group arrives within the lifetime of a message; network.ts bounds its copies. */
const DELAY_MS_MAX = MESSAGE_LIFETIME_MS / 2;

export class Lane {
  readonly #world: World;
  readonly #process: SimulatedProcess;
  #leftMs = -1;
  #group: MutationGroup = { arrivesMs: 0, fault: undefined };

  constructor(world: World, process: SimulatedProcess) {
    this.#world = world;
    this.#process = process;
  }

  /**
   * Whether a group leaves at this moment: mutations sent now leave with it, even if a fault stops
   * their sender now.
   */
  get isLeaving(): boolean {
    return this.#leftMs === this.#world.timeline.nowMs;
  }

  /**
   * The group of a message that leaves now. If the message begins a group, the group takes
   * `delayMs`.
   */
  join(number: number, delayMs: number): MutationGroup {
    const { timeline } = this.#world;
    if (this.isLeaving) return this.#group;
    this.#leftMs = timeline.nowMs;
    const fault = this.#faultOf(number);
    if (fault !== undefined) this.#world.count(fault);
    const drawn = this.#world.draw(this.#process, number, DELAY);
    const heldUpMs = fault === 'delayGroup' ? chooseBetween(20, DELAY_MS_MAX, drawn) : 0;
    const earliestMs = Math.max(timeline.nowMs + delayMs + heldUpMs, this.#world.owner.reachedMs);
    const arrivesMs = Math.max(earliestMs, this.#group.arrivesMs);
    this.#group = { arrivesMs, fault };
    return this.#group;
  }

  #faultOf(number: number): GroupFault | undefined {
    const { knobs, troubled } = this.#world;
    if (!troubled) return undefined;
    if (this.#world.isUnavailable('')) return 'refuseGroup';
    let drawn = this.#world.draw(this.#process, number, FAULT);
    for (const fault of GROUP_FAULTS) {
      drawn -= knobs.groups?.[fault] ?? 0;
      if (drawn < 0) return fault;
    }
    return undefined;
  }
}
