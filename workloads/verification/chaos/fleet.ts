/**
 * The processes of a round: started, killed, stopped for a while, and started again.
 *
 * A process that is killed here comes back as the next life of its slot. A process that ends on its
 * own is a violation, whatever the reason; it is restarted nevertheless. Only an owner of the store
 * whose folder has a fault that takes the store from it may end, and must say so (P69).
 *
 * Where oracles are processes, there is also the oracle of a second database (P73). Some lives are
 * given its address before the right ones, which must make no difference. Some are given no other
 * one: such a life must end on its own, and say why. And when an oracle has died, that of one more
 * database may listen at its port for a while, where clients still look for the dead one.
 */
import {
  batchTimestamps,
  openAllocator,
  openStore,
  type StoreAddress,
  systemClock,
  unreachable,
} from '#engine';
import { storeIn } from '../../../engine/bigtable/embedded/folder.ts';
import { ownerOf } from '../../../engine/bigtable/embedded/sharing/connection.ts';
import type { Violation } from '../judges/index.ts';
import { live } from '#harness';
import type { Host } from '../../harness/hosts/network.ts';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import {
  type End,
  Member,
  SERVICE_PROGRAMS,
  type ServiceOptions,
} from '../../harness/processes/index.ts';
import type { Fault, FolderFault, Pause } from './faults.ts';
import {
  DISPLACING,
  FOLDER_FAULTS,
  type FolderFaultName,
  moveAway,
  removeLock,
  removeSocket,
  replaceByCopy,
  type Touch,
} from './folder-faults.ts';
import { type ChaosProcessOptions, TOUCHED, type TouchMessage } from './messages.ts';
import { ORACLE_LEASE_MS, PATIENCE_MS } from './plan.ts';
import type { WitnessOptions } from './witness.ts';

interface Life {
  readonly slot: string;
  readonly process: Member;
  readonly isService: boolean;
  /** Set once the process has reported that it works. */
  isReady: boolean;
  /** Set before the process is killed, so that an end by that signal is expected. */
  isKilled: boolean;
  isPaused: boolean;
  /** Whether it knows only the oracle of the second database. */
  readonly isMisled: boolean;
  /** Whether a fault of the folder may have taken the store from it. */
  mayBeDisplaced: boolean;
  /** Called when it has gone through the files of the folder. */
  onTouched: () => void;
}

/** All options of a process except its name and its role, and how many there are. */
export interface CommonProcessOptions extends Omit<
  ChaosProcessOptions,
  'name' | 'role' | 'clients'
> {
  /** Where the oracle of the second database listens, and its store. Absent: there is none. */
  readonly second?: Pick<ServiceOptions, 'store'> & { readonly address: string };
  /** Where each slot runs; each oracle then has a witness. Absent: all where this process is. */
  readonly hostOf?: ((slot: string) => Host | undefined) | undefined;
}

export interface FaultCounts {
  /** Faults, and the kills of all remaining processes at the end. */
  readonly kills: number;
  /** Faults that killed an oracle or the lock service. */
  readonly serviceKills: number;
  /** Faults that killed the process that owned the embedded store. */
  readonly ownerKills: number;
  readonly pauses: number;
  /** Pauses that outlast leases and messages. */
  readonly longPauses: number;
  readonly restarts: number;
  /** Processes that knew only the oracle of another database, and refused it. */
  readonly misled: number;
  /** How often the oracle of another database listened where one of ours had died. */
  readonly occupied: number;
  /** Faults of the folder of the store. */
  readonly folder: ReadonlyMap<FolderFaultName, number>;
  /** Owners that have lost the store to such a fault, and have said so. */
  readonly displaced: number;
  /** Milliseconds from each kill of an owner until another process served the store. */
  readonly takeoversMs: readonly number[];
}

/** How many faults the folder of the store has had. */
export function folderFaultsIn({ folder }: Pick<FaultCounts, 'folder'>): number {
  return [...folder.values()].reduce((sum, count) => sum + count, 0);
}

const PROGRAM = new URL('process.ts', import.meta.url);
const WATCHER = 'watcher';
const WITNESS = 'witness-';
const WITNESS_PROGRAM = new URL('witness.ts', import.meta.url);
/** A round ends early after this many unexpected ends of processes. */
const DEATHS_MAX = 5;
/** Of so many lives of a slot, one is misled, and two have the wrong address in their lists. */
const LIVES = 6;
const MISLED_LIFE = 2;
const MIXED_LIVES: ReadonlySet<number> = new Set([3, 5]);
/** Milliseconds for which an oracle's port is another one's: some clients start meanwhile. */
const OCCUPIED_MS = 4_000;
/** What a displaced owner says (engine/bigtable/embedded/disk.ts). */
const DISPLACED = /STORE_CLOSED|the embedded store was closed, because /;
/**
 * The share of faults that hit services if these are processes. It is small because no client can
 * work without an oracle.
 */
