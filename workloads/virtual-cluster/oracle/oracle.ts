/**
 * The limit of one oracle in virtual time: how many timestamps a second it hands out to the workers
 * of all machines, by the number of callers, and how large batches become.
 *
 * Each caller asks for a timestamp, waits for it, and asks again. A worker has one request in
 * flight, and its other callers wait for the next one (section 2.3 of the paper): the engine's own
 * batching.
 */
import type { Measuring } from '#harness';
import {
  column,
  type FindingsParts,
  formatCount,
  higher,
  noNumbers,
  type ResultTable,
  resultTable,
  rowName,
} from '#results';
import { rounded } from '../../harness/statistics.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { VirtualCluster } from '../cluster.ts';

export interface OraclePlan {
  readonly loaded: LoadedCalibration;
  readonly seed: number;
  /** Machines, each with a process and its callers. */
  readonly workers: number;
  /** Callers on each worker; a point each. */
  readonly callers: readonly number[];
  /** Virtual seconds of the warm-up, and of the measured window after it. */
  readonly seconds: number;
}

interface OraclePoint {
  /** Callers on all workers together. */
  readonly callers: number;
  readonly perSecond: number;
  /** Timestamps of a request, on average. */
  readonly perCall: number;
  /** From a caller's question to its answer, on average. */
  readonly latencyMs: number;
  /** Share of the time in which the oracle's cores worked. */
  readonly busy: number;
  /** Each caller's timestamps grow. */
  readonly isIncreasing: boolean;
}

/** The start timestamp and the commit timestamp. */
const TIMESTAMPS_PER_TRANSACTION = 2;
const PAPER_PER_SECOND = 2e6;

export async function simulateOracle(
  plan: OraclePlan,
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const points: OraclePoint[] = [];
  progress.phase('simulating', plan.callers.length, 'points');
  for (const callers of plan.callers) {
    signal.throwIfAborted();
    points.push(await simulateCallers(plan, callers));
    progress.update(points.length);
    keep(oracleFindings(plan, points));
  }
  return oracleFindings(plan, points);
}

async function simulateCallers(
  { loaded: { calibration }, seed, workers, seconds }: OraclePlan,
  callers: number,
): Promise<OraclePoint> {
  const cluster = new VirtualCluster({ calibration, seed, tabletServers: 1 });
  const machines = Array.from({ length: workers }, () => cluster.addMachine('worker'));
  return cluster.run(async () => {
    const over = new AbortController();
    let answered = 0;
    let isIncreasing = true;
    const ask = async (oracle: ReturnType<typeof cluster.oracle.clientOf>): Promise<void> => {
      let last = 0;
      while (!over.signal.aborted) {
        const timestamp = await oracle.next();
        isIncreasing &&= timestamp > last;
        last = timestamp;
        answered++;
      }
    };
    const asking = machines.flatMap((machine) => {
      const oracle = cluster.oracle.clientOf({ machine, life: machine.life });
      return Array.from({ length: callers }, () => ask(oracle));
    });
    await cluster.clock.sleep(1000 * seconds); // Warm-up.
    const window = cluster.window();
    const before = answered;
    await cluster.clock.sleep(1000 * seconds);
    const usage = window.end();
    const served = answered - before;
    over.abort();
    await Promise.all(asking);
    const perSecond = served / seconds;
    return {
      callers: callers * workers,
      perSecond,
      perCall: usage.timestamps / usage.oracleCalls,
      // Little's law: all callers wait all the time.
      latencyMs: (1000 * callers * workers) / perSecond,
      busy: usage.kinds.find(({ kind }) => kind === 'oracle')?.cores ?? 0,
      isIncreasing,
    };
  });
}

function oracleFindings(plan: OraclePlan, points: readonly OraclePoint[]): FindingsParts {
  const isRight = points.length > 0 && points.every(({ isIncreasing }) => isIncreasing);
  if (!isRight) {
    const detail =
      points.length === 0
        ? 'nothing has been simulated yet'
        : 'a caller received a timestamp that is not above its last one';
    return noNumbers(detail);
  }
  const most = points.reduce((a, b) => (b.perSecond > a.perSecond ? b : a));
  const transactions = most.perSecond / TIMESTAMPS_PER_TRANSACTION;
  return {
    headline: `At the costs of ${plan.loaded.name}, one oracle hands out up to ${count(most.perSecond)} timestamps per second to ${plan.workers} workers, enough for ${count(transactions)} transactions per second: batches then hold ${most.perCall.toFixed(0)}, and a caller waits ${most.latencyMs.toFixed(1)} ms. The paper: ${formatCount(PAPER_PER_SECOND)}.`,
    check: { passed: true, detail: 'the timestamps of each caller increase' },
    tables: [tableOf(points)],
    charts: [],
    targets: [],
  };
}

/** Three digits: more would promise too much. */
function count(value: number): string {
  return formatCount(Number(value.toPrecision(3)));
}

function tableOf(points: readonly OraclePoint[]): ResultTable {
  return resultTable(
    {
      name: 'oracle',
      title: 'Timestamps per second of one oracle, by callers',
      caption: 'All callers of all workers ask again as soon as they are answered.',
    },
    points,
    [
      rowName('callers', ({ callers }) => callers),
      column('timestamps/s', ({ perSecond }) => rounded(perSecond), higher('timestamps/s')),
      column('timestamps per request', ({ perCall }) => rounded(perCall, 3)),
      column('latency, mean ms', ({ latencyMs }) => rounded(latencyMs, 3)),
      column('oracle busy', ({ busy }) => rounded(busy, 3)),
    ],
  );
}
