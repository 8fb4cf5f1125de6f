/**
 * The faults of a simulated run, each with its knob, and swarm testing: every run has a random
 * subset of them switched on. (Groce and others, "Swarm Testing", ISSTA 2012: a fault that is
 * always present hides what only happens without it.)
 *
 * The rate of a fault of messages or of groups is the share of them that meets it. The rate of an
 * event is how often it happens in a second.
 */
import type { Random } from '../../../engine/base/index.ts';
import type { HBaseKnobs } from './hbase/cluster.ts';

/**
 * What can happen to one message; at most one of these. One number is drawn for all of them, and
 * their order decides which fault it means.
 */
export const MESSAGE_FAULTS = [
  /** Never arrives. The sender learns after the deadline that the outcome is unknown. */
  'loseRequest',
  /** Arrives and is applied; the sender learns after the deadline that the outcome is unknown. */
  'loseAnswer',
  /**
   * Arrives after its sender learned that the outcome is unknown: DEADLINE_EXCEEDED, then applied.
   */
  'late',
  /** Arrives twice within moments. */
  'duplicate',
  /** Arrives a second time much later, at most after the lifetime of a message. */
  'replay',
  /** Some rows of a request for several rows never arrive. */
  'partial',
  /** Its answer takes longer than a lock lives without a heartbeat. */
  'slow',
  /** Its sender dies before it is sent. */
  'crashBefore',
  /** Its sender dies when it has been sent. */
  'crashAfter',
  /** Its sender pauses afterwards, perhaps for longer than a lock lives. */
  'pause',
  /**
   * Its sender pauses before the message leaves, perhaps for longer than all leases; the message
   * leaves when the sender continues.
   */
  'stall',
] as const;

export type MessageFault = (typeof MESSAGE_FAULTS)[number];

/**
 * What can happen to the mutations that a process sends in one turn, where order is kept
 * (network.ts).
 */
export const GROUP_FAULTS = [
  /** Refused: nothing is applied, and the sender is told so. */
  'refuseGroup',
  /** Never applied; the sender is told that the outcome is unknown. */
  'loseGroup',
  /** Applied; the sender is told that the outcome is unknown. */
  'loseGroupAnswer',
  /** Delayed, together with everything sent after it. */
  'delayGroup',
] as const;

export type GroupFault = (typeof GROUP_FAULTS)[number];

/** What happens to processes and services, at moments of the run. */
export const EVENT_FAULTS = [
  /** The lock service reports for a while that a live process has exited. */
  'expireLease',
  /**
   * The wall clock of a process, or of an oracle, jumps by a minute to an hour, forwards or back.
   */
  'clockJump',
  /** The tablet of some rows refuses everything for a while. */
  'tabletUnavailable',
  /** A process dies at any point of its work, and is started again. */
  'crash',
  /** A process finishes its open work, closes the database and exits; then it is started again. */
  'close',
  /** A process closes the database in the middle of its work, and opens it again. */
  'reopen',
  /** A process, or an oracle, pauses, perhaps for longer than all leases. */
  'stop',
  /** As `stop`, and its monotonic clock pauses, too: its machine is suspended. */
  'suspend',
  /**
   * From now on clients ask the other oracle; the old one continues, for clients that still ask it.
   * If oracles are leased it dies soon, so that its lease ends.
   */
  'oracleFailOver',
  /** An oracle dies and is started again. */
  'oracleRestart',
  /** The garbage collector dies and is started again. */
  'collectorCrash',
  /** The lock service restarts empty: it knows no dead process and no scanner. */
  'lockServiceRestart',
  /**
   * The process that owns the storage dies, and another one takes its place: what was in flight is
   * sent again, or its caller is in doubt (world.ts).
   */
  'ownerDeath',
  /**
   * For a while, the oracle of another database answers at an address of this one's: it listens at
   * a port that was free. And some processes start with a configuration that names its address,
   * alone or among others.
   */
  'foreignOracle',
] as const;

export type EventFault = (typeof EVENT_FAULTS)[number];

export type Mischief = 'hang' | 'loop' | 'differ';

