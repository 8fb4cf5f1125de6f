/**
 * One crawl rate on Percolator in virtual time: the observer of bench:crawl-rate on every machine.
 *
 *     loaders ──documents on schedule──▶ tablet servers ◀──scan, cluster── workers
 *
 *   1. Open the databases, and give the table of keys the repository as its background.
 *   2. Announce the documents on schedule: the warm-up, then the measured interval.
 *   3. If the cluster keeps up, wait until all documents are clustered; else let the observer runs
 *      in flight end.
 *   4. Compare the clusters with the reference's in commit order (repository.ts).
 *
 * The loaders are the crawler: machines of their own, as many as it takes. As in bench:crawl-rate,
 * loading pauses while too many documents wait for their cluster. Documents still arrive, and
 * their latencies count from their arrival.
 */
import { linearRegression, sum } from 'simple-statistics';
import type { CommittedRun, Observer, Percolator, Worker } from '#engine';
import { createLatencyHistogram, percentileMs, type ProgressRow } from '#results';
import { commitTimes } from '../../../engine/transaction/index.ts';
import { documentId, encodeDocument } from '../../crawl-rate/documents/index.ts';
import {
  clusteringObserver,
  createTables,
  documentCell,
  KEYS,
} from '../../crawl-rate/percolator/tables.ts';
import { whyNotKeptUp } from '../../harness/load/kept-up.ts';
import type { Violation } from '../../verification/judges/index.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { type Machine, type Usage, VirtualCluster } from '../cluster.ts';
import { HistoryRecorder } from '../history.ts';
import { arrivalOf, checkClusters, numberOf, type Repository, splitsFor } from './repository.ts';

export interface CrawlPlan {
  readonly calibration: Calibration;
  readonly tabletServers: number;
  /** Documents that one document of the repository stands for. */
  readonly scale: number;
  /** Documents that arrive in a second. */
  readonly perSecond: number;
  /** Virtual seconds before the measured interval, and the length of that interval. */
  readonly warmUp: number;
  readonly seconds: number;
  /** Observer runs in flight on each worker, at most. */
  readonly concurrency: number;
  /** Milliseconds that a worker rests after a scan that found nothing new. */
  readonly scanRest: number;
  /** One row of this many is in the history that is judged. */
  readonly historyShare: number;
  readonly seed: number;
  /**
   * Whether documents are loaded by the workers' processes, as on one machine, instead of a
   * crawler's machines. Workers then have no machines of their own either. Default false.
   */
  readonly isOneMachine?: boolean | undefined;
}

/** Survives a message between threads. */
export interface CrawlResult {
  readonly perSecond: number;
  /** Of the clustered documents that arrived in the measured interval; null if there were none. */
  readonly latency: {
    readonly medianMs: number;
    readonly p90Ms: number;
    readonly p99Ms: number;
    readonly samples: number;
  } | null;
  readonly growth: Growth;
  readonly completedPerSecond: number;
  /**
   * Observer runs in flight on all workers, on average, in the measured interval: from the call of
   * the observer to the answer of its commit. Runs that lose a conflict do not count.
   */
  readonly runsInFlight: number;
  /** Of the measured interval. */
  readonly usage: Usage;
  /** Commits of observers that lost a conflict, since the beginning of the warm-up. */
  readonly conflicts: number;
  /** What is wrong with the clusters, the counts or the laws of queues; empty if nothing is. */
  readonly wrong: readonly string[];
  /** Documents that were compared with the reference. */
  readonly clustered: number;
  /** Transactions in the history that was judged; none if the cluster did not come to rest. */
  readonly judged: number;
}

/** Tablet servers for each loader: few, so that the crawler is never the bottleneck. */
const SERVERS_PER_LOADER = 2;
/** Loading transactions in flight on a loader; further documents wait in order of arrival. */
const LOADING_MAX = 256;
/**
 * Loading pauses when, for each observer run that can be in flight, this many documents have begun
 * to load and are not clustered. Above the cluster's capacity, loading would otherwise take cores
 * from clustering, and fewer documents would be finished. Arrivals do not pause.
 */
const UNCLUSTERED_PER_RUN = 4;
/** Samples of the backlog in the measured interval. */
const SAMPLES = 40;
/** About the bytes of a row of the table of keys. */
const ENTRY_BYTES = 100;
/** How long the last documents may take, in virtual time. */
const DRAIN_SECONDS = 60;

/** @param wrapStore makes, of the store of each process, the one that the process uses */
export async function measureCrawl(
  plan: CrawlPlan,
  repository: Repository,
  wrapStore?: VirtualCluster['wrapStore'],
): Promise<CrawlResult> {
  const { calibration, seed, tabletServers, scale } = plan;
  const cluster = new VirtualCluster({ calibration, seed, tabletServers, scale });
  cluster.wrapStore = wrapStore;
  return cluster.run(() => new VirtualCrawl(plan, cluster, repository).measure());
}

