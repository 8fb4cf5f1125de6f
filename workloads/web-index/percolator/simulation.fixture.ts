/**
 * A web index in virtual time: several processes on one store in memory, each call of which takes a
 * random time. One seed gives one run, and processes can be killed at any of their calls.
 */
import {
  type Bigtable,
  createRandom,
  decorate,
  openPercolator,
  type Percolator,
  type Random,
  type Worker,
} from '#engine';
import { createMemoryBigtable, VirtualClock } from '#engine/testing';
import { checkAtRest, checkLive } from '../check/check.ts';
import type { Capture } from '../model/index.ts';
import { createObservers, loadCapture, READ_AHEAD } from './pipeline.ts';
import { createTables } from './tables.ts';
import { MemoryServingIndex } from './memory-serving-index.fixture.ts';
import type { ExportTarget } from '../serving/serving-index.ts';

/** A process of the simulation: a loader and a worker. */
interface IndexProcess {
  readonly name: string;
  readonly percolator: Percolator;
  readonly worker: Worker;
  kill(): void;
}

export interface SimulationOptions {
  readonly seed: number;
  readonly processes?: number | undefined;
  /** What the exporters see of the serving index. Default: the index itself. */
  readonly servingOf?: ((serving: MemoryServingIndex) => ExportTarget) | undefined;
}

const CALL_MS_MAX = 4;

export class SimulatedIndex {
  readonly clock: VirtualClock = new VirtualClock();
  readonly random: Random;
  readonly serving: MemoryServingIndex = new MemoryServingIndex();
  /** Committed runs: the observer and the row. */
  readonly runs: { readonly observer: string; readonly row: string }[] = [];
  readonly failures: unknown[] = [];
  readonly #store = createMemoryBigtable();
  readonly #options: SimulationOptions;
  readonly #processes: IndexProcess[] = [];
  readonly #dead = new Set<string>();
  #started = 0;

  /** Use `open`. */
  private constructor(options: SimulationOptions) {
    this.#options = options;
    this.random = createRandom(options.seed);
  }

  static async open(options: SimulationOptions): Promise<SimulatedIndex> {
    const index = new SimulatedIndex(options);
    const { processes = 3 } = options;
    await index.clock.runUntil(index.#start());
    const first = index.#processes[0] as IndexProcess;
    await index.clock.runUntil(createTables(first.percolator));
    for (let i = 1; i < processes; i++) await index.clock.runUntil(index.#start());
    return index;
  }

  /** Loads captures, each by a random process, and kills processes meanwhile. */
  async load(
    captures: readonly Capture[],
    { kills = 0 }: { readonly kills?: number } = {},
  ): Promise<void> {
    const loads = captures.map((capture) => this.#loadOne(capture));
    const deaths = Array.from({ length: kills }, () => this.#killOne());
    await this.clock.runUntil(Promise.all([...loads, ...deaths]));
  }

  async #loadOne(capture: Capture): Promise<void> {
    await this.clock.sleep(this.random.integer(0, 200));
    for (;;) {
      const { name, percolator } = this.random.pick(this.#processes);
      const loaded = loadCapture(percolator, capture).then(() => true);
      const died = this.#untilDead(name).then(() => false);
      if (await Promise.race([loaded, died])) return;
    }
  }

  async #untilDead(name: string): Promise<void> {
    while (!this.#dead.has(name)) await this.clock.sleep(20, undefined, { background: true });
  }

  /** Kills a random process in the middle of what it is doing, and starts another one. */
  async #killOne(): Promise<void> {
    await this.clock.sleep(this.random.integer(0, 400));
    const killed = this.random.pick(this.#processes);
    killed.kill();
    this.#dead.add(killed.name);
    this.#processes.splice(this.#processes.indexOf(killed), 1);
    await this.#start();
  }

  /** Moves on until no observer has anything to do. */
  async rest(): Promise<void> {
    let runs: number;
    do {
      runs = this.runs.length;
      for (const { worker } of this.#processes) await this.clock.runUntil(worker.idle());
    } while (this.runs.length > runs);
    for (const { percolator } of this.#processes) await this.clock.runUntil(percolator.settled());
  }

  checkLive(): Promise<readonly string[]> {
    return this.clock.runUntil(checkLive(this.random.pick(this.#processes).percolator));
  }

  checkAtRest(captures: readonly Capture[]): Promise<readonly string[]> {
    const { serving } = this;
    const { percolator } = this.random.pick(this.#processes);
    return this.clock.runUntil(checkAtRest(percolator, { captures, serving }));
  }

  async close(): Promise<void> {
    for (const { worker, percolator } of this.#processes) {
      await this.clock.runUntil(worker.stop());
      await this.clock.runUntil(percolator.close());
    }
  }

  async #start(): Promise<void> {
    const name = `process ${++this.#started}`;
    const random = this.random.fork(name);
    const killed = Promise.withResolvers<never>();
    let isDead = false;
    const kill = (): void => {
      isDead = true;
    };
    const store = this.#slow(random.fork('store'), () => (isDead ? killed.promise : undefined));
    const liveness = { self: name, isDead: (owner: string) => this.#dead.has(owner) };
    const { clock } = this;
    const percolator = await openPercolator({ store, clock, random, liveness, ...READ_AHEAD });
    const serving = this.#options.servingOf?.(this.serving) ?? this.serving;
    const worker = percolator.startWorker(createObservers(serving), {
      concurrency: 6,
      onCommitted: ({ observer, cell: { row } }) => void this.runs.push({ observer, row }),
      onFailure: ({ error }) => void this.failures.push(error),
    });
    this.#processes.push({ name, percolator, worker, kill });
  }

  /** A client of the store whose calls take time; those of a dead process are never answered. */
  #slow(random: Random, whenDead: () => Promise<never> | undefined): Bigtable {
    const store = this.#store;
    const pause = async (): Promise<void> => {
      await whenDead();
      await this.clock.sleep(random.integer(0, CALL_MS_MAX));
      await whenDead();
    };
    const slow =
      <A extends readonly unknown[], R>(call: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        await pause();
        const answer = await call(...given);
        await pause();
        return answer;
      };
    return decorate(store, {
      manifest: { ...store.manifest, ordered: false },
      readRow: slow((...given) => store.readRow(...given)),
      readRows: slow((...given) => store.readRows(...given)),
      readRange: slow((...given) => store.readRange(...given)),
      checkAndMutateRow: slow((...given) => store.checkAndMutateRow(...given)),
      checkAndMutateRows: slow((...given) => store.checkAndMutateRows(...given)),
      mutateRows: slow((...given) => store.mutateRows(...given)),
    });
  }
}
