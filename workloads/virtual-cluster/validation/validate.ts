/**
 * What the model predicts of this machine, next to what this machine did: figures 7 and 9 at the
 * costs that were measured here (calibration/this-machine.ts), on one machine in virtual time.
 *
 * The engine, its observers or clients, and the embedded store share one thread of one process, so
 * the simulated machine has one core. The batch, which has a process for each core, and HBase,
 * whose processes share the cores with the client, get all of them.
 */
import type { Measuring } from '#harness';
import { type FindingsParts, type Point, TARGETS, UsageError } from '#results';
import { COLLECTING } from '../../brokerage/systems/database.ts';
import { simulateBatch } from '../batch/cycles.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { loadCalibration } from '../calibration/load.ts';
import { calibrateHBase } from '../calibration/this-machine.ts';
import type { CrawlPlan, CrawlResult } from '../figure-7/crawl.ts';
import { type BrokeragePlan, type BrokerageResult, scaleOf } from '../figure-9/brokerage.ts';
import { performInThread } from '../simulations.ts';
import type { Usage } from '../usage.ts';
import {
  busyCores,
  type Compared,
  comparedPoint,
  comparedTrade,
  inWords,
  nearest,
  pointsOf,
  validationFindings,
  workloadOf,
} from './findings.ts';
import {
  type MeasuredBrokerage,
  measuredBrokerage,
  type MeasuredCrawl,
  measuredCrawl,
  type PacedLoad,
} from '../measured.ts';
import { realOperations, virtualOperations } from './operations.ts';

export interface ValidationPlan {
  readonly seed: number;
  /** About how many documents arrive at each crawl rate. */
  readonly documents: number;
  /** About how many Trade-Results each load has. */
  readonly tradeResults: number;
  /** Documents in memory that stand for the repository, at most. */
  readonly repositoryMax: number;
  /**
   * If true, a tiny brokerage with shorter rows stands for the measured one, only crawl rates whose
   * error has a limit are predicted (the last one if there are none), and loads are short.
   */
  readonly isTiny: boolean;
}

const { throughputErrorMax: THROUGHPUT_ERROR_MAX } = TARGETS.validation;
/** Virtual time of a point: neither a moment nor hours. */
const SECONDS = { min: 1, tiny: 0.3, max: 60 };
const WARM_UP = 0.2;
/** How often a load that the model keeps up with is doubled, to find its capacity. */
const DOUBLINGS_MAX = 4;
const SCAN_REST_MS = 100;
/** About how many documents are in the history that is judged. */
const JUDGED_DOCUMENTS = 2_000;
const TINY_CUSTOMERS = 100;

export async function simulateValidation(
  plan: ValidationPlan,
  { progress, signal, work, keep }: Measuring,
): Promise<FindingsParts> {
  const crawl = measuredCrawl('embedded');
  const brokerage = measuredBrokerage();
  const hbase = { crawl: measuredCrawl('hbase'), costs: calibrateHBase() };
  if (crawl === null && brokerage === null) {
    throw new UsageError(
      'A validation needs a record of bench:crawl-rate or bench:brokerage on the embedded store, but there is none.',
    );
  }
  const simulating = new Simulating(plan, oneCore(), signal);
  const wrong = simulating.wrong;
  const runs = [crawl, brokerage].flatMap((run) => (run === null ? [] : [run.runId]));
  progress.phase('counting the operations of a document', 0);
  const measured = await realOperations(work);
  const predicted = await virtualOperations(simulating.calibration);
  wrong.push(...predicted.wrong);
  const counted = { measured, predicted: predicted.counts };
  const compared: Compared[] = [];
  const tell = (some: readonly Compared[]): void => {
    compared.push(...some);
    for (const one of some) progress.note(inWords(one));
    keep(validationFindings({ runs, compared, counted, wrong }));
  };
  if (crawl !== null) {
    progress.phase('the clustering of figure 7', 0);
    for (const point of pointsOf(crawl, plan)) tell(await simulating.crawlPoint(crawl, point));
    for (const point of crawl.batch) tell(batchPoint(crawl, point, plan.seed));
  }
  if (brokerage !== null) {
    progress.phase('the brokerage of figure 9', 0);
    tell(await simulating.fullBrokerage(brokerage));
    const half = nearest(brokerage.paced, brokerage.full.tradesPerSecond / 2);
    if (half !== undefined) tell(await simulating.pacedBrokerage(brokerage, half));
  }
  if (hbase.crawl !== null && hbase.costs !== null) {
    progress.phase('the clustering of figure 7 on HBase', 0);
    const { calibration, used } = hbase.costs;
    runs.push(hbase.crawl.runId, ...used);
    // The processes of HBase and the client share all cores of the machine.
    const onHBase = new Simulating(plan, calibration, signal, wrong);
    for (const point of pointsOf(hbase.crawl, plan)) {
      tell(await onHBase.crawlPoint(hbase.crawl, point));
    }
  }
  return validationFindings({ runs, compared, counted, wrong });
}

function batchPoint(
  { repository, documentBytes }: MeasuredCrawl,
  { latency, ratePercentPerHour: rate }: Point,
  seed: number,
): readonly Compared[] {
  const { calibration } = loadCalibration('this-machine');
  const given = { calibration, repository, documentBytes, seed };
  const batch = simulateBatch(rate, { ...given, contents: 'once', backupTasks: false });
  if (latency === null || batch.medianSeconds === null) return [];
  return [
    {
      workload: `batch, ${rate} %/hour`,
      what: 'median latency',
      unit: 'ms',
      measured: latency.medianMs,
      predicted: 1000 * batch.medianSeconds,
      errorMax: null,
    },
  ];
}

