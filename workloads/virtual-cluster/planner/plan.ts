/**
 * A plan of the cluster that carries a load: a search (search.ts), and its check.
 *
 *   1. Try a few machines under a small load: what does a unit of load take of each part?
 *   2. From that, the tablet servers and workers that the whole load needs, with the margin.
 *   3. Try a part of those machines, with the same part of the load and of the repository, again
 *      and again, until what a unit takes no longer changes the plan. If the trial is too slow, or
 *      does not keep up, plan again with machines that are less busy. If the one oracle is full
 *      below the load, there is no plan.
 *   4. Check: try the planned cluster itself, or the largest part of it that this machine simulates
 *      in the given time. If it is too slow, plan more machines, and check again.
 */
import { demandsOf, partsOf, type Part } from './parts.ts';
import { isFastEnough, partOf, type PlanRequest, tryOut, UNITS } from './request.ts';
import { type Check, type Found, search, TooSlow } from './search.ts';
import { type Alternative, alternativesTo } from './sureness.ts';
import { secondsOf, type Size, type Trial } from './trial.ts';

export interface Plan {
  readonly size: Size;
  /** Share of the time that a tablet server or worker was planned to be busy, at most. */
  readonly busyMax: number;
  /** What keeps them from being busier: the margin, or the latency. */
  readonly decidedBy: 'margin' | 'latency';
  /** At the planned load, from the trials of a part. */
  readonly parts: readonly Part[];
  /** Of the largest trial. */
  readonly check: Check;
  /** The parts of the cluster that was checked, under the load that it had. */
  readonly checkedParts: readonly Part[];
  /** Whether the check was as fast as wanted. */
  readonly isFastEnough: boolean;
  readonly alternatives: readonly Alternative[];
}

/** No cluster carries the load: its one oracle is full below that load. */
export class FullBelowLoad {
  readonly part: Part;

  constructor(part: Part) {
    this.part = part;
  }
}

const CHECKS_MAX = 4;
/** A cluster that was too slow gets this many times as many machines. */
const GROWTH = 1.15;

export async function planCluster(request: PlanRequest): Promise<Plan | TooSlow | FullBelowLoad> {
  const found = await search(request);
  if (found instanceof TooSlow) return found;
  const { workload, loaded, load } = request;
  const { demands, usage } = found;
  // The lock service has one machine, too, but the busier the workers, the less they ask of it.
  const oracle = partsOf(load, found.size, demands).find(({ place }) => place === 'oracle');
  if (oracle !== undefined && oracle.fullAt < load) return new FullBelowLoad(oracle);
  const { size, check } = await checkAll(request, found);
  // A cluster that was too slow has grown, and its parts are less busy.
  const busyMax = found.busyMax * (found.size.tabletServers / size.tabletServers);
  const { outcome, share } = check;
  const { hasWorkers } = workload;
  return {
    size,
    busyMax,
    decidedBy: busyMax < 1 - request.margin ? 'latency' : 'margin',
    parts: partsOf(load, size, demands),
    check,
    checkedParts: partsOf(
      load * share,
      check.size,
      demandsOf(outcome, workload, loaded.calibration),
    ),
    isFastEnough: isFastEnough(request, outcome),
    alternatives: alternativesTo({
      loaded,
      load,
      demands,
      usage,
      busyMax, // The cluster would grow as much at other costs.
      hasWorkers,
    }),
  };
}

/** Checks the largest part that there is time for; the size has grown if a check was too slow. */
async function checkAll(
  request: PlanRequest,
  { size: planned, check: done }: Found,
): Promise<{ readonly size: Size; readonly check: Check }> {
  let size = planned;
  let check = done;
  for (let checks = 1; checks <= CHECKS_MAX; checks++) {
    const trial = largestPart(request, size);
    const { share, tabletServers, workers } = trial;
    // The last trial was of exactly these machines, or of as large a part.
    const isDone = share < 1 ? share <= done.share : isSame(size, done.size);
    if (isDone) break;
    const what = share === 1 ? 'the planned cluster' : 'the largest part that there is time for';
    const outcome = await tryOut(request, what, trial);
    check = { share, size: { tabletServers, workers }, outcome };
    if (isFastEnough(request, outcome) || checks === CHECKS_MAX) break;
    size = grown(size);
  }
  return { size, check };
}

/** Whether two clusters have the same machines. */
export function isSame(a: Size, b: Size): boolean {
  return a.tabletServers === b.tabletServers && a.workers === b.workers;
}

function grown({ tabletServers, workers }: Size): Size {
  return {
    tabletServers: Math.ceil(tabletServers * GROWTH),
    workers: Math.ceil(workers * GROWTH),
  };
}

/** The largest part that is simulated in about the given time; its share is 0 if there is none. */
function largestPart(request: PlanRequest, size: Size): Trial {
  const { workload, checkSeconds, load } = request;
  const { simulatedPerSecond, warmUpSeconds, unit } = workload;
  const whole = partOf(request, size, size);
  const units =
    load * (warmUpSeconds + secondsOf({ units: UNITS[unit], perSecond: load }, workload));
  const affordable = (checkSeconds * simulatedPerSecond) / units;
  if (affordable >= 1) return whole;
  const part = {
    tabletServers: Math.floor(size.tabletServers * affordable),
    workers: Math.floor(size.workers * affordable),
  };
  return part.tabletServers < 1 ? { ...whole, share: 0 } : partOf(request, size, part);
}