export interface Knobs {
  /** The store is a simulated HBase, through its real client. Absent: the model store. */
  readonly hbase?: HBaseKnobs | undefined;
  /** Rates per message. Absent: never. */
  readonly messages: Readonly<Partial<Record<MessageFault, number>>>;
  /** Rates per group of mutations, where order is kept. Absent: never. */
  readonly groups?: Readonly<Partial<Record<GroupFault, number>>> | undefined;
  /** Events per second of virtual time. Absent: never. */
  readonly events: Readonly<Partial<Record<EventFault, number>>>;
  /** Whether processes stop in the middle of work outside of transactions (waits.ts). */
  readonly stopsAtWaits?: boolean | undefined;
  /**
   * How long a message is on its way, at most, in milliseconds; each takes its own time, so
   * messages overtake one another.
   */
  readonly delayMsMax: number;
  /**
   * Milliseconds after which the sender of a message that is lost or late gives up. It waits longer
   * for a slow answer.
   */
  readonly deadlineMs: number;
  /**
   * Whether the mutations of a process arrive in the order sent, in groups; a mutation is then lost
   * only with its group.
   */
  readonly ordered: boolean;
  /**
   * Whether the lock service reports exits at once; otherwise long after a lock's time to live has
   * shown them.
   */
  readonly deathIsKnown: boolean;
  /** Whether timestamps come from oracle processes; otherwise each process takes ranges itself. */
  readonly oracleProcesses: boolean;
  /**
   * Whether an oracle process hands out timestamps from memory while it has the lease; otherwise it
   * asks the storage each time.
   */
  readonly leasedOracles?: boolean | undefined;
  /**
   * Whether there is a second database in the network, and where its timestamps are: far below
   * those of the first one, or far above. Absent: there is none.
   */
  readonly secondDatabase?: 'below' | 'above' | undefined;
  /** How each client merges its operations into fewer calls. Absent: not at all. */
  readonly batching?: BatchingKnobs | undefined;
  /** Whether the storage takes many conditional mutations in one call. */
  readonly conditionalBatch?: boolean | undefined;
  /** How many bytes of names the storage's checks may have. Absent: any number. */
  readonly checkBytesMax?: number | undefined;
  /** Whether the storage's map of tablets is out of date. */
  readonly staleTablets?: boolean | undefined;
  /** Whether erases also hide what is set later, as in HBase (P63). */
  readonly tombstones?: boolean | undefined;
  /**
   * Whether scanners avoid rows that other scanners work on, by the lock service's advisory locks.
   */
  readonly scanLocks?: boolean | undefined;
  /** Whether transactions also read what similar transactions went on to read. */
  readonly prefetch?: boolean | undefined;
  /**
   * The largest difference between a process's wall clock and virtual time, in milliseconds, until
   * a `clockJump` adds to it.
   */
  readonly skewMs: number;
  /**
   * The largest difference in speed between a process's monotonic clock and virtual time: 0.01 is
   * one percent.
   */
  readonly drift?: number | undefined;
  /** The names of the plan's cells in the database (names.ts). Default: as in the plan. */
  readonly names?: 'awkward' | undefined;
  /** Whether a table is dropped and created again while it is in use. */
  readonly drops?: boolean | undefined;
  /** The share of an observer's runs that hang for a while. Default 0. */
  readonly hangs?: number | undefined;
  /** How observers misbehave on purpose (mischief.ts). Default: not at all. */
  readonly mischief?: Mischief | undefined;
  /** Failures of an observer before a cell is parked. Default: never parked. */
  readonly failuresMax?: number | undefined;
  /** The first timestamp of the run: large ones lose digits where they are mishandled. */
  readonly firstTimestamp: number;
  /** Timestamps per range. A small range is used up often. */
  readonly rangeSize: number;
  /** Whether old versions are collected during the run. */
  readonly collector: boolean;
  /**
   * Whether the storage can end what is in flight (P84). Then garbage is collected by single
   * cycles, one after the other, which wait for no message. Default false.
   */
  readonly fences?: boolean | undefined;
  /**
   * Milliseconds after which a process that does not renew its lease has no claim to old versions.
   */
  readonly leaseTimeToLiveMs: number;
  /** Milliseconds after which a lock without a heartbeat belongs to a dead worker. */
  readonly lockTimeToLiveMs: number;
}