/** The calibration of this machine with one core, that of the one thread. */
function oneCore(): Calibration {
  const { calibration } = loadCalibration('this-machine');
  const cluster = { ...calibration.cluster, tabletServerCores: 1, workerCores: 1 };
  return { ...calibration, cluster };
}

class Simulating {
  readonly calibration: Calibration;
  /** What the checks of the simulations found. */
  readonly wrong: string[];
  readonly #plan: ValidationPlan;
  readonly #signal: AbortSignal;

  constructor(
    plan: ValidationPlan,
    calibration: Calibration,
    signal: AbortSignal,
    wrong: string[] = [],
  ) {
    this.#plan = plan;
    this.calibration = calibration;
    this.#signal = signal;
    this.wrong = wrong;
  }

  async crawlPoint(crawl: MeasuredCrawl, point: Point): Promise<readonly Compared[]> {
    const workload = workloadOf(crawl, point);
    if (point.verdict === 'saturated') {
      const predicted = await this.#crawlCapacity(crawl, point.documentsPerSecondOffered);
      const measured = point.documentsPerSecondCompleted;
      const what = 'saturation';
      const errorMax = THROUGHPUT_ERROR_MAX;
      return [{ workload, what, unit: 'documents/s', measured, predicted, errorMax }];
    }
    if (point.latency === null) return [];
    const result = await this.#crawl(crawl, point.documentsPerSecondOffered);
    return comparedPoint(crawl, point, { ...result, cores: this.#busyCores(result) });
  }

  async fullBrokerage(measured: MeasuredBrokerage): Promise<readonly Compared[]> {
    const { users, full } = measured;
    const load = { users, tradeResultsPerSecond: full.tradesPerSecond };
    const result = await this.#brokerage(measured, load);
    const workload = `brokerage, ${users} users`;
    return [
      {
        workload,
        what: 'saturation',
        unit: 'TR/s',
        measured: full.tradesPerSecond,
        predicted: result.tradeResultsPerSecond,
        errorMax: THROUGHPUT_ERROR_MAX,
      },
      ...this.#cpuOfTrade(workload, full.cpuMs, result),
    ];
  }

  async pacedBrokerage(measured: MeasuredBrokerage, load: PacedLoad): Promise<readonly Compared[]> {
    const { tradesPerSecond } = load;
    const result = await this.#brokerage(measured, { tradeResultsPerSecond: tradesPerSecond });
    const workload = `brokerage, ${tradesPerSecond.toFixed(0)} TR/s`;
    return [
      ...comparedTrade(workload, load, result.medianMs),
      ...this.#cpuOfTrade(workload, load.cpuMs, result),
    ];
  }

  #cpuOfTrade(
    workload: string,
    measured: number | null,
    result: BrokerageResult,
  ): readonly Compared[] {
    if (measured === null) return [];
    const predicted = (1000 * this.#busyCores(result)) / result.tradeResultsPerSecond;
    const what = 'processor time of a Trade-Result';
    return [{ workload, what, unit: 'ms', measured, predicted, errorMax: null }];
  }

  #busyCores({ usage }: { readonly usage: Usage }): number {
    return busyCores(usage, this.calibration.cluster.tabletServerCores);
  }

  /** Documents per second that the model completes; doubles the load until it does not keep up. */
  async #crawlCapacity(crawl: MeasuredCrawl, offered: number): Promise<number> {
    for (let times = 1; ; times *= 2) {
      const { growth, completedPerSecond } = await this.#crawl(crawl, offered * times);
      if (growth.isSaturated || times >= 2 ** DOUBLINGS_MAX) return completedPerSecond;
    }
  }

  async #crawl(crawl: MeasuredCrawl, perSecond: number): Promise<CrawlResult> {
    const { documents, seed, repositoryMax, isTiny } = this.#plan;
    const { documentBytes, concurrency } = crawl;
    const repository = Math.min(crawl.repository, repositoryMax);
    const seconds = virtualSeconds(documents / perSecond, isTiny);
    const warmUp = WARM_UP * seconds;
    const plan: CrawlPlan = {
      calibration: this.calibration,
      tabletServers: 1,
      scale: crawl.repository / repository,
      perSecond,
      warmUp,
      seconds,
      concurrency,
      scanRest: SCAN_REST_MS,
      historyShare: Math.max(1, Math.round((perSecond * seconds) / JUDGED_DOCUMENTS)),
      seed,
      isOneMachine: true,
    };
    const result = await performInThread(
      { kind: 'crawl', documents: { repository, documentBytes, seed }, plan },
      this.#signal,
    );
    this.wrong.push(...result.wrong);
    return result;
  }

  async #brokerage(
    { scale, batching }: MeasuredBrokerage,
    load: Pick<BrokeragePlan, 'tradeResultsPerSecond' | 'users'>,
  ): Promise<BrokerageResult> {
    const { tradeResults, seed, isTiny } = this.#plan;
    const seconds = virtualSeconds(tradeResults / load.tradeResultsPerSecond, isTiny);
    const plan: Omit<BrokeragePlan, 'disturb'> = {
      calibration: this.calibration,
      seed,
      tabletServers: 1,
      clients: 1,
      scale: isTiny ? scaleOf(TINY_CUSTOMERS) : scale,
      batching,
      collector: COLLECTING.embedded,
      // Orders need some time before their Trade-Results come at the same rate.
      warmUp: Math.max(isTiny ? 1 : 5, WARM_UP * seconds),
      seconds,
      isChecked: true,
      isOneMachine: true,
      ...load,
    };
    const result = await performInThread({ kind: 'brokerage', plan }, this.#signal);
    this.wrong.push(...result.wrong);
    return result;
  }
}

function virtualSeconds(wanted: number, isTiny: boolean): number {
  return Math.min(SECONDS.max, Math.max(isTiny ? SECONDS.tiny : SECONDS.min, wanted));
}
