/**
 * `--figure costs`: what the calibration of this machine needs and bench:micro does not measure.
 * Only this figure measures in real time: it runs operations and workloads on the embedded store.
 */
import { sum } from 'simple-statistics';
import type { Measuring } from '#harness';
import { column, type FindingsParts, noNumbers, type ResultTable, resultTable } from '#results';
import { rounded } from '../../harness/statistics.ts';
import {
  IDLE_TABLE,
  type IdleCost,
  type MeasuredOperations,
  measureOperations,
  type OperationCost,
  type OperationsPlan,
} from './operations.ts';
import {
  type OwnCost,
  ownCostsOfBrokerage,
  ownCostsOfCrawl,
  type WorkloadsPlan,
} from './workloads.ts';

export type MeasuredCostsPlan = OperationsPlan & WorkloadsPlan;

export async function measureCosts(
  plan: MeasuredCostsPlan,
  { progress, signal, work }: Measuring,
): Promise<FindingsParts> {
  progress.phase('operations', plan.rounds, 'rounds');
  const measured = await measureOperations(work, plan, {
    signal,
    onRound: (round) => progress.update(round),
  });
  progress.phase('the clustering of figure 7', 0);
  const crawl = await ownCostsOfCrawl(work, plan);
  signal.throwIfAborted();
  progress.phase('the brokerage of figure 9', 0);
  const brokerage = await ownCostsOfBrokerage(work, plan);
  return costsFindings(measured, [...crawl, ...brokerage]);
}

export function costsFindings(
  { operations, idle }: MeasuredOperations,
  own: readonly OwnCost[],
): FindingsParts {
  const total = sum(own.map(({ us }) => us));
  if (total === 0) return noNumbers('no profile shows code of the workloads');
  return {
    headline: `The code of the workloads themselves takes ${own.map(({ what, us }) => `${us.toFixed(1)} µs (${what})`).join(', ')}.`,
    check: {
      passed: true,
      detail: 'every read found what had been loaded, and no transaction failed',
    },
    tables: [costsTable(operations, own), idleTable(idle)],
    charts: [],
    targets: [],
  };
}

function costsTable(operations: readonly OperationCost[], own: readonly OwnCost[]): ResultTable {
  const ofOwn = own.map(({ what, us }) => ({ what, inFlight: '', us, mainUs: us, groups: null }));
  return resultTable(
    {
      name: 'costs',
      title: 'Processor time on this machine',
      caption:
        'Lower quartiles of the rounds, and mean numbers of groups, on the embedded store. Own code: what a profile of the workload shows of its own functions.',
    },
    [...operations, ...ofOwn],
    [
      column('of', ({ what }) => what),
      column('in flight', ({ inFlight }) => String(inFlight)),
      column('µs', ({ us }) => rounded(us, 4)),
      column('µs of the main thread', ({ mainUs }) => rounded(mainUs, 4)),
      column('groups of the log', ({ groups }) => rounded(groups, 4)),
    ],
  );
}

function idleTable(idle: readonly IdleCost[]): ResultTable {
  return resultTable(
    {
      name: IDLE_TABLE,
      title: 'After a pause',
      caption:
        'Medians of the rounds, one operation at a time on the embedded store. In a pause other processes use the caches of the processor. Without one (0), the next operation begins at the end of the last. The main thread also works at the end of the pause, before the operation begins.',
    },
    idle,
    [
      column('of', ({ what }) => what),
      column('idle ms', ({ idleMs }) => String(idleMs)),
      column('µs of the main thread', ({ mainUs }) => rounded(mainUs, 4)),
      column('µs until its end', ({ tookUs }) => rounded(tookUs, 4)),
    ],
  );
}