/** The options of engine/bigtable/batching. */
export interface BatchingKnobs {
  readonly delayMs: number;
  readonly rowsMax: number;
  readonly inFlightMax: number;
}

/** Rates at which a run still makes progress. */
const MESSAGE_RATE: Readonly<Record<MessageFault, number>> = {
  loseRequest: 0.008,
  loseAnswer: 0.01,
  late: 0.006,
  duplicate: 0.03,
  replay: 0.03,
  partial: 0.02,
  slow: 0.01,
  crashBefore: 0.0015,
  crashAfter: 0.002,
  pause: 0.008,
  stall: 0.002,
};

const GROUP_RATE: Readonly<Record<GroupFault, number>> = {
  refuseGroup: 0.01,
  loseGroup: 0.006,
  loseGroupAnswer: 0.006,
  delayGroup: 0.01,
};

const EVENT_RATE: Readonly<Record<EventFault, number>> = {
  expireLease: 8,
  clockJump: 4,
  tabletUnavailable: 2,
  crash: 3,
  close: 1,
  reopen: 1,
  stop: 0.5,
  suspend: 0.5,
  oracleFailOver: 3,
  oracleRestart: 2,
  collectorCrash: 2,
  lockServiceRestart: 4,
  ownerDeath: 3,
  foreignOracle: 2,
};

/**
 * A random subset of the faults, at random rates. Some runs have none, or only slow answers and
 * repeated messages; the umpire (umpire.ts) forbids more there.
 */
export function swarm(random: Random): Knobs {
  const drawn = random.fraction();
  const collector = random.fraction() < 0.5;
  const isHarmless = drawn < CALM + PATIENT;
  return {
    messages: messageFaults(random, drawn),
    groups: isHarmless ? {} : subset(random, GROUP_FAULTS, GROUP_RATE),
    events: isHarmless ? {} : subset(random, EVENTS_OF_SWARM, EVENT_RATE),
    delayMsMax: random.pick([1, 2, 5, 20]),
    deadlineMs: random.pick([30, 100]),
    ordered: random.fraction() < 0.4,
    deathIsKnown: random.fraction() < 0.6,
    oracleProcesses: random.fraction() < 0.4,
    leasedOracles: random.fraction() < 0.5,
    batching: random.fraction() < 0.3 ? batching(random) : undefined,
    conditionalBatch: random.fraction() < 0.5,
    staleTablets: random.fraction() < 0.3,
    scanLocks: random.fraction() < 0.5,
    prefetch: random.fraction() < 0.4,
    skewMs: random.pick([0, 0, 1_000, 3_600_000]),
    drift: random.pick([0, 0.001, 0.01]),
    names: random.fraction() < 0.25 ? 'awkward' : undefined,
    drops: random.fraction() < 0.25,
    hangs: random.fraction() < 0.3 ? 0.02 : undefined,
    failuresMax: random.fraction() < 0.3 ? random.integer(1, 3) : undefined,
    firstTimestamp: random.fraction() < 0.1 ? Number.MAX_SAFE_INTEGER - 2 ** 40 : 1,
    rangeSize: random.pick([20, 1_000, 100_000]),
    collector,
    // Without a collector no process reads leases, and renewing them only takes time.
    leaseTimeToLiveMs: collector ? random.pick([100, 300, 1_000]) : 30_000,
    lockTimeToLiveMs: random.pick([50, 150, 400]),
  };
}

/** These are drawn separately, so that the seeds from before they existed keep their plans. */
const LATER_EVENTS: ReadonlySet<EventFault> = new Set(['ownerDeath', 'foreignOracle', 'reopen']);
const EVENTS_OF_SWARM = EVENT_FAULTS.filter((fault) => !LATER_EVENTS.has(fault));