/** A database, and the machine on which a process has opened it. */
interface CrawlProcess {
  readonly machine: Machine;
  readonly percolator: Percolator;
}

interface WorkerProcess {
  readonly percolator: Percolator;
  readonly worker: Worker;
}

/** What is known once nothing is measured any more. */
type EndedCrawl = Pick<CrawlResult, 'latency' | 'conflicts' | 'wrong' | 'judged'>;

class VirtualCrawl {
  readonly #plan: CrawlPlan;
  readonly #cluster: VirtualCluster;
  readonly #repository: Repository;
  readonly #latencies = createLatencyHistogram();
  readonly #series: ProgressRow[] = [];
  readonly #commits: { readonly arrival: number; readonly commitTimestamp: number }[] = [];
  readonly #recorder: HistoryRecorder;
  #loaders: readonly CrawlProcess[] = [];
  #workers: readonly WorkerProcess[] = [];
  /** Nothing is loaded any more. */
  #isOver = false;
  /** New documents that have arrived, have begun to load, are loaded, and are clustered. */
  #arrived = 0;
  #begun = 0;
  #loaded = 0;
  #clustered = 0;
  #firstMs = 0;
  /** When runs began that have not committed, by start timestamp. */
  readonly #runs = new Map<number, number>();
  /** How long the runs that have committed took, in all. */
  #runMs = 0;
  /** The integral of the number of documents between arrival and cluster. */
  #inSystemMs = 0;
  #latencyMs = 0;
  #changedMs = 0;

  constructor(plan: CrawlPlan, cluster: VirtualCluster, repository: Repository) {
    this.#plan = plan;
    this.#cluster = cluster;
    this.#repository = repository;
    this.#recorder = new HistoryRecorder(cluster, plan.historyShare);
  }

