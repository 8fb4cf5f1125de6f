/**
 * The timestamp oracle as processes of its own: two of them, the real allocator in each, on the
 * same row.
 *
 *     client ──▶ the oracle it believes in ──▶ the allocator ──▶ the storage's row
 *
 * After a fail-over most clients ask the other oracle; the old one does not know this, keeps its
 * range, and answers clients that still ask it. Either may die and come back. In some runs the
 * oracle with the lease hands out timestamps from memory.
 */
import { PercolatorError } from '../../../engine/base/index.ts';
import {
  type LeasedAllocator,
  openAllocator,
  openLeasedAllocator,
  type TimestampSource,
} from '../../../engine/oracle/index.ts';
import { send } from './network.ts';
import { clockOf, type Machine, untilOpen } from './machine.ts';
import { SimulatedProcess } from './process.ts';
import { hbaseOf } from './hbase/database-run.ts';
import { SimulatedBigtable } from './simulated-bigtable.ts';
import type { World } from './world.ts';

interface Oracle extends Machine {
  readonly source: Promise<TimestampSource | LeasedAllocator>;
  /** The source, once it is open. */
  opened: TimestampSource | LeasedAllocator | undefined;
}

interface Question<T> {
  readonly serve: (source: TimestampSource) => Promise<T>;
  readonly resolve: (answer: T) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * While faults happen, this percentage of requests goes to the oracle that is not active, also
 * before the first fail-over.
 */
const STALE_PERCENT = 20;
/** For draws of chance: which oracle a request goes to. */
const WHICH_ORACLE = 9;
const RESTART_MS = 10;
/**
 * For oracles that hand out timestamps from memory: how long after the death of one no timestamp is
 * handed out.
 */
const LEASE_TTL_MS = 100;

export class OracleService {
  readonly #world: World;
  readonly #oracles: Oracle[];
  #lives = 0;
  #active = 0;

  constructor(world: World) {
    this.#world = world;
    this.#oracles = [0, 1].map((index) => this.#start(index));
  }

  get machines(): readonly Machine[] {
    return this.#oracles;
  }

  failOver(): void {
    const old = this.#oracles[this.#active];
    this.#active = 1 - this.#active;
    // As long as the old oracle lives it keeps its lease, and the other one has nothing to hand
    // out.
    if (this.#isLeased) this.#world.timeline.after(LEASE_TTL_MS / 2, () => old?.process.kill());
  }

  restart(): void {
    this.#oracles[this.#active]?.process.kill();
  }

  sourceFor(client: SimulatedProcess): TimestampSource {
    return {
      allocate: (count) =>
        this.#ask(client, `for ${count} timestamps`, (source) => source.allocate(count)),
      readHorizon: () => this.#ask(client, 'for the horizon', (source) => source.readHorizon()),
      raiseHorizon: (horizon) =>
        this.#ask(client, `to raise the horizon to ${horizon}`, (source) =>
          source.raiseHorizon(horizon),
        ),
      announceDrop: () =>
        this.#ask(client, 'to announce a drop', (source) => source.announceDrop()),
    };
  }

  get #isLeased(): boolean {
    return this.#world.knobs.leasedOracles === true;
  }

  /**
   * The oracle to ask: the active one. In peace, with leased oracles, the one that has the lease
   * becomes the active one.
   */
  #meant(): number {
    if (this.#world.troubled || !this.#isLeased) return this.#active;
    const leased = this.#oracles.findIndex(
      ({ opened }) => opened !== undefined && 'isLeased' in opened && opened.isLeased,
    );
    if (leased >= 0) this.#active = leased;
    return this.#active;
  }

  #start(index: number): Oracle {
    const life = this.#lives++;
    const names = { name: `oracle ${index}, life ${life}`, id: 10_000 + life };
    const process = new SimulatedProcess(this.#world.timeline, names, () => {
      this.#world.timeline.after(RESTART_MS, () => {
        this.#oracles[index] = this.#start(index);
      });
    });
    const clock = clockOf(this.#world, process);
    const store =
      hbaseOf(this.#world, process, clock) ?? new SimulatedBigtable(this.#world, process);
    const { rangeSize } = this.#world.knobs;
    const options = { rangeSize, owner: names.name };
    const source = untilOpen(clock, () =>
      this.#isLeased
        ? openLeasedAllocator(store, clock, { ...options, leaseTimeToLiveMs: LEASE_TTL_MS })
        : openAllocator(store, { ...options, clock }),
    );
    const oracle: Oracle = { process, clock, source, opened: undefined };
    source.then(
      (opened) => {
        oracle.opened = opened;
      },
      () => {}, // Callers that wait for the source hear the error.
    );
    return oracle;
  }

  /**
   * One request. A caller that gets no answer in time may ask again: lost timestamps cost nothing,
   * and the horizon and the count of drops only grow.
   */
  #ask<T>(
    client: SimulatedProcess,
    what: string,
    serve: (source: TimestampSource) => Promise<T>,
  ): Promise<T> {
    const { knobs, timeline } = this.#world;
    const drawn = this.#world.draw(client, client.messages, WHICH_ORACLE) * 100;
    const index = this.#world.troubled && drawn < STALE_PERCENT ? 1 - this.#meant() : this.#meant();
    return new Promise((resolve, reject) => {
      const noAnswer = (): PercolatorError =>
        new PercolatorError('STORE_UNAVAILABLE', 'the oracle did not answer');
      timeline.after(3 * knobs.deadlineMs + 8 * knobs.delayMsMax, () => {
        client.deliver(() => {
          reject(noAnswer());
        });
      });
      const request = send(this.#world, client, {
        arrive: () => {
          const oracle = this.#oracles[index];
          oracle?.process.deliver(() => {
            void this.#serve(oracle, client, { serve, resolve, reject });
          });
        },
        gaveUp: noAnswer,
        describe: () => `asks oracle ${index} ${what}`,
      });
      request.catch(reject);
    });
  }

  /** The answer, a value or an error, travels back as the oracle's own message. */
  async #serve<T>(oracle: Oracle, client: SimulatedProcess, question: Question<T>): Promise<void> {
    const hear = await answerOf(oracle, question);
    const reply = send(this.#world, oracle.process, {
      arrive: () => client.deliver(hear),
      gaveUp: () => new PercolatorError('STORE_UNAVAILABLE', 'no process waits for it'),
      describe: () => `answers ${client.name}`,
    });
    reply.catch(() => {});
  }
}

/** What the client does when the answer has arrived. */
async function answerOf<T>(
  { source }: Oracle,
  { serve, resolve, reject }: Question<T>,
): Promise<() => void> {
  try {
    const answer = await serve(await source);
    return () => resolve(answer);
  } catch (error) {
    return () => reject(error);
  }
}