/** Lets the owner of the storage die, in some of the runs that have events. */
export function withOwnerDeaths(knobs: Knobs, random: Random): Knobs {
  if (Object.keys(knobs.events).length === 0 || random.fraction() > 0.2) return knobs;
  const ownerDeath = EVENT_RATE.ownerDeath * random.pick([0.3, 1, 2]);
  return { ...knobs, events: { ...knobs.events, ownerDeath } };
}

/** Puts a second database into the network, in some of the runs that have events and oracles. */
export function withSecondDatabase(knobs: Knobs, random: Random): Knobs {
  const { events, oracleProcesses } = knobs;
  const canBe = oracleProcesses && Object.keys(events).length > 0;
  if (!canBe || random.fraction() > 0.3) return knobs;
  const foreignOracle = EVENT_RATE.foreignOracle * random.pick([0.3, 1, 2]);
  const secondDatabase = random.pick(['below', 'above'] as const);
  return { ...knobs, secondDatabase, events: { ...events, foreignOracle } };
}

/** Lets processes close their databases in the middle of their work, in some of the runs. */
export function withReopening(knobs: Knobs, random: Random): Knobs {
  if (Object.keys(knobs.events).length === 0 || random.fraction() > 0.3) return knobs;
  const reopen = EVENT_RATE.reopen * random.pick([1, 3]);
  return { ...knobs, events: { ...knobs.events, reopen } };
}

/** Lets processes stop where work outside of transactions waits, in some runs that have events. */
export function withStopsAtWaits(knobs: Knobs, random: Random): Knobs {
  if (Object.keys(knobs.events).length === 0 || random.fraction() > 0.3) return knobs;
  return { ...knobs, stopsAtWaits: true };
}

/** Lets collectors ask the storage for fences, in some of the runs with collectors. */
export function withFences(knobs: Knobs, random: Random): Knobs {
  const canBe = knobs.collector && knobs.secondDatabase === undefined;
  return canBe && random.fraction() < 0.3 ? { ...knobs, fences: true } : knobs;
}

/** Limits the names in a check, as Bigtable does: a row of many cells is then locked in pieces. */
export function withSmallChecks(knobs: Knobs, random: Random): Knobs {
  return random.fraction() < 0.2 ? { ...knobs, checkBytesMax: random.pick([1, 40, 200]) } : knobs;
}

/** Lets erases hide what is set later, in some of the runs. */
export function withTombstones(knobs: Knobs, random: Random): Knobs {
  return random.fraction() < 0.2 ? { ...knobs, tombstones: true } : knobs;
}

/**
 * Lets observers misbehave, in some of the runs: not where a process may have ended because it was
 * misled. A process whose observers hang cannot close its database.
 */
export function withMischief(knobs: Knobs, random: Random): Knobs {
  if (random.fraction() > 0.1 || knobs.secondDatabase !== undefined) return knobs;
  const mischief = random.pick(['hang', 'loop', 'differ'] as const);
  if (mischief !== 'hang') return { ...knobs, mischief };
  const { close: _close, reopen: _reopen, ...events } = knobs.events;
  return { ...knobs, mischief, events };
}

function batching(random: Random): BatchingKnobs {
  return {
    delayMs: random.pick([0, 1, 5]),
    rowsMax: random.pick([2, 8, 256]),
    inFlightMax: random.pick([1, 8]),
  };
}

/** Shares of runs: without faults; with only slow answers and repeated messages. */
const CALM = 1 / 16;
const PATIENT = 1 / 16;

function messageFaults(random: Random, drawn: number): Knobs['messages'] {
  if (drawn < CALM) return {};
  if (drawn < CALM + PATIENT) return { slow: 0.05, duplicate: random.pick([0, 0.05]) };
  return subset(random, MESSAGE_FAULTS, MESSAGE_RATE);
}

function subset<Name extends string>(
  random: Random,
  names: readonly Name[],
  rates: Readonly<Record<Name, number>>,
): Partial<Record<Name, number>> {
  const chosen: Partial<Record<Name, number>> = {};
  for (const name of names) {
    if (random.fraction() < 0.5) chosen[name] = rates[name] * random.pick([0.3, 1, 2]);
  }
  return chosen;
}
