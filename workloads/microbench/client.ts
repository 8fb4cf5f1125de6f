/**
 * A client of figure 8 in its own process (client-process.ts): it runs its share of each slice on
 * request. The messages between it and the benchmark (clients.ts) are sent by structured clone, so
 * that bytes stay bytes.
 */
import { type Percolator, unreachable } from '#engine';
import type { EngineSettings } from '../harness/engine-settings.ts';
import { closedLoop } from '../harness/load/loops.ts';
import { monotonicUs } from '../harness/load/monotonic-clock.ts';
import {
  openDatabase,
  serve,
  type SharedDatabase,
  tellParent,
} from '../harness/processes/index.ts';
import type { MicroCase, SliceOptions } from './case.ts';
import { Data, type Dimensions, type LastWrites } from './data.ts';
import { figure8Cases } from './figure-8-cases.ts';
import type { RecordedMessages } from './recorded-messages.ts';

/** What a client receives at its start. */
export interface ClientOptions {
  readonly database: SharedDatabase;
  readonly data: Dimensions;
  readonly engine: EngineSettings;
}

/** All messages but `begin` are answered. */
export type ToClient =
  | { readonly kind: 'begin'; readonly messages: RecordedMessages }
  | { readonly kind: 'prepare'; readonly name: string; readonly share: ClientSlice }
  | { readonly kind: 'run' }
  | { readonly kind: 'report written' };

/** A client's part of a slice. */
export type ClientSlice = Omit<SliceOptions, 'signal'>;

export interface SliceResult {
  readonly kind: 'finished';
  /** By the machine's monotonic clock, like `endedUs`. */
  readonly beganUs: number;
  readonly endedUs: number;
  /** Processor time of the client. */
  readonly cpuUs: number;
}

/** The operation that wrote each row last, as far as this client knows. */
export interface WrittenReport {
  readonly kind: 'written';
  readonly raw: readonly (readonly [row: number, operation: number])[];
  readonly percolator: readonly (readonly [row: number, operation: number])[];
}

export type FromClient = { readonly kind: 'prepared' } | SliceResult | WrittenReport;

/**
 * Serves the benchmark until it is asked to stop.
 * @param wrapped what the client uses as its database, for tests
 */
export async function serveClient(
  wrapped: (percolator: Percolator) => Percolator = (percolator) => percolator,
): Promise<void> {
  await serve<ToClient>(async ({ database, data, engine }: ClientOptions) => {
    const { percolator, close } = await openDatabase(database, engine);
    const client = new MicroClient(wrapped(percolator), new Data(data));
    return { onMessage: (message) => void client.hear(message), stop: close };
  });
}

const NEVER = new AbortController().signal;

class MicroClient {
  readonly #percolator: Percolator;
  readonly #data: Data;
  readonly #written: LastWrites = { raw: new Map(), percolator: new Map() };
  #cases: readonly MicroCase[] = [];
  #prepared: { readonly one: MicroCase; readonly share: ClientSlice } | undefined;

  constructor(percolator: Percolator, data: Data) {
    this.#percolator = percolator;
    this.#data = data;
  }

  /** Rejects if an operation fails: the process then ends, and its parent reports its name. */
  async hear(message: ToClient): Promise<void> {
    switch (message.kind) {
      case 'begin':
        this.#begin(message.messages);
        return;
      case 'prepare':
        await this.#prepare(message.name, message.share);
        return tellParent({ kind: 'prepared' } satisfies FromClient);
      case 'run':
        return tellParent((await this.#run()) satisfies FromClient);
      case 'report written': {
        const { raw, percolator } = this.#written;
        const written = { kind: 'written', raw: [...raw], percolator: [...percolator] } as const;
        return tellParent(written satisfies FromClient);
      }
      default:
        unreachable(message);
    }
  }

  #begin(messages: RecordedMessages): void {
    const given = { messages, written: this.#written };
    this.#cases = figure8Cases(this.#percolator, this.#data, given).flat().flatMap(withFollowers);
  }

  async #prepare(name: string, share: ClientSlice): Promise<void> {
    const one = this.#cases.find((candidate) => candidate.name === name);
    if (one === undefined) throw new Error(`there is no case ${name}`);
    await one.prepare?.(share.first, share.operations);
    this.#prepared = { one, share };
  }

  async #run(): Promise<SliceResult> {
    if (this.#prepared === undefined) throw new Error('nothing has been prepared');
    const { one, share } = this.#prepared;
    const cpuBefore = process.cpuUsage();
    const beganUs = monotonicUs();
    await closedLoop(one.operate, { ...share, signal: NEVER, name: one.name });
    await one.settle?.();
    const endedUs = monotonicUs();
    const { user, system } = process.cpuUsage(cpuBefore);
    return { kind: 'finished', beganUs, endedUs, cpuUs: user + system };
  }
}

function withFollowers(one: MicroCase): readonly MicroCase[] {
  return one.followedBy === undefined ? [one] : [one, ...withFollowers(one.followedBy)];
}