const SERVICES = 0.2;
/** Milliseconds between two searches for a process that can be hit. */
const LOOK_MS = 5;

export class Fleet implements AsyncDisposable {
  readonly #common: CommonProcessOptions;
  readonly #size: number;
  /** The present life of each slot: a client's number, a service's name or `watcher`. */
  readonly #lives = new Map<string, Life>();
  readonly #deaths: Violation[] = [];
  readonly #ends = new Set<Promise<void>>();
  #kills = 0;
  #serviceKills = 0;
  #ownerKills = 0;
  #pauses = 0;
  #longPauses = 0;
  #restarts = 0;
  #misled = 0;
  #occupied = 0;
  readonly #folder = new Map<FolderFaultName, number>();
  #displaced = 0;
  /** Pending while the folder is away: a process that opens the store would make a new one. */
  #away = Promise.resolve();
  readonly #takeoversMs: number[] = [];
  #isOver = false;

  constructor(common: CommonProcessOptions, size: number) {
    this.#common = common;
    this.#size = size;
  }

  /** Processes that ended on their own. */
  get deaths(): readonly Violation[] {
    return this.#deaths;
  }

  get counts(): FaultCounts {
    return {
      kills: this.#kills,
      serviceKills: this.#serviceKills,
      ownerKills: this.#ownerKills,
      pauses: this.#pauses,
      longPauses: this.#longPauses,
      restarts: this.#restarts,
      misled: this.#misled,
      occupied: this.#occupied,
      folder: this.#folder,
      displaced: this.#displaced,
      takeoversMs: this.#takeoversMs,
    };
  }

