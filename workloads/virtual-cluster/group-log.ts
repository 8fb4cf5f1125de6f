/**
 * The log of a store in one process, whose main thread does all the work but syncing: what is
 * written while a group is on its way to the disk is the next group, and shares its costs.
 *
 *     mutations ─▶ gathered ─▶ group: the thread, other threads, the wait for the disk ─▶ answered
 *                     ▲                                                                │
 *                     └── more of them come until the thread hears of it, which is ◀───┘
 *                         when it has nothing else to do
 *
 * So the busier the thread, the larger the groups. As in the embedded store (row-store.ts), a group
 * of provisional mutations alone waits for no disk, and takes none of the other threads. A group
 * waits longer for a disk that was idle before.
 */
import type { Costs } from './costs.ts';
import type { EventLoop } from './event-loop.ts';
import type { Machine } from './machine.ts';

/** A call that waits for the log. */
interface Waiting {
  readonly isProvisional: boolean;
  readonly hear: (writtenUs: number) => void;
}

export class GroupLog {
  /** Processor time of all groups, of the server's cores and of other threads. */
  groupsUs = 0;
  asideUs = 0;
  readonly #loop: EventLoop;
  readonly #costs: Costs;
  readonly #server: Machine;
  #gathered: Waiting[] = [];
  #isBusy = false;
  /** When the disk had nothing more to do. */
  #idleFromUs = 0;

  constructor(loop: EventLoop, costs: Costs, server: Machine) {
    this.#loop = loop;
    this.#costs = costs;
    this.#server = server;
  }

  /**
   * `hear` is called with the moment when what has been applied by now is durable; or, if all that
   * has gathered is provisional, when it is written.
   */
  add(isProvisional: boolean, hear: (writtenUs: number) => void): void {
    this.#gathered.push({ isProvisional, hear });
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#whenIdle(() => this.#write());
  }

  #write(): void {
    const group = this.#gathered;
    this.#gathered = [];
    const isSynced = !group.every(({ isProvisional }) => isProvisional);
    this.#loop.at(isSynced ? this.#sync() : this.#writeOnly(), {
      happen: () =>
        this.#whenIdle(() => {
          if (this.#gathered.length > 0) this.#write();
          else this.#isBusy = false;
          for (const { hear } of group) hear(this.#loop.nowUs);
        }),
    });
  }

  /** Returns when the group will be durable. */
  #sync(): number {
    const { perGroupUs, perGroupAsideUs } = this.#costs.calibration.log;
    this.groupsUs += perGroupUs;
    this.asideUs += perGroupAsideUs;
    const handedOverUs = this.#server.work(perGroupUs);
    const waitUs = this.#costs.logWaitUs(handedOverUs - this.#idleFromUs);
    this.#idleFromUs = handedOverUs + perGroupAsideUs + waitUs;
    return this.#idleFromUs;
  }

  /** Returns when the group will be written. */
  #writeOnly(): number {
    const { perUnsyncedGroupUs } = this.#costs.calibration.log;
    this.groupsUs += perUnsyncedGroupUs;
    return this.#server.work(perUnsyncedGroupUs);
  }

  #whenIdle(happen: () => void): void {
    const { idleUs } = this.#server.cores;
    if (idleUs <= this.#loop.nowUs) happen();
    else this.#loop.at(idleUs, { happen: () => this.#whenIdle(happen) });
  }
}
