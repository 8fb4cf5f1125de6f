/**
 * The parts of a cluster that can be full, and how much of each a unit of load takes.
 *
 * A demand of 0.01 for processors means that half of one machine's processors are busy at a load of
 * 50 units a second. So a load needs load × demand machines that are busy all the time, and more if
 * each is to be free for some of the time.
 */
import type { Calibration } from '../calibration/calibration.ts';
import type { KindUsage } from '../cluster.ts';
import type { Outcome, Size, Workload } from './trial.ts';

export type Place = 'tablet servers' | 'workers' | 'oracle' | 'lock service';

export interface Demand {
  readonly place: Place;
  /** `observer runs`: a worker has a limited number in flight. */
  readonly resource: 'processors' | 'disks' | 'network' | 'observer runs';
  /** Machines that are busy all the time for a load of one unit a second. */
  readonly perUnit: number;
  /** The same without work that shrinks when the part is busy; decides when the part is full. */
  readonly perUnitWhenFull: number;
}

/** What a trial took of each part. */
export function demandsOf(
  { usage, completedPerSecond, runs }: Outcome,
  { workerKind, hasWorkers }: Workload,
  { oracle }: Calibration,
): readonly Demand[] {
  const of = (kind: string): KindUsage | undefined => usage.kinds.find((one) => one.kind === kind);
  const demand = (
    place: Place,
    kind: string,
    resource: Demand['resource'] = 'processors',
  ): Demand => {
    const found = of(kind);
    const shares = {
      processors: found?.cores,
      disks: found?.disks,
      network: found?.cards,
      'observer runs': runs,
    };
    const perUnit = ((shares[resource] ?? 0) * (found?.machines ?? 0)) / completedPerSecond;
    return { place, resource, perUnit, perUnitWhenFull: perUnit };
  };
  const timestamps = usage.timestamps / usage.seconds / completedPerSecond;
  return [
    demand('tablet servers', 'tablet server'),
    demand('tablet servers', 'tablet server', 'disks'),
    demand('tablet servers', 'tablet server', 'network'),
    ...(hasWorkers
      ? [demand('workers', workerKind), demand('workers', workerKind, 'network')]
      : []),
    ...(runs === 0
      ? []
      : [
          hasWorkers
            ? demand('workers', workerKind, 'observer runs')
            : demand('tablet servers', 'tablet server', 'observer runs'),
        ]),
    // Each worker asks again as soon as it is answered, for all timestamps that it then needs. So a
    // busy oracle gets fewer and larger requests; it is full when timestamps alone take all its
    // time.
    {
      ...demand('oracle', 'oracle'),
      perUnitWhenFull: (timestamps * oracle.perTimestampUs) / 1e6 / oracle.cores,
    },
    demand('lock service', 'lock service'),
  ];
}

/**
 * The fewest tablet servers and workers whose resources are each busy for at most `busyMax` of the
 * time. The oracle and the lock service are one machine each, whatever the load, and may be busier.
 */
export function sizeFor(
  load: number,
  demands: readonly Demand[],
  { busyMax, hasWorkers }: { readonly busyMax: number; readonly hasWorkers: boolean },
): Size {
  const machines = (place: Place): number => {
    const most = Math.max(
      ...demands.filter((one) => one.place === place).map(({ perUnit }) => perUnit),
    );
    return Math.max(1, Math.ceil((load * most) / busyMax - ROUNDING));
  };
  return {
    tabletServers: machines('tablet servers'),
    workers: hasWorkers ? machines('workers') : 0,
  };
}

/** Without it, 5 machines that a rounding error makes 5.000000001 would be six. */
const ROUNDING = 1e-6;

export interface Part extends Pick<Demand, 'place' | 'resource'> {
  readonly machines: number;
  /** Share of the time, at the given load; at most 1. */
  readonly busy: number;
  /** The load, in units a second, at which the part works all the time. */
  readonly fullAt: number;
}

export function partsOf(load: number, size: Size, demands: readonly Demand[]): readonly Part[] {
  const machinesOf: Readonly<Record<Place, number>> = {
    'tablet servers': size.tabletServers,
    workers: size.workers,
    oracle: 1,
    'lock service': 1,
  };
  return demands.map(({ place, resource, perUnit, perUnitWhenFull }) => {
    const machines = machinesOf[place];
    return {
      place,
      resource,
      machines,
      busy: Math.min(1, (load * perUnit) / machines),
      fullAt: machines / perUnitWhenFull,
    };
  });
}

/** The part that is full at the lowest load. */
export function firstFull(parts: readonly Part[]): Part {
  const [first, ...others] = parts;
  if (first === undefined) throw new Error('a cluster has parts');
  return others.reduce((least, one) => (one.fullAt < least.fullAt ? one : least), first);
}