  /** Whether all processes work. */
  get isComplete(): boolean {
    return [...this.#lives.values()].every(({ isReady, isKilled }) => isReady && !isKilled);
  }

  get isHopeless(): boolean {
    return this.#deaths.length >= DEATHS_MAX;
  }

  start(): void {
    for (const slot of servicesOf(this.#common).keys()) this.#start(slot, 1);
    this.#start(WATCHER, 1);
    for (let slot = 1; slot <= this.#size; slot++) this.#start(String(slot), 1);
  }

  /**
   * Kills or stops one process, as soon as there is one that the fault may hit, unless it is too
   * late by then. Resolves with the slot of that process.
   */
  async hit(fault: Fault, isLate: () => boolean): Promise<string | undefined> {
    if (fault.kind === 'folder') {
      await this.#hitFolder(fault, isLate);
      return undefined;
    }
    while (!isLate() && !this.isHopeless) {
      const owner = fault.kind === 'kill' ? await this.#owner() : undefined;
      const life = (fault.kind === 'kill' && fault.owner && owner) || this.#victimOf(fault);
      if (life === undefined) {
        await systemClock.sleep(LOOK_MS);
        continue;
      }
      live.event(`${fault.kind} ${life.process.name}`);
      if (fault.kind === 'pause') {
        this.#pause(life, fault);
        return life.slot;
      }
      if (life.isService) this.#serviceKills++;
      this.#kill(life);
      if (life === owner) await this.#awaitTakeover(isLate);
      return life.slot;
    }
    return undefined;
  }

  /** Resolves when an owner serves the store again, or it is too late. */
  async #hitFolder({ what, victim }: FolderFault, isLate: () => boolean): Promise<void> {
    const { store } = this.#common;
    const isOver = (): boolean => isLate() || this.isHopeless;
    let owner: Life | undefined;
    for (; !isOver() && owner === undefined; await systemClock.sleep(LOOK_MS)) {
      // A process that opens the store, or is stopped, would make it unclear who owns it.
      if (this.isComplete && ![...this.#lives.values()].some(({ isPaused }) => isPaused)) {
        owner = await this.#owner();
      }
    }
    if (owner === undefined || store.kind !== 'embedded') return;
    owner.mayBeDisplaced = DISPLACING.has(what);
    live.event(`folder ${what}`);
    const isDone = await this.#harm(what, { folder: store.folder, owner, victim, isOver });
    if (isDone) this.#folder.set(what, (this.#folder.get(what) ?? 0) + 1);
    let next: Life | undefined;
    while (!isOver() && next === undefined) {
      await systemClock.sleep(LOOK_MS);
      next = await this.#owner();
    }
    if (next === undefined || next === owner || owner.mayBeDisplaced) return;
    const message = `${next.process.name} owns the store of ${owner.process.name}, whose folder ${FOLDER_FAULTS[what]}`;
    this.#deaths.push({ claim: 'folder: only some faults displace an owner', message });
  }

  /** Whether it was done: some need a process that is not there. */
  async #harm(what: FolderFaultName, harm: Harm): Promise<boolean> {
    const { folder, owner, victim } = harm;
    switch (what) {
      case 'copied':
      case 'read':
        return this.#touch(owner, what);
      case 'unlocked':
        removeLock(folder);
        return true;
      case 'unreachable':
        removeSocket(folder);
        return true;
      case 'usurped':
        return this.#usurp(harm);
      case 'moved':
        await (this.#away = moveAway(folder, victim));
        return true;
      case 'replaced':
        this.signal('SIGSTOP');
        await (this.#away = replaceByCopy(
          folder,
          Array.from(this.#lives.values(), ({ process }) => process.pid),
        ));
        this.signal('SIGCONT');
        await this.#awaitDisplaced(owner);
        return true;
      default:
        return unreachable(what);
    }
  }

  async #touch(owner: Life, touch: Touch): Promise<boolean> {
    if (owner.isService) return false;
    const touched = new Promise<void>((resolve) => (owner.onTouched = resolve));
    owner.process.send({ touch } satisfies TouchMessage);
    await Promise.race([touched, owner.process.ended]);
    return true;
  }

  /**
   * Kills another client; its next life finds neither lock nor socket. The owner makes its socket
   * again, once a second.
   */
  async #usurp({ folder, owner, victim, isOver }: Harm): Promise<boolean> {
    const others = [...this.#lives].filter(
      ([slot, life]) => slot !== WATCHER && !life.isService && life !== owner,
    );
    const other = others[Math.floor(victim * others.length)]?.[1];
    if (other === undefined) return false;
    const owned = storeIn(folder);
    this.#kill(other);
    removeLock(folder);
    while (!isOver() && storeIn(folder) === owned) {
      removeSocket(folder);
      await systemClock.sleep(LOOK_MS);
    }
    if (storeIn(folder) !== owned) await this.#awaitDisplaced(owner);
    return true;
  }

  /** Also if the round is over by then: what goes on in spite of it would harm the store. */
  async #awaitDisplaced({ process }: Life): Promise<void> {
    const over = new AbortController();
    void process.ended.then(() => over.abort());
    await systemClock.sleep(PATIENCE_MS, over.signal);
    if (over.signal.aborted) return;
    const message = `${process.name} goes on without its store`;
    this.#deaths.push({ claim: 'folder: a displaced owner says so, and ends', message });
  }

  /**
   * Waits until another process owns the store. No fault is made meanwhile, but a process may still
   * be paused by an earlier fault.
   */
  async #awaitTakeover(isLate: () => boolean): Promise<void> {
    this.#ownerKills++;
    const killedMs = monotonicMs();
    while (!isLate() && !this.isHopeless) {
      const next = await this.#owner();
      if (next !== undefined) {
        this.#takeoversMs.push(monotonicMs() - killedMs);
        return;
      }
      await systemClock.sleep(LOOK_MS);
    }
  }

