/** The clients of one system, from the first load to the last. */
import { Crew } from '../harness/processes/index.ts';
import { Clients, type OfferedLoad, type RunResult } from './clients.ts';
import type { Population } from './model/index.ts';
import type { System } from './systems/database.ts';

export interface SessionOptions {
  readonly population: Population;
  readonly clients: number;
  /** Differs between sessions on one database, so that their trades have different ids. */
  readonly number: number;
  /** What counts as the end of the initial trades, by the clock that all processes share. */
  readonly originMs: number;
  readonly signal: AbortSignal;
}

/** More trades than any session makes. */
const TRADE_IDS = 1e9;

export class Session implements AsyncDisposable {
  readonly system: System;
  readonly #crew: Crew;
  readonly #clients: Clients;

  private constructor(system: System, crew: Crew) {
    this.system = system;
    this.#crew = crew;
    this.#clients = new Clients(crew);
  }

  static async open(system: System, options: SessionOptions): Promise<Session> {
    const { population, clients, number, originMs, signal } = options;
    const session = new Session(system, new Crew(signal));
    const { scale, seed, roster } = population;
    const firstTradeId = roster.trades.lastId + 1 + number * TRADE_IDS;
    const database = system.address;
    try {
      await session.#clients.start({ database, scale, seed, clients, firstTradeId, originMs });
      return session;
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Trade-Results that the brokerage has acknowledged. */
  get tradeResults(): number {
    return this.#clients.tradeResults;
  }

  /** The error of the first transaction that failed; null if none has. */
  get firstFailure(): string | null {
    return this.#clients.firstFailure;
  }

  run(offered: OfferedLoad): Promise<RunResult> {
    const parts = { clients: this.#clients.pids, ...this.system.servers };
    return this.#clients.run(offered, parts);
  }

  /** Deletes what earlier runs have left, so that the next run does not pay for it. */
  collect(): Promise<void> {
    return this.#clients.collect();
  }

  /** Ends the clients in an orderly way: afterwards none of their work is in flight. */
  async stop(): Promise<void> {
    await this.#crew.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#crew[Symbol.asyncDispose]();
  }
}
