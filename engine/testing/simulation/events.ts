/** What happens to processes and services during a run, at moments that the seed decides. */
import { unreachable } from '../../base/index.ts';
import { chance, chooseBetween } from './chance.ts';
import type { Client } from './client.ts';
import { EVENT_FAULTS, type EventFault } from './knobs.ts';
import type { Run } from './run.ts';

/** For the draws: ids that no process has. */
const EVENT_ID = 1_000_000;
const HOUR_MS = 3_600_000;

/** Keeps events coming at the rates of the knobs, until peace. */
export function scheduleEvents(run: Run, clients: () => readonly Client[]): void {
  EVENT_FAULTS.forEach((fault, i) => {
    const perSecond = run.world.knobs.events[fault] ?? 0;
    if (perSecond > 0) scheduleNext(run, { fault, perSecond, id: EVENT_ID + i }, 0, clients);
  });
}

interface Series {
  readonly fault: EventFault;
  readonly perSecond: number;
  readonly id: number;
}

function scheduleNext(
  run: Run,
  series: Series,
  number: number,
  clients: () => readonly Client[],
): void {
  const { world } = run;
  const draw = (purpose: number): number => chance(world.seed, series.id, number, purpose);
  const gapMs = (-Math.log(1 - draw(0)) * 1_000) / series.perSecond;
  world.timeline.after(gapMs, () => {
    if (!world.troubled) return;
    const all = clients();
    const client = all[chooseBetween(0, all.length - 1, draw(1))];
    if (client !== undefined) happen(run, series.fault, client, draw(2));
    scheduleNext(run, series, number + 1, clients);
  });
}

function happen(run: Run, fault: EventFault, client: Client, drawn: number): void {
  const { world, liveness, oracles } = run;
  const { process } = client;
  world.count(fault);
  world.tell?.('(the run)', `${fault} ${process.name}`);
  switch (fault) {
    case 'crash':
      process.kill();
      return;
    case 'expireLease':
      liveness.mistake(process.name);
      world.timeline.after(chooseBetween(5, 100, drawn), () => {
        liveness.trust(process.name);
      });
      return;
    case 'clockJump':
      client.clock.skewMs += (2 * drawn - 1) * HOUR_MS;
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
    case 'collectorCrash':
      run.collector?.process.kill();
      return;
    default:
      unreachable(fault);
  }
}
