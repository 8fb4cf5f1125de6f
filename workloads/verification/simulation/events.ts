/** What happens to processes and services during a run, at moments that the seed decides. */
import { unreachable } from '../../../engine/base/index.ts';
import { chance, chooseBetween } from './chance.ts';
import type { SimulatedClient } from './client.ts';
import { EVENT_FAULTS, type EventFault } from './knobs.ts';
import type { Machine } from './machine.ts';
import type { SimulatedRun } from './run.ts';

/** For draws of chance: ids that no process has. */
const EVENT_ID = 1_000_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/**
 * The longest time until another process serves the storage: longer than the shorter of the two
 * deadlines in knobs.ts, so some requests time out.
 */
const OWNER_DOWN_MS_MAX = 40;
/** No event begins after this: with many events a run might never end. */
const TROUBLE_MS_MAX = 60_000;

/** Keeps events coming at the rates of the knobs, until peace. */
export function scheduleEvents(run: SimulatedRun, clients: () => readonly SimulatedClient[]): void {
  EVENT_FAULTS.forEach((fault, i) => {
    const perSecond = run.world.knobs.events[fault] ?? 0;
    if (perSecond > 0) scheduleNext(run, { fault, perSecond, id: EVENT_ID + i }, 0, clients);
  });
}

/** The events that also happen to oracles. */
const MACHINE_FAULTS: ReadonlySet<EventFault> = new Set(['clockJump', 'stop', 'suspend']);
/** The events that happen to clients only. */
const CLIENT_FAULTS: ReadonlySet<EventFault> = new Set(['crash', 'close', 'reopen', 'expireLease']);
/** The events of the model store, which a simulated HBase does not have. */
const MODEL_FAULTS: ReadonlySet<EventFault> = new Set(['tabletUnavailable', 'ownerDeath']);

/** The events of oracles, which not every run has. */
const ORACLE_FAULTS: ReadonlySet<EventFault> = new Set([
  'oracleFailOver',
  'oracleRestart',
  'foreignOracle',
]);

interface Series {
  readonly fault: EventFault;
  readonly perSecond: number;
  readonly id: number;
}

function scheduleNext(
  run: SimulatedRun,
  series: Series,
  number: number,
  clients: () => readonly SimulatedClient[],
): void {
  const { world } = run;
  const draw = (purpose: number): number => chance(world.seed, series.id, number, purpose);
  const gapMs = (-Math.log(1 - draw(0)) * 1_000) / series.perSecond;
  world.timeline.after(gapMs, () => {
    if (!world.troubled || world.timeline.nowMs > TROUBLE_MS_MAX) return;
    const all = clients();
    const client = all[chooseBetween(0, all.length - 1, draw(1))];
    const machines: readonly Machine[] = [...all, ...(run.oracles?.machines ?? [])];
    const machine = machines[chooseBetween(0, machines.length - 1, draw(1))];
    if (client !== undefined && machine !== undefined) {
      happen(run, series.fault, { client, machine, drawn: draw(2) });
    }
    scheduleNext(run, series, number + 1, clients);
  });
}

/** The drawn client and machine; an event happens to one of them, or to a service. */
interface Drawn {
  readonly client: SimulatedClient;
  readonly machine: Machine;
}

function happen(
  run: SimulatedRun,
  fault: EventFault,
  { client, machine, drawn }: Drawn & { readonly drawn: number },
): void {
  const { world, liveness, oracles } = run;
  const { process } = client;
  if (!canHappen(run, fault)) return;
  if (hits(run, fault, { client, machine })) {
    world.count(fault);
    world.tell?.('(the run)', [fault, ...namesOf(fault, { client, machine })].join(' '));
  }
  switch (fault) {
    case 'crash':
      process.kill();
      return;
    case 'close':
      client.leave();
      return;
    case 'reopen':
      client.reopen();
      return;
    case 'stop':
      world.record?.({ kind: 'paused', process: machine.process.name });
      machine.process.pause(chooseBetween(1, world.longestStopMs, drawn));
      return;
    case 'suspend':
      world.record?.({ kind: 'paused', process: machine.process.name });
      machine.clock.suspend(chooseBetween(1, world.longestStopMs, drawn));
      return;
    case 'expireLease':
      liveness.mistake(process.name);
      world.timeline.after(chooseBetween(5, 100, drawn), () => {
        liveness.trust(process.name);
      });
      return;
    case 'clockJump':
      machine.clock.skewMs += jumpMs(2 * drawn - 1);
      return;
    case 'tabletUnavailable':
      world.makeUnavailable(drawn < 0.5 ? '' : 'c', chooseBetween(1, 100, drawn));
      return;
    case 'oracleFailOver':
      oracles?.failOver();
      return;
    case 'oracleRestart':
      oracles?.restart();
      return;
    case 'lockServiceRestart':
      liveness.forget();
      run.scanLocks?.lose();
      return;
    case 'foreignOracle':
      oracles?.mislead(chooseBetween(5, 100, drawn));
      return;
    case 'ownerDeath':
      world.owner.die(chooseBetween(1, OWNER_DOWN_MS_MAX, drawn));
      return;
    case 'collectorCrash':
      run.collector?.process.kill();
      return;
    default:
      unreachable(fault);
  }
}

/** The name of the process that the event happens to; none for an event of a service. */
function namesOf(fault: EventFault, { client, machine }: Drawn): readonly string[] {
  if (MACHINE_FAULTS.has(fault)) return [machine.process.name];
  return CLIENT_FAULTS.has(fault) ? [client.process.name] : [];
}

/** Whether the run has what the fault hits. */
function canHappen({ world, oracles }: SimulatedRun, fault: EventFault): boolean {
  if (MODEL_FAULTS.has(fault)) return world.knobs.hbase === undefined;
  return !ORACLE_FAULTS.has(fault) || oracles !== undefined;
}

/** Whether the fault changes anything: a process may be dead and not yet started again. */
function hits(
  { liveness, collector }: SimulatedRun,
  fault: EventFault,
  { client, machine }: Drawn,
): boolean {
  if (MACHINE_FAULTS.has(fault)) return machine.process.isAlive;
  if (fault === 'crash') return client.process.isAlive;
  if (fault === 'close') return client.process.isAlive && !client.isLeaving;
  if (fault === 'reopen') return client.process.isAlive && client.isOpen;
  // The lock service may not yet know that a process is dead.
  if (fault === 'expireLease') return !liveness.isDead(client.process.name);
  return fault !== 'collectorCrash' || collector?.process.isAlive === true;
}

/**
 * Never less than a minute, also for a draw of 0. If a jump undid a suspend of the same length, no
 * clock could tell that the machine was suspended (process.ts).
 */
export function jumpMs(drawn: number): number {
  const jumpedMs = MINUTE_MS + Math.abs(drawn) * (HOUR_MS - MINUTE_MS);
  return drawn < 0 ? -jumpedMs : jumpedMs;
}