  async measure(): Promise<CrawlResult> {
    const cluster = this.#cluster;
    const { warmUp, seconds, perSecond } = this.#plan;
    this.#loaders = await this.#openLoaders();
    this.#workers = await this.#openWorkers();
    this.#firstMs = cluster.clock.monotonicMs();
    this.#changedMs = this.#firstMs;
    const arriving = this.#arrive();
    await cluster.clock.sleep(1000 * warmUp);
    const window = cluster.window();
    const ranMs = this.#runMs;
    for (let i = 0; i <= SAMPLES; i++) {
      if (i > 0) await cluster.clock.sleep((1000 * seconds) / SAMPLES);
      this.#sample();
    }
    const usage = window.end();
    const runsInFlight = (this.#runMs - ranMs) / (1000 * seconds);
    await arriving;
    const growth = growthOf(this.#series, perSecond);
    const ended = growth.isSaturated ? await this.#stopRuns() : await this.#comeToRest();
    const [first, last] = [this.#series[0], this.#series.at(-1)];
    const completedPerSecond = ((last?.completed ?? 0) - (first?.completed ?? 0)) / seconds;
    const measured = { perSecond, growth, completedPerSecond, runsInFlight, usage };
    return { ...measured, ...ended, clustered: this.#commits.length };
  }

  /** Waits until all documents are clustered, and judges the history. */
  async #comeToRest(): Promise<EndedCrawl> {
    await this.#drain();
    const wrong = [...this.#countsWrong(), ...this.#clustersWrong()];
    for (const { worker } of this.#workers) await worker.stop();
    for (const { percolator } of [...this.#workers, ...this.#loaders]) await percolator.close();
    this.#cluster.window().end(); // Asserts Little's law, for which no call may be in flight.
    wrong.push(...this.#recorder.judge([clusteringObserver]).map(inWords));
    return { ...this.#counted(), wrong, judged: this.#recorder.transactions };
  }

  /**
   * Lets the runs in flight end: a document may have joined the cluster of another one whose worker
   * has not heard of that one's commit yet.
   */
  async #stopRuns(): Promise<EndedCrawl> {
    const counted = this.#counted();
    this.#isOver = true;
    await Promise.all(this.#workers.map(({ worker }) => worker.stop()));
    return { ...counted, wrong: this.#clustersWrong(), judged: 0 };
  }

  #counted(): Pick<CrawlResult, 'latency' | 'conflicts'> {
    const conflicts = this.#workers.map(({ percolator }) => percolator.counters.conflicts);
    return {
      latency: this.#latency(),
      conflicts: sum(conflicts),
    };
  }

  #clustersWrong(): readonly string[] {
    return checkClusters(this.#cluster, this.#repository, this.#commits);
  }

  async #openLoaders(): Promise<readonly CrawlProcess[]> {
    const cluster = this.#cluster;
    const { tabletServers, isOneMachine = false } = this.#plan;
    const machines = isOneMachine
      ? cluster.tabletServers
      : Array.from({ length: Math.ceil(tabletServers / SERVERS_PER_LOADER) }, () =>
          cluster.addMachine('loader'),
        );
    const [first] = machines;
    if (first === undefined) throw new Error('there is a loader');
    const open = async (machine: Machine): Promise<CrawlProcess> => {
      const percolator = await cluster.openDatabase(machine);
      return { machine, percolator: this.#recorder.database('loaders', percolator) };
    };
    const process = await open(first);
    const { percolator } = process;
    await createTables(percolator, splitsFor(tabletServers));
    await using before = await percolator.snapshot();
    await using after = await percolator.snapshot();
    const times = commitTimes(before.startTimestamp, after.startTimestamp);
    this.#recorder.background = times;
    const background = this.#repository.background(times);
    cluster.setBackground(KEYS, background, ENTRY_BYTES * this.#repository.entries);
    const others = await Promise.all(machines.slice(1).map(open));
    return [process, ...others];
  }

  #openWorkers(): Promise<readonly WorkerProcess[]> {
    const cluster = this.#cluster;
    const { concurrency, scanRest, calibration, isOneMachine = false } = this.#plan;
    const { workerMachines } = calibration.cluster;
    const machines =
      workerMachines === 0 || isOneMachine
        ? cluster.tabletServers
        : Array.from({ length: workerMachines }, () => cluster.addMachine('worker'));
    const open = async (machine: Machine, i: number): Promise<WorkerProcess> => {
      const shared = isOneMachine ? this.#loaders[i]?.percolator : undefined;
      const percolator = shared ?? (await cluster.openDatabase(machine));
      const worker = percolator.startWorker(
        [this.#timed(machine, this.#recorder.observer(machine.name, clusteringObserver))],
        {
          concurrency,
          idleMs: scanRest,
          rangeLocks: cluster.rangeLocks(machine),
          onCommitted: this.#onCommitted,
        },
      );
      return { percolator, worker };
    };
    return Promise.all(machines.map(open));
  }

  /** Notes when a run begins, and makes its own code take time. */
  #timed(machine: Machine, observer: Observer): Observer {
    const { documentClusteredUs } = this.#plan.calibration.workload;
    return {
      ...observer,
      run: async (transaction, cell, change) => {
        this.#runs.set(transaction.startTimestamp, this.#cluster.clock.monotonicMs());
        if (documentClusteredUs > 0) await this.#cluster.work(machine, documentClusteredUs);
        return observer.run(transaction, cell, change);
      },
    };
  }

  /** Lets each document arrive at its moment, whatever has become of the earlier ones. */
  async #arrive(): Promise<void> {
    const { perSecond, warmUp, seconds } = this.#plan;
    const { clock } = this.#cluster;
    const total = Math.floor(perSecond * (warmUp + seconds));
    for (let n = 0; n < total;) {
      const dueMs = this.#firstMs + (1000 * n) / perSecond;
      await clock.sleep(Math.max(0, dueMs - clock.monotonicMs()));
      const due = Math.floor(((clock.monotonicMs() - this.#firstMs) * perSecond) / 1000) + 1;
      // At least the one that we have slept for, whatever is lost in rounding.
      for (const end = Math.min(Math.max(due, n + 1), total); n < end; n++) this.#change(1, 0);
      this.#fill();
    }
  }

  /** Begins to load what has arrived, as far as the cluster keeps up. */
  #fill(): void {
    const loaders = this.#loaders;
    const unclusteredMax = UNCLUSTERED_PER_RUN * this.#plan.concurrency * this.#workers.length;
    while (
      !this.#isOver &&
      this.#begun < this.#arrived &&
      this.#begun - this.#clustered < unclusteredMax &&
      this.#begun - this.#loaded < LOADING_MAX * loaders.length
    ) {
      const n = this.#begun++;
      const loader = loaders[n % loaders.length];
      if (loader !== undefined) void this.#load(loader, n).then(() => this.#fill());
    }
  }

  async #load({ machine, percolator }: CrawlProcess, n: number): Promise<void> {
    const { documentLoadedUs } = this.#plan.calibration.workload;
    if (documentLoadedUs > 0) await this.#cluster.work(machine, documentLoadedUs);
    const { documents } = this.#repository;
    const number = numberOf(documents.repository + n);
    const value = encodeDocument(documents.documentOf(number));
    await percolator.transact(async (transaction) => {
      transaction.set(documentCell(documentId(number)), value);
    });
    this.#loaded++;
  }

  readonly #onCommitted = (run: CommittedRun): void => {
    const { cell, startTimestamp, commitTimestamp } = run;
    this.#recorder.committed(run);
    const nowMs = this.#cluster.clock.monotonicMs();
    this.#runMs += nowMs - (this.#runs.get(startTimestamp) ?? nowMs);
    this.#runs.delete(startTimestamp);
    const { repository } = this.#repository.documents;
    const { perSecond, warmUp } = this.#plan;
    const arrival = arrivalOf(Number(cell.row));
    this.#commits.push({ arrival, commitTimestamp });
    const n = arrival - repository;
    const dueMs = this.#firstMs + (1000 * n) / perSecond;
    const latencyMs = nowMs - dueMs;
    this.#change(-1, latencyMs);
    this.#fill();
    if (n / perSecond < warmUp) return;
    this.#latencies.recordValue(Math.max(1, Math.round(1000 * latencyMs)));
  };

  /** One document has arrived, or one is clustered. */
  #change(by: 1 | -1, latencyMs: number): void {
    const nowMs = this.#cluster.clock.monotonicMs();
    this.#inSystemMs += (this.#arrived - this.#clustered) * (nowMs - this.#changedMs);
    this.#changedMs = nowMs;
    this.#latencyMs += latencyMs;
    if (by === 1) this.#arrived++;
    else this.#clustered++;
  }

  #sample(): void {
    const seconds = (this.#cluster.clock.monotonicMs() - this.#firstMs) / 1000;
    this.#series.push({ seconds, arrived: this.#arrived, completed: this.#clustered });
  }

  #latency(): CrawlResult['latency'] {
    const latencies = this.#latencies;
    const samples = latencies.totalCount;
    if (samples === 0) return null;
    const at = (percentile: number): number => percentileMs(latencies, percentile);
    return { medianMs: at(50), p90Ms: at(90), p99Ms: at(99), samples };
  }

  async #drain(): Promise<void> {
    const { clock } = this.#cluster;
    const endMs = clock.monotonicMs() + 1000 * DRAIN_SECONDS;
    // A document may be clustered before its loader has heard that it is loaded.
    const isOpen = (): boolean => Math.min(this.#clustered, this.#loaded) < this.#arrived;
    while (isOpen() && clock.monotonicMs() < endMs) await clock.sleep(20);
  }

  /** No document is missing, and Little's law holds for documents as well. */
  #countsWrong(): string[] {
    const wrong: string[] = [];
    const distinct = new Set(this.#commits.map(({ arrival }) => arrival)).size;
    if (this.#loaded !== this.#arrived) {
      wrong.push(`${this.#arrived - this.#loaded} documents were not loaded`);
    }
    if (distinct !== this.#arrived) {
      wrong.push(`${this.#arrived - distinct} documents were not clustered`);
    }
    const difference = Math.abs(this.#inSystemMs - this.#latencyMs);
    // Latencies count from the due time, and documents arrive up to a microsecond later.
    if (difference > 0.002 * this.#arrived + 1e-6 * this.#latencyMs) {
      wrong.push(
        `Little's law does not hold: ${this.#inSystemMs} ms are not ${this.#latencyMs} ms`,
      );
    }
    return wrong;
  }
}

function inWords({ claim, message }: Violation): string {
  return `${claim}: ${message}`;
}

/*
 * Did the cluster keep up with a crawl, by the rule of all experiments (harness/load/kept-up.ts)?
 * The backlog is that of documents between arrival and cluster.
 *
 * Nothing disturbs virtual time, so short intervals suffice: only the second half of the samples
 * counts, when queues have had the time to fill.
 */

interface Growth {
  readonly isSaturated: boolean;
  /** Documents a second by which the backlog grows. */
  readonly perSecond: number;
}

/**
 * @param series samples of the measured interval, at even distances
 * @param perSecond documents that arrive in a second
 */
export function growthOf(series: readonly ProgressRow[], perSecond: number): Growth {
  const half = series.slice(Math.floor(series.length / 2));
  const points = half.map(({ seconds, arrived, completed }) => [seconds, arrived - completed]);
  const slope = linearRegression(points).m;
  const passed = (of: 'seconds' | 'arrived' | 'completed'): number =>
    (half.at(-1)?.[of] ?? 0) - (half[0]?.[of] ?? 0);
  const seconds = passed('seconds');
  const reason = whyNotKeptUp({
    offered: passed('arrived'),
    completed: passed('completed'),
    unit: 'documents',
    backlog: { growth: slope * seconds, perSecond, seconds },
  });
  return { isSaturated: reason !== null, perSecond: slope };
}