  /** The process that owns the embedded store. */
  async #owner(): Promise<Life | undefined> {
    const { store } = this.#common;
    const pid = store.kind === 'embedded' ? await ownerOf(store.folder) : undefined;
    return [...this.#lives.values()].find(
      ({ process, isKilled }) => process.pid === pid && !isKilled,
    );
  }

  /** A `victim` below the share of the services picks one of them, a larger one picks a client. */
  #victimOf(fault: Fault): Life | undefined {
    const services = [...this.#lives.values()].some(({ isService }) => isService) ? SERVICES : 0;
    const isService = fault.victim < services;
    const candidates = [...this.#lives].filter(
      ([slot, life]) =>
        !isSpectator(slot) && life.isService === isService && isExposed(life, fault),
    );
    const part = isService ? fault.victim / services : (fault.victim - services) / (1 - services);
    return candidates[Math.floor(part * candidates.length)]?.[1];
  }

  /** Kills all processes in these slots at once, and returns how many. */
  killAll(isVictim: (slot: string) => boolean): number {
    const victims = [...this.#lives].filter(([slot, { isKilled }]) => !isKilled && isVictim(slot));
    for (const [, life] of victims) this.#kill(life);
    return victims.length;
  }

  /** Stops all processes in these slots for a while, and returns how many. */
  stopAll(isVictim: (slot: string) => boolean, forMs: number): number {
    const victims = [...this.#lives].filter(
      ([slot, { isKilled, isPaused }]) => !isKilled && !isPaused && isVictim(slot),
    );
    for (const [, life] of victims) this.#stopFor(life, forMs);
    return victims.length;
  }

  /** Stops all processes that no fault has stopped, or lets them go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    for (const { process, isPaused } of this.#lives.values()) if (!isPaused) process.signal(name);
  }

  /**
   * Kills all processes at once; resolves when they are gone. Their unfinished work stays as it is.
   */
  async end(): Promise<void> {
    this.#isOver = true;
    for (const life of this.#lives.values()) this.#kill(life);
    await Promise.all(this.#ends);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  #start(slot: string, number: number): void {
    const name = `${slot}.${number}`;
    const service = servicesOf(this.#common).get(slot);
    const role = slot === WATCHER ? 'watcher' : 'client';
    const { second, hostOf, ...own } = this.#common;
    const common = role === 'watcher' ? withoutOwning(own) : own;
    const isClient = role === 'client' && service === undefined;
    const isMisled = second !== undefined && isClient && number % LIVES === MISLED_LIFE;
    const database = common.database && {
      ...common.database,
      oracles: addressesOf(common.database.oracles, second?.address, isClient ? number : 0),
    };
    const clients = this.#size;
    const options = { ...common, database, name, role, clients } satisfies ChaosProcessOptions;
    const onMessage = (message: unknown): void => {
      if (message === TOUCHED) life.onTouched();
    };
    const host = hostOf?.(slot);
    const process = new Member({ name, program: PROGRAM, options, onMessage, host, ...service });
    const isService = service !== undefined;
    const life: Life = {
      slot,
      process,
      isService,
      isReady: false,
      isKilled: false,
      isPaused: false,
      isMisled,
      mayBeDisplaced: false,
      onTouched: () => {},
    };
    this.#lives.set(slot, life);
    process.ready.then(
      () => {
        life.isReady = true;
        if (!isMisled) return;
        const message = `${name} has opened its database with the oracle of another one`;
        this.#deaths.push({ claim: 'identity: another oracle is refused', message });
      },
      () => {}, // The process ended first; its end is handled below.
    );
    const end = this.#awaitEnd(life).then(async () => {
      this.#ends.delete(end);
      await this.#away;
      await this.#occupy(slot, number);
      if (this.#isOver || this.isHopeless) return;
      this.#restarts++;
      this.#start(slot, number + 1);
    });
    this.#ends.add(end);
  }

  /**
   * Of the lives of an oracle, every other one has such a successor: its database is neither ours
   * nor the second one, so it has no other oracle that could hold its lease. What it hands out is
   * far above our timestamps, or below them.
   */
  async #occupy(slot: string, number: number): Promise<void> {
    const { second } = this.#common;
    const { address } = (servicesOf(this.#common).get(slot)?.options ??
      {}) as Partial<ServiceOptions>;
    const isOracle = slot.startsWith('oracle-') && second?.store.kind === 'embedded';
    if (!isOracle || number % 2 === 0 || this.#isOver) return;
    const store = { ...second.store, folder: `${second.store.folder}-${slot}` };
    if (number === 1 && slot === 'oracle-1') await skipAhead(store);
    const name = `the oracle of another database for ${slot}`;
    const options: ServiceOptions = { store, address };
    const process = new Member({ name, program: SERVICE_PROGRAMS.oracle, options });
    const listening = process.ready.then(async () => {
      this.#occupied++;
      const untilMs = monotonicMs() + OCCUPIED_MS;
      while (!this.#isOver && monotonicMs() < untilMs) await systemClock.sleep(LOOK_MS);
    });
    await listening.catch(() => undefined); // Something else listens there by now.
    process.signal('SIGKILL');
    await process.ended;
  }

  async #awaitEnd(life: Life): Promise<void> {
    const end = await life.process.ended;
    // The signal may have found a process that was ending already, for a reason of its own.
    if (life.isKilled && end.signal === 'SIGKILL') return;
    if (life.isMisled && end.lastLines.some((line) => line.includes("'WRONG_DATABASE'"))) {
      this.#misled++;
      return;
    }
    if (life.mayBeDisplaced && end.lastLines.some((line) => DISPLACED.test(line))) {
      this.#displaced++;
      return;
    }
    const message = sentenceOf(life.process, end);
    this.#deaths.push({ claim: 'processes: none ends on its own', message });
  }

  #kill(life: Life): void {
    if (life.isKilled) return;
    life.isKilled = true;
    this.#kills++;
    life.process.signal('SIGKILL');
  }

  #pause(life: Life, { forMs, long }: Pause): void {
    this.#pauses++;
    if (long) this.#longPauses++;
    this.#stopFor(life, forMs);
  }

  #stopFor(life: Life, forMs: number): void {
    life.isPaused = true;
    void life.process.stopFor(forMs).then(() => {
      life.isPaused = false;
    });
  }
}

