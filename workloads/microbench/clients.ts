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
 * has written, for the check. Oracle and lock service are processes, too.
 */
import { sum } from 'simple-statistics';
import { connectOracle, type StoreAddress, type TimestampOracle } from '#engine';
import {
  Answers,
  Crew,
  type Member,
  type SharedDatabase,
  startEngine,
} from '../harness/processes/index.ts';
import { processorTime, type Servers, since } from '../harness/processes/processor-time.ts';
import type { RunSlice, SliceOptions } from './case.ts';
import type {
  ClientOptions,
  ClientSlice,
  FromClient,
  SliceResult,
  ToClient,
  WrittenReport,
} from './client.ts';
import type { LastWrites } from './data.ts';
import type { RecordedMessages } from './recorded-messages.ts';

/** Oracle and lock service of a run with `--processes`, and a client of the oracle. */
export interface Services extends AsyncDisposable {
  /** All processes of the run; the clients join it. */
  readonly crew: Crew;
  readonly database: SharedDatabase;
  readonly pids: readonly number[];
  readonly oracle: TimestampOracle;
}

/** How long a caller waits for the oracle, in milliseconds: the run prefers waiting to failing. */
const ORACLE_MS_MAX = 60_000;

export async function openServices(store: StoreAddress, signal: AbortSignal): Promise<Services> {
  await using cleanup = new AsyncDisposableStack();
  const crew = cleanup.use(new Crew(signal));
  const { database } = await startEngine(crew, { store });
  const { pids } = crew;
  // The processes stop in an orderly way, so that the next oracle does not have to wait for a
  // lease. If one has failed, its failure was reported already.
  cleanup.defer(() =>
    crew.stop().then(
      () => {},
      () => {},
    ),
  );
  const oracle = connectOracle({ addresses: database.oracles, timeoutMs: ORACLE_MS_MAX });
  cleanup.use(oracle);
  const all = cleanup.move();
  return { crew, database, pids, oracle, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

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

interface StartedClient {
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
  const clients: StartedClient[] = [];
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
      const clientUs = sum(results.map(({ cpuUs }) => cpuUs));
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

function ask({ member, answers }: StartedClient, message: ToClient): Promise<FromClient> {
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
