/**
 * A case: one kind of operation whose speed is measured, and how it is measured next to others.
 *
 * Cases that are compared form a group. In each round every case of a group does the same number of
 * operations, in an order drawn from the seed. So no case always runs first, and a disturbance of
 * the machine affects all of them. A group is measured alone, as the paper measures reads and
 * writes: what reads leave in the processor's caches, writes would replace, and the disk would
 * recover from writes while reads run.
 */
import { logAverage } from 'simple-statistics';
import type { Random } from '#engine';
import { shuffled } from '../harness/chance.ts';
import { closedLoop } from '../harness/load/loops.ts';
import {
  type ProcessorTime,
  processorTime,
  type Servers,
  since,
} from '../harness/processes/processor-time.ts';

export interface MicroCase {
  readonly name: string;
  /** Called before each slice with the operations that follow. */
  readonly prepare?: ((first: number, operations: number) => Promise<void>) | undefined;
  /** Each number is used once; several operations run at the same time. */
  readonly operate: (operation: number) => Promise<void>;
  /** Resolves when nothing of the slice runs in the background any more; its time counts. */
  readonly settle?: (() => Promise<void> | undefined) | undefined;
  /** Runs immediately after this case, because it continues its work. */
  readonly followedBy?: MicroCase | undefined;
}

/** The measurement of one case in one round. */
export interface Slice extends ProcessorTime {
  readonly operations: number;
  readonly seconds: number;
}

/** The operations of a slice, and how many of them are in flight. */
export interface SliceOptions {
  readonly first: number;
  readonly operations: number;
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/** Runs a slice of a case, in this process or in others, until all of its work is done. */
export type RunSlice = (one: MicroCase, slice: SliceOptions) => Promise<Slice>;

/** Slices by the name of their case, in the order of the rounds. */
export type Slices = ReadonlyMap<string, readonly Slice[]>;

export interface Rounds {
  readonly rounds: number;
  /** Intended duration of a slice. */
  readonly sliceSeconds: number;
  readonly warmupSeconds: number;
  /** Maximum number of operations per slice: no row may repeat within one. */
  readonly operationsMax: number;
  readonly concurrency: number;
  /**
   * Number of the first operation of each group's first case: larger than those of earlier
   * measurements on the same data. The other cases begin up to `operationsMax` later.
   */
  readonly firstOperation: number;
  readonly random: Random;
  /** Runs in this process (`runHere`), or in several (clients.ts). */
  readonly runSlice: RunSlice;
  readonly signal: AbortSignal;
  readonly onSlice?: ((name: string) => void) | undefined;
}

/** One group after the other: warms up its cases, then measures all of them in each round. */
export async function measureInRounds(
  groups: readonly (readonly MicroCase[])[],
  rounds: Rounds,
): Promise<Slices> {
  const slices = new Map<string, Slice[]>();
  for (const group of groups) {
    const { length } = group;
    const runners = group.map((one, i) => new Runner(one, rounds, firstOf(i, length, rounds)));
    const operations = await warmUp(runners, rounds);
    for (let round = 0; round < rounds.rounds; round++) {
      for (const runner of shuffled(rounds.random, runners)) {
        await runner.measure(operations, slices);
      }
    }
  }
  return slices;
}

/**
 * The cases of a group begin in different places, as far apart as the rows allow: otherwise a case
 * would find in the processor's cache the rows that another case has just used. (Operations of
 * several rows are less far apart, or not at all.)
 */
function firstOf(i: number, cases: number, { firstOperation, operationsMax }: Rounds): number {
  return firstOperation + Math.floor((i * operationsMax) / cases);
}

/** Resolves to the number of operations per slice of this group. */
async function warmUp(group: readonly Runner[], rounds: Rounds): Promise<number> {
  const rates: number[] = [];
  for (const runner of group) rates.push(await runner.warmUp(rounds.warmupSeconds));
  const operations = Math.round(logAverage(rates) * rounds.sliceSeconds);
  return Math.min(rounds.operationsMax, Math.max(rounds.concurrency, operations));
}

class Runner {
  readonly #case: MicroCase;
  readonly #rounds: Rounds;
  readonly #followedBy: Runner | undefined;
  readonly #first: number;
  /** The number of the next operation; it only grows. */
  #next: number;

  constructor(one: MicroCase, rounds: Rounds, first: number) {
    this.#case = one;
    this.#rounds = rounds;
    this.#first = first;
    this.#next = first;
    this.#followedBy = one.followedBy && new Runner(one.followedBy, rounds, first);
  }

  /** Runs for a while, in growing slices; resolves to operations per second. */
  async warmUp(seconds: number): Promise<number> {
    const { concurrency, operationsMax } = this.#rounds;
    let operations = Math.min(operationsMax, concurrency);
    for (let spent = 0; ;) {
      const slice = await this.#slice(operations);
      await this.#followedBy?.warmUpAlong(operations);
      spent += slice.seconds;
      if (spent >= seconds) {
        this.roundUp();
        return operations / slice.seconds;
      }
      operations = Math.min(operationsMax, operations * 2);
    }
  }

  /** Makes this case as far from the others as before the warm-ups, whose sizes differed. */
  roundUp(): void {
    const { operationsMax } = this.#rounds;
    const rounds = Math.ceil((this.#next - this.#first) / operationsMax);
    this.#next = this.#first + rounds * operationsMax;
    this.#followedBy?.roundUp();
  }

  async warmUpAlong(operations: number): Promise<void> {
    await this.#slice(operations);
  }

  async measure(operations: number, into: Map<string, Slice[]>): Promise<void> {
    const { name } = this.#case;
    const slice = await this.#slice(operations);
    into.set(name, [...(into.get(name) ?? []), slice]);
    this.#rounds.onSlice?.(name);
    await this.#followedBy?.measure(operations, into);
  }

  async #slice(operations: number): Promise<Slice> {
    const { concurrency, signal, runSlice } = this.#rounds;
    const first = this.#next;
    this.#next += operations;
    return await runSlice(this.#case, { first, operations, concurrency, signal });
  }
}

/** Runs slices in this process. */
export function runHere(servers: Servers): RunSlice {
  return async ({ name, operate, prepare, settle }, slice) => {
    const { first, operations } = slice;
    await prepare?.(first, operations);
    const cpuBefore = processorTime(servers);
    const startedMs = performance.now();
    await closedLoop(operate, { ...slice, name });
    await settle?.();
    const seconds = (performance.now() - startedMs) / 1_000;
    return { operations, seconds, ...since(cpuBefore, processorTime(servers)) };
  };
}
