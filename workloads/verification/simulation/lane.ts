/**
 * A connection that keeps the order of mutations, as the embedded store does (row-store.ts): the
 * mutations that a process sends in one turn form a group, which arrives as one, and never before
 * an earlier group.
 *
 * A fault meets a group as a whole. The group is refused, so that nothing of it is applied; or it
 * is lost, or applied with its answer lost, so that its sender does not know the outcome; or it is
 * delayed, with everything after it. After a group that failed, a later one may succeed.
 */
import { chooseBetween } from './chance.ts';
import { GROUP_FAULTS, type GroupFault } from './knobs.ts';
import type { SimulatedProcess } from './process.ts';
import { MESSAGE_LIFETIME_MS, type World } from './world.ts';

export interface Group {
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
  #group: Group = { arrivesMs: 0, fault: undefined };

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
  join(number: number, delayMs: number): Group {
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