interface Harm {
  readonly folder: string;
  readonly owner: Life;
  /** Below 1. */
  readonly victim: number;
  readonly isOver: () => boolean;
}

/**
 * The watcher is never killed, so once it owned the store, no other process ever would. A service
 * does not record what it asks of the disk, so with power cuts it must not own the store, either.
 */
function withoutOwning({ store, database, ...others }: CommonProcessOptions): CommonProcessOptions {
  const notOwned = store.kind === 'embedded' ? { ...store, own: false } : store;
  return { ...others, store: notOwned, database: database && { ...database, store: notOwned } };
}

/** What only looks is killed and stopped only with its host. */
function isSpectator(slot: string): boolean {
  return slot === WATCHER || slot.startsWith(WITNESS);
}

/** Some kills also hit processes that are only starting. */
function isExposed({ isReady, isKilled, isPaused }: Life, fault: Fault): boolean {
  if (isKilled) return false; // Its end is not known yet.
  return fault.kind === 'kill' ? isReady || fault.starting : isReady && !isPaused;
}

/**
 * The services that run as processes, by slot: two oracles, one of them on standby, and the lock
 * service.
 */
function servicesOf(common: CommonProcessOptions): ReadonlyMap<string, ServiceStart> {
  const { second } = common;
  const { database } = common.disk === undefined ? common : withoutOwning(common);
  if (database === undefined) return new Map();
  const { store, oracles, lockService, insecure } = database;
  const { patienceMs, history } = common;
  const witnesses = (common.hostOf === undefined ? [] : oracles).map(
    (oracle, i): [string, ServiceStart] => {
      const name = `${WITNESS}${i + 1}`;
      const options = { name, oracle, history } satisfies WitnessOptions;
      return [name, { program: WITNESS_PROGRAM, options }];
    },
  );
  const ofOracles = oracles.map((address, i): [string, ServiceStart] => {
    const options = {
      store,
      address,
      insecure,
      leaseTimeToLiveMs: ORACLE_LEASE_MS,
      patienceMs,
    };
    return [`oracle-${i + 1}`, { program: SERVICE_PROGRAMS.oracle, options }];
  });
  const ofLocks = { store, address: lockService, insecure };
  const locks = { program: SERVICE_PROGRAMS.lockService, options: ofLocks };
  const others: readonly [string, ServiceStart][] =
    second === undefined
      ? []
      : [['other-oracle', { program: SERVICE_PROGRAMS.oracle, options: second }]];
  return new Map([...ofOracles, ['lock-service', locks], ...others, ...witnesses]);
}

/** So many timestamps of the database are never handed out: later ones are above all of ours. */
async function skipAhead(address: StoreAddress): Promise<void> {
  await using store = await openStore(address);
  const source = await openAllocator(store, { rangeSize: 2 ** 40 });
  await batchTimestamps(source).next();
}

/** The oracles that a life of a client knows. */
function addressesOf(
  oracles: readonly string[],
  second: string | undefined,
  life: number,
): readonly string[] {
  if (second === undefined) return oracles;
  if (life % LIVES === MISLED_LIFE) return [second];
  return MIXED_LIVES.has(life % LIVES) ? [second, ...oracles] : oracles;
}

interface ServiceStart {
  readonly program: URL;
  readonly options: ServiceOptions | WitnessOptions;
}

/** The last error that the process printed, or how it ended. */
function sentenceOf({ name }: Member, { lastLines, description }: End): string {
  const error = lastLines.findLast((line) => /\w*Error\b/.test(line));
  return error === undefined ? (description.split('\n')[0] ?? '') : `${name}: ${error.trim()}`;
}
