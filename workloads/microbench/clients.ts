/**
 * `--processes N`: N processes are the client together. Each one runs its share of every slice,
 * with its share of the callers, all at the same time:
 *
 *     parent ──"prepare your share"──▶ clients ──"prepared"──▶ parent
 *     parent ──"run"──▶ clients ──"finished"──▶ parent
 *
 * A slice lasts from the first begin until the last end, by the clock that all processes of the
 * machine share; their CPU times are added up. The parent owns the embedded store and serves the
 * clients, so its CPU time is that of this store's server. At the end each client reports what it
 * has written, for the check.
 */
import { Answers, type Member } from '../harness/processes/index.ts';
import type { RunSlice, SliceOptions } from './case.ts';
import type {
  ClientOptions,
  FromClient,
  SliceResult,
  WrittenReport,
  ClientSlice,
  ToClient,
} from './client-messages.ts';
import type { LastWrites } from './figure-8-cases.ts';
import { processorTime, type Servers, since } from '../harness/processes/processor-time.ts';
import type { RecordedMessages } from './recorded-messages.ts';
import type { Services } from './services.ts';

export interface Clients {
  readonly runSlice: RunSlice;
  /** Adds what the clients have written to `written`, and stops them. */
  finish(written: LastWrites): Promise<void>;
}

export interface ClientsOptions {
  readonly count: number;
  readonly options: Omit<ClientOptions, 'database'>;
  readonly messages: RecordedMessages;
  readonly servers: Servers;
  /** Whether this process owns the storage (the embedded store) and serves it to the clients. */
  readonly isServer: boolean;
  /** Default: client-process.ts. */
  readonly program?: URL | undefined;
}

interface Client {
  readonly member: Member;
  readonly answers: Answers;
}

const PROGRAM = new URL('client-process.ts', import.meta.url);

/**
 * The clients belong to the crew of the services, which reports the name of a failed member and
 * leaves no process running.
 */
export async function startClients(
  { crew, database }: Services,
  { count, options, messages, servers, isServer, program = PROGRAM }: ClientsOptions,
): Promise<Clients> {
  const clients: Client[] = [];
  for (let i = 1; i <= count; i++) {
    const answers = new Answers();
    const clientOptions = { ...options, database } satisfies ClientOptions;
    const member = {
      name: `client ${i}`,
      program,
      options: clientOptions,
      onMessage: answers.take,
    };
    clients.push({ member: await crew.start(member), answers });
  }
  for (const { member } of clients) member.send({ kind: 'begin', messages } satisfies ToClient);
  const askAll = (message: (i: number) => ToClient): Promise<readonly FromClient[]> =>
    crew.during(Promise.all(clients.map((client, i) => ask(client, message(i)))));

  return {
    runSlice: async ({ name }, slice) => {
      await askAll((i) => ({ kind: 'prepare', name, share: shareOf(slice, i, count) }));
      const before = processorTime(servers);
      const results = (await askAll(() => ({ kind: 'run' }))) as readonly SliceResult[];
      const { clientUs: ownUs, serverUs, servicesUs } = since(before, processorTime(servers));
      const clientUs = results.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
      const { operations } = slice;
      const server = isServer ? ownUs : serverUs;
      return { operations, seconds: secondsOf(results), clientUs, serverUs: server, servicesUs };
    },
    finish: async (written) => {
      const all = (await askAll(() => ({ kind: 'report written' }))) as readonly WrittenReport[];
      for (const { raw, percolator } of all) {
        addLatest(written.raw, raw);
        addLatest(written.percolator, percolator);
      }
      await crew.stop(clients.map(({ member }) => member));
    },
  };
}

function ask({ member, answers }: Client, message: ToClient): Promise<FromClient> {
  member.send(message);
  return answers.next() as Promise<FromClient>;
}

/** The share of client `i` of `count`: consecutive operations that no other client has. */
function shareOf(
  { first, operations, concurrency }: SliceOptions,
  i: number,
  count: number,
): ClientSlice {
  const from = (total: number, index: number): number => Math.floor((index * total) / count);
  const part = (total: number): number => from(total, i + 1) - from(total, i);
  return {
    first: first + from(operations, i),
    operations: part(operations),
    concurrency: part(concurrency),
  };
}

function secondsOf(results: readonly SliceResult[]): number {
  const began = Math.min(...results.map(({ beganUs }) => beganUs));
  const ended = Math.max(...results.map(({ endedUs }) => endedUs));
  return (ended - began) / 1e6;
}

/**
 * A row occurs once in a slice, and operation numbers grow from slice to slice: the largest was the
 * last.
 */
function addLatest(
  latest: Map<number, number>,
  written: readonly (readonly [row: number, operation: number])[],
): void {
  for (const [row, operation] of written) {
    latest.set(row, Math.max(operation, latest.get(row) ?? operation));
  }
}
