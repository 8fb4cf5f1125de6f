/** A client of figure 8 in its own process: it runs its share of each slice on request. */
import { type Percolator, unreachable } from '#engine';
import { monotonicUs } from '../harness/load/monotonic-clock.ts';
import { tellParent } from '../harness/processes/index.ts';
import type { Case } from './case.ts';
import type { FromClient, SliceResult, ClientSlice, ToClient } from './client-messages.ts';
import { closedLoop } from '../harness/load/closed-loop.ts';
import type { Data } from './data.ts';
import { figure8Cases, type LastWrites } from './figure-8-cases.ts';
import type { RecordedMessages } from './recorded-messages.ts';

const NEVER = new AbortController().signal;

export class Client {
  readonly #percolator: Percolator;
  readonly #data: Data;
  readonly #written: LastWrites = { raw: new Map(), percolator: new Map() };
  #cases: readonly Case[] = [];
  #prepared: { readonly one: Case; readonly share: ClientSlice } | undefined;

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
        return tell({ kind: 'prepared' });
      case 'run':
        return tell(await this.#run());
      case 'report written': {
        const { raw, percolator } = this.#written;
        return tell({ kind: 'written', raw: [...raw], percolator: [...percolator] });
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
    await closedLoop(one.operate, { ...share, signal: NEVER });
    await one.settle?.();
    const endedUs = monotonicUs();
    const { user, system } = process.cpuUsage(cpuBefore);
    return { kind: 'finished', beganUs, endedUs, cpuUs: user + system };
  }
}

function withFollowers(one: Case): readonly Case[] {
  return one.followedBy === undefined ? [one] : [one, ...withFollowers(one.followedBy)];
}

function tell(message: FromClient): void {
  tellParent(message);
}
