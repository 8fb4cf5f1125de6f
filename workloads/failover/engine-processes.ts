/**
 * The engine's processes, each of which may be killed: two oracles, one of them on standby, the
 * lock service, and workers.
 *
 *     this process makes the load ──▶ the storage ◀── workers run observers
 *                └──── timestamps ──▶ oracle-1 or oracle-2 ◀────┘
 */
import { connectOracle, type Counters, type StoreAddress } from '#engine';
import {
  type Crew,
  type Member,
  newServices,
  type SharedDatabase,
  SERVICE_PROGRAMS,
  type ServiceOptions,
  stopFor,
} from '../harness/processes/index.ts';
import type { Parts } from './victims.ts';
import type { Observed, WorkerProcessOptions } from './worker-process.ts';
import type { WorkloadName } from './workload.ts';

/** How long the oracles may take until one answers, in milliseconds: a lease may have to end. */
const ORACLE_MS_MAX = 60_000;
const WORKER = new URL('worker-process.ts', import.meta.url);

export interface EngineProcessesOptions {
  readonly store: StoreAddress;
  readonly workload: WorkloadName;
  readonly workers: number;
  /** Observer runs in flight in all workers together; rounded up to a multiple of `workers`. */
  readonly concurrency: number;
}

type OnObserved = (row: string, atMs: number) => void;

interface Program {
  readonly program: URL;
  readonly options: unknown;
}

export class EngineProcesses implements Parts {
  readonly database: SharedDatabase;
  readonly #crew: Crew;
  #onObserved: OnObserved = () => {};
  readonly #programs: ReadonlyMap<string, Program>;
  readonly #members = new Map<string, Member>();
  /** The last counters of each worker process; a worker that is started again counts from 0. */
  readonly #counters = new Map<Member, Counters>();

  private constructor(crew: Crew, options: EngineProcessesOptions, database: SharedDatabase) {
    this.#crew = crew;
    this.database = database;
    this.#programs = new Map(programsOf(options, database));
  }

  /** Starts the services. The workers follow with `startWorkers`, when the tables are there. */
  static async start(crew: Crew, options: EngineProcessesOptions): Promise<EngineProcesses> {
    const processes = new EngineProcesses(crew, options, await newServices(options.store));
    // The first oracle takes the lease.
    for (const name of ['oracle-1', 'oracle-2', 'lock-service']) await processes.start(name);
    return processes;
  }

  /** @param onObserved is called for each row whose observer has committed */
  async startWorkers(onObserved: OnObserved): Promise<void> {
    this.#onObserved = onObserved;
    const names = [...this.#programs.keys()].filter((name) => name.startsWith('worker'));
    for (const name of names) await this.start(name);
  }

  async start(name: string): Promise<void> {
    const program = this.#programs.get(name);
    if (program === undefined || this.#members.has(name)) return;
    const onMessage = (message: unknown): void => this.#hear(name, message as Observed);
    this.#members.set(name, await this.#crew.start({ name, ...program, onMessage }));
  }

  async kill(name: string): Promise<void> {
    const member = this.#members.get(name);
    if (member !== undefined) await this.#crew.kill(member);
    this.#members.delete(name); // Only now: its last messages still count.
  }

  pause(name: string, forMs: number): void {
    const member = this.#members.get(name);
    if (member !== undefined) void stopFor(member.pid, forMs);
  }

  resume(name: string): void {
    this.#members.get(name)?.signal('SIGCONT');
  }

  /**
   * The oracle that hands out timestamps; the other gives no answer. It is not always the first:
   * an oracle whose storage was slow for a moment loses the lease to the other, which keeps it.
   */
  async leasedOracle(): Promise<string> {
    const { oracles } = this.database;
    const clients = oracles.map((address) =>
      connectOracle({ addresses: [address], timeoutMs: ORACLE_MS_MAX }),
    );
    try {
      const asked = clients.map((client, i) => client.next().then(() => `oracle-${i + 1}`));
      return await Promise.any(asked);
    } catch (error) {
      const [first] = error instanceof AggregateError ? error.errors : [error];
      const message = `No timestamp oracle answers, so none can be killed or stopped: ${first}`;
      throw new Error(message, { cause: error });
    } finally {
      for (const client of clients) await client.close();
    }
  }

  /** The sum of what all workers have counted, each killed one up to its last message. */
  counted(name: keyof Counters): number {
    return [...this.#counters.values()].reduce((sum, counters) => sum + counters[name], 0);
  }

  /**
   * Ends the workers. A worker that ends in good order tells all that it has observed and counted,
   * but first waits for its runs: while the storage is away, they take longer than the crew allows.
   */
  async endWorkers({ inGoodOrder }: { readonly inGoodOrder: boolean }): Promise<void> {
    const workers = [...this.#members].filter(([name]) => name.startsWith('worker'));
    if (inGoodOrder) await this.#crew.stop(workers.map(([, member]) => member));
    else await Promise.all(workers.map(([name]) => this.kill(name)));
  }

  #hear(name: string, { rows, counters }: Observed): void {
    const member = this.#members.get(name);
    if (member !== undefined) this.#counters.set(member, counters);
    for (const [row, atMs] of rows) this.#onObserved(row, atMs);
  }
}

function programsOf(
  { store, workload, workers, concurrency }: EngineProcessesOptions,
  database: SharedDatabase,
): readonly (readonly [string, Program])[] {
  const oracles = database.oracles.map((address, i) => {
    const options = { store, address } satisfies ServiceOptions;
    return [`oracle-${i + 1}`, { program: SERVICE_PROGRAMS.oracle, options }] as const;
  });
  const locks = { store, address: database.lockService } satisfies ServiceOptions;
  const each = Math.ceil(concurrency / workers);
  const ofWorkers = Array.from({ length: workers }, (_, i) => {
    const options = { database, workload, concurrency: each } satisfies WorkerProcessOptions;
    return [`worker-${i + 1}`, { program: WORKER, options }] as const;
  });
  return [
    ...oracles,
    ['lock-service', { program: SERVICE_PROGRAMS.lockService, options: locks }],
    ...ofWorkers,
  ];
}
