/**
 * The processes of an engine, by their names: timestamp oracles, the lock service, and workers.
 * Each may be killed or paused, and started again where its clients look for it.
 *
 *     this process ──▶ oracle-1, and oracle-2 on standby ...   hand out timestamps
 *                  ├─▶ lock-service                            says which process is dead
 *                  └─▶ worker-1, worker-2 ...                  run observers, when the tables are there
 */
import { connectOracle, type StoreAddress } from '#engine';
import type { Crew, Member } from './crew.ts';
import { tlsOfRun } from '../hosts/run-identity.ts';
import {
  addressOn,
  SERVICE_PROGRAMS,
  type ServiceOptions,
  type ServiceReady,
  type SharedDatabase,
} from './database.ts';

export interface EngineStart {
  readonly store: StoreAddress;
  /** All but the first are on standby. Default 1. */
  readonly oracles?: number | undefined;
}

export interface EngineWorkers {
  readonly program: URL;
  readonly options: unknown;
  /** `life` counts the starts of workers from 0: one that is started again has another life. */
  readonly onMessage?: ((message: unknown, life: number) => void) | undefined;
}

interface EngineProgram {
  readonly program: URL;
  readonly options: unknown;
  readonly onMessage?: ((message: unknown, life: number) => void) | undefined;
}

/** How long the oracles may take until one answers, in milliseconds: a lease may have to end. */
const ORACLE_MS_MAX = 60_000;

/** Starts the services, which keep their addresses. The workers follow with `startWorkers`. */
export async function startEngine(
  crew: Crew,
  { store, oracles = 1 }: EngineStart,
): Promise<Engine> {
  const engine = new Engine(crew, store);
  await engine.startServices(oracles);
  return engine;
}

export class Engine {
  readonly #crew: Crew;
  readonly #store: StoreAddress;
  readonly #programs = new Map<string, EngineProgram>();
  readonly #members = new Map<string, Member>();
  #oracles: readonly string[] = [];
  #lockService = '';
  #lives = 0;

  constructor(crew: Crew, store: StoreAddress) {
    this.#crew = crew;
    this.#store = store;
  }

  /** How each process reaches the database. */
  get database(): SharedDatabase {
    return { store: this.#store, oracles: this.#oracles, lockService: this.#lockService };
  }

  /** The first oracle takes the lease. */
  async startServices(oracles: number): Promise<void> {
    for (let i = 1; i <= oracles; i++) {
      const address = await this.#startService(`oracle-${i}`, SERVICE_PROGRAMS.oracle);
      this.#oracles = [...this.#oracles, address];
    }
    this.#lockService = await this.#startService('lock-service', SERVICE_PROGRAMS.lockService);
  }

  /** Resolves with the workers, in the order of their names. */
  async startWorkers(workers: number, given: EngineWorkers): Promise<readonly Member[]> {
    const names = Array.from({ length: workers }, (_, i) => `worker-${i + 1}`);
    for (const name of names) {
      this.#programs.set(name, given);
      await this.start(name);
    }
    return this.#workers().map(([, member]) => member);
  }

  /** Starts the process if it does not run; resolves when it is ready. */
  async start(name: string): Promise<void> {
    const given = this.#programs.get(name);
    if (given === undefined || this.#members.has(name)) return;
    const { program, options } = given;
    const life = name.startsWith('worker-') ? this.#lives++ : 0;
    const onMessage = (message: unknown): void => given.onMessage?.(message, life);
    this.#members.set(name, await this.#crew.start({ name, program, options, onMessage }));
  }

  async kill(name: string): Promise<void> {
    const member = this.#members.get(name);
    if (member !== undefined) await this.#crew.kill(member);
    this.#members.delete(name);
  }

  /** Stops the process until `resume`, or for `forMs`, even if this program is killed meanwhile. */
  pause(name: string, forMs: number): void {
    const member = this.#members.get(name);
    void member?.stopFor(forMs);
  }

  resume(name: string): void {
    this.#members.get(name)?.signal('SIGCONT');
  }

  /**
   * The oracle that hands out timestamps; the others give no answer. It is not always the first: an
   * oracle whose storage was slow for a moment loses the lease to another, which keeps it.
   */
  async leasedOracle(): Promise<string> {
    const clients = this.#oracles.map((address) =>
      connectOracle({ addresses: [address], timeoutMs: ORACLE_MS_MAX, tls: tlsOfRun() }),
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

  /**
   * Ends the workers. A worker that ends in good order tells all that it has to tell, but first
   * waits for its runs: while the storage is away, they take longer than the crew allows.
   */
  async endWorkers({ inGoodOrder }: { readonly inGoodOrder: boolean }): Promise<void> {
    const workers = this.#workers();
    if (inGoodOrder) await this.#crew.stop(workers.map(([, member]) => member));
    else await Promise.all(workers.map(([name]) => this.kill(name)));
  }

  #workers(): readonly (readonly [name: string, member: Member])[] {
    return [...this.#members].filter(([name]) => name.startsWith('worker-'));
  }

  /** Resolves with the address; a later life of the service listens at the same one. */
  async #startService(name: string, program: URL): Promise<string> {
    const place = addressOn(this.#crew.placeOf(name));
    const options = { store: this.#store, address: place } satisfies ServiceOptions;
    const member = await this.#crew.start({ name, program, options });
    this.#members.set(name, member);
    const { address } = (await member.ready) as ServiceReady;
    this.#programs.set(name, { program, options: { ...options, address } });
    return address;
  }
}
