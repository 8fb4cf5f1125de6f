/**
 * The brokerage of figure 9 on a cluster in virtual time: the population, the transactions,
 * customers and exchange, and the check of all tables at rest are those of `workloads/brokerage`.
 *
 *     load ─▶ split the tables over the servers ─▶ warm-up ─▶ measured ─▶ orders completed ─▶ check
 *
 * During the warm-up the master splits hot tablets and evens the servers (tablet-moves.ts).
 *
 * A small population stands for a large one: the paper's brokerage has a customer for each 1/500 of
 * a Trade-Result per second, too many for this machine's memory. Fewer customers trade more often
 * here, so conflicts are more frequent than they would be.
 */
import { sum } from 'simple-statistics';
import { type CollectorOptions, createRandom, type Percolator, PercolatorError } from '#engine';
import { checkBrokerage } from '../../brokerage/check/check.ts';
import {
  CustomerEmulator,
  type CustomerLoad,
  type EmulatorResult,
} from '../../brokerage/driver/customer-emulator.ts';
import { CUSTOMER_TRANSACTIONS } from '../../brokerage/driver/deck.ts';
import type { Population } from '../../brokerage/model/population.ts';
import { type Scale, TINY } from '../../brokerage/model/scale.ts';
import type { Layout } from '../../brokerage/percolator/layout.ts';
import { loadPopulation } from '../../brokerage/percolator/load.ts';
import { createPopulation } from '../../brokerage/population/population.ts';
import { COLLECTING } from '../../brokerage/systems/database.ts';
import type { Brokerage } from '../../brokerage/transactions/index.ts';
import { openOnPercolator } from '../../brokerage/transactions/on-percolator.ts';
import { whyNotKeptUp } from '../../harness/load/kept-up.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { type DatabaseOptions, type Machine, type Usage, VirtualCluster } from '../cluster.ts';
import { HistoryRecorder } from '../history.ts';
import type { Tablet } from '../tablets.ts';

export interface BrokeragePlan {
  readonly calibration: Calibration;
  readonly seed: number;
  readonly tabletServers: number;
  /** Machines with customers, exchange and the client library. */
  readonly clients: number;
  readonly tradeResultsPerSecond: number;
  /** Instead of that load: users on each client, each of which begins again at once. */
  readonly users?: number | undefined;
  /** Whether the clients are on the tablet servers' machines. Default false. */
  readonly isOneMachine?: boolean | undefined;
  readonly scale: Scale;
  /** Default `small`. */
  readonly layout?: Layout | undefined;
  /** Default: none. */
  readonly batching?: DatabaseOptions['batching'];
  /**
   * Transactions in flight on a client at which its customers give up. Default: that of the
   * customers (customer-emulator.ts).
   */
  readonly inFlightMax?: number | undefined;
  /** How long a transaction waits for a lock. Default: that of the engine. */
  readonly lockWaitMsMax?: number | undefined;
  /** Options of a collector that the first client runs under load. Default: there is none. */
  readonly collector?: CollectorOptions | undefined;
  /** In seconds of virtual time, as is the measured interval after it. */
  readonly warmUp: number;
  readonly seconds: number;
  /**
   * Whether all tables are read and checked at the end, and the history of a sample of rows is
   * judged.
   */
  readonly isChecked: boolean;
  /** Begins with the load, and lets machines fail while it runs. */
  readonly disturb?: (cluster: VirtualCluster, beginMs: number) => Promise<void>;
}

export interface BrokerageResult {
  /** In the measured interval. */
  readonly tradeResultsPerSecond: number;
  readonly usage: Usage;
  /** Cores that worked, of all machines, and in the background. */
  readonly cores: number;
  /** Of a Trade-Result, from the moment at which it was due. */
  readonly medianMs: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  /** Trade-Results that the percentiles are of. */
  readonly samples: number;
  readonly transactions: number;
  /** Transactions in the history that was judged; none if the cluster did not come to rest. */
  readonly judged: number;
  readonly conflicts: number;
  /** Why the cluster did not keep up with the load; null if it did, and with `users`. */
  readonly saturation: string | null;
  /** Moments at which a Trade-Result ended, in seconds since the load began. */
  readonly endedAt: readonly number[];
  /** Of the tablet with the most operations on its rows: its table, and its share of them all. */
  readonly hottest: { readonly table: string; readonly share: number };
  readonly wrong: readonly string[];
}

/** The paper's rule is 500 customers for each Trade-Result per second. */
const CUSTOMERS_PER_LOAD = 6;
/**
 * With the specification's four securities for six customers, Market-Feeds wait for each other: at
 * 1,000 Trade-Results per second for up to 2.4 s, so orders are triggered too late.
 */
const LISTINGS = 8;
/** How many identifiers of trades are a client's own: more than it uses. */
const TRADES_PER_CLIENT = 1e9;
/**
 * How often the master balances the tablets, all in the first half of the warm-up. In the second
 * half the servers work off what waited for hot tablets.
 */
const BALANCES = 8;
/**
 * The history that is judged is about as long as that of all rows during this many Trade-Results.
 */
const HISTORY_TRADES = 50;

export async function simulateBrokerage(plan: BrokeragePlan): Promise<BrokerageResult> {
  const { calibration, seed, tabletServers, clients, isOneMachine = false } = plan;
  const { batching, lockWaitMsMax } = plan;
  const cluster = new VirtualCluster({ calibration, seed, tabletServers });
  const machines = isOneMachine
    ? cluster.tabletServers.slice(0, clients)
    : Array.from({ length: clients }, () => cluster.addMachine('client'));
  const population = createPopulation(plan.scale, seed);
  const recorder = new HistoryRecorder(cluster, historyShareOf(plan));
  return cluster.run(async () => {
    const percolators: Percolator[] = [];
    for (const machine of machines) {
      const percolator = await cluster.openDatabase(machine, { batching, lockWaitMsMax });
      percolators.push(recorder.database(machine.name, percolator));
    }
    const [first] = percolators;
    if (first === undefined) throw new Error('there is no client');
    await loadPopulation(first, population, { layout: plan.layout });
    spreadRows(cluster);
    const run = new BrokerageRun(plan, { cluster, recorder, population, percolators, machines });
    if (plan.collector !== undefined) await first.collectGarbage(COLLECTING.atOnce);
    const collector = plan.collector && first.startCollector(plan.collector);
    const result = await run.measure();
    await collector?.stop();
    for (const percolator of percolators) await percolator.close();
    cluster.window().end(); // Asserts Little's law, for which no call may be in flight.
    return result;
  });
}

/**
 * The scale and layout that are enough for a load, in Trade-Results per second. Prices turn so
 * quickly that limit orders are triggered during the warm-up: each order then has its Trade-Result.
 */
export function brokerageOf(load: number): Required<Pick<BrokeragePlan, 'scale' | 'layout'>> {
  const customers = 100 * Math.max(1, Math.ceil((CUSTOMERS_PER_LOAD * load) / 100));
  const scale = { ...scaleOf(customers), pricePeriodMs: 2_000, listings: LISTINGS };
  return { scale, layout: 'large' };
}

/** A quarter of a day of trades for each customer, and as little else as is possible. */
export function scaleOf(customers: number): Scale {
  return { ...TINY, customers };
}

/**
 * One row of this many is in the history that is judged, so that it fits into memory at any load.
 */
function historyShareOf({ tradeResultsPerSecond, warmUp, seconds }: BrokeragePlan): number {
  return Math.max(1, Math.ceil((tradeResultsPerSecond * (warmUp + seconds)) / HISTORY_TRADES));
}

interface Parts {
  readonly cluster: VirtualCluster;
  readonly recorder: HistoryRecorder;
  readonly population: Population;
  readonly percolators: readonly Percolator[];
  readonly machines: readonly Machine[];
}

class BrokerageRun {
  readonly #plan: BrokeragePlan;
  readonly #parts: Parts;
  readonly #brokerages: readonly Brokerage[];
  readonly #endedAt: number[] = [];
  #judged = 0;
  /** Failures of transactions, except those that waited too long for a lock. */
  readonly #mistakes: string[] = [];

  constructor(plan: BrokeragePlan, parts: Parts) {
    this.#plan = plan;
    this.#parts = parts;
    const { layout } = plan;
    this.#brokerages = parts.percolators.map((percolator) =>
      openOnPercolator(percolator, { layout, brokerUpdate: 'omit' }),
    );
  }

  async measure(): Promise<BrokerageResult> {
    const { cluster } = this.#parts;
    const { warmUp, seconds, disturb } = this.#plan;
    const beginMs = cluster.clock.monotonicMs();
    const interval = { fromMs: beginMs + 1000 * warmUp, toMs: beginMs + 1000 * (warmUp + seconds) };
    const running = this.#runAll(beginMs, interval);
    const disturbed = disturb?.(cluster, beginMs);
    for (let i = 0; i < BALANCES; i++) {
      await cluster.clock.sleep((1000 * warmUp) / 2 / BALANCES);
      cluster.balance();
    }
    await cluster.clock.sleep((1000 * warmUp) / 2);
    const window = cluster.window();
    const before = operationsOf(cluster);
    await cluster.clock.sleep(1000 * seconds);
    const usage = window.end();
    const hottest = hottestTablet(before, operationsOf(cluster));
    const results = await running;
    await disturbed;
    const result = this.#resultOf(results, usage);
    // After a disturbance too little may have been completed, but no transaction fails for that.
    const mayFail = result.saturation !== null && disturb === undefined;
    const wrong = await this.#wrongIn(results, mayFail);
    return { ...result, hottest, wrong, judged: this.#judged };
  }

  #runAll(
    beginMs: number,
    interval: { readonly fromMs: number; readonly toMs: number },
  ): Promise<readonly EmulatorResult[]> {
    const { tradeResultsPerSecond, clients, users } = this.#plan;
    const perSecond = (tradeResultsPerSecond * CUSTOMER_TRANSACTIONS) / clients;
    const loadOf = (client: number): CustomerLoad =>
      users === undefined
        ? { kind: 'paced', perSecond, phase: client / clients }
        : { kind: 'unpaced', users };
    const { signal } = new AbortController();
    const emulators = this.#brokerages.map((_, client) => this.#emulator(client, beginMs));
    return Promise.all(
      emulators.map((emulator, client) =>
        emulator.run({
          load: loadOf(client),
          beginMs,
          hasMaintenance: false,
          signal,
          ...interval,
        }),
      ),
    );
  }

  #emulator(client: number, originMs: number): CustomerEmulator {
    const { population, machines } = this.#parts;
    const { seed, clients, inFlightMax } = this.#plan;
    const { roster } = population;
    const machine = machines[client];
    const brokerage = this.#brokerages[client];
    if (machine === undefined || brokerage === undefined) throw new Error('there is such a client');
    let trades = 0;
    return new CustomerEmulator({
      clock: machine.clock,
      random: createRandom(seed).fork(`client ${client}`),
      population,
      brokerage: this.#watched(brokerage, machine, originMs),
      range: {
        first: Math.floor((roster.customers * client) / clients),
        end: Math.floor((roster.customers * (client + 1)) / clients),
      },
      // Each client has a range of its own. Otherwise all of them would write to the last tablet of
      // the trades, and no split would help.
      nextTradeId: () => roster.trades.lastId + 1 + TRADES_PER_CLIENT * client + trades++,
      originMs,
      inFlightMax,
    });
  }

  /** Notes when Trade-Results end, and makes the transactions' own code take time. */
  #watched(brokerage: Brokerage, machine: Machine, originMs: number): Brokerage {
    const { cluster } = this.#parts;
    const { clock } = cluster;
    const { brokerageTransactionUs } = this.#plan.calibration.workload;
    return {
      ...brokerage,
      execute: async (type, input) => {
        if (brokerageTransactionUs > 0) await cluster.work(machine, brokerageTransactionUs);
        const executed = await brokerage.execute(type, input).catch((error: unknown) => {
          const isLocked = error instanceof PercolatorError && error.code === 'LOCKED';
          if (!isLocked) this.#mistakes.push(`${type}: ${String(error)}`);
          throw error;
        });
        if (type === 'tradeResult') {
          this.#endedAt.push((clock.monotonicMs() - originMs) / 1000);
        }
        return executed;
      },
    };
  }

  /**
   * Above its capacity a cluster keeps some transactions waiting for a lock for longer than the
   * engine allows. Their orders stay incomplete, so the tables are not checked; other failures
   * still count.
   */
  async #wrongIn(results: readonly EmulatorResult[], mayFail: boolean): Promise<readonly string[]> {
    const failures = results.flatMap(({ firstFailure }) =>
      firstFailure === null ? [] : [`a transaction has failed: ${firstFailure}`],
    );
    if (failures.length > 0) return mayFail ? this.#mistakes : failures;
    const [brokerage] = this.#brokerages;
    if (!this.#plan.isChecked || brokerage === undefined) return [];
    for (const percolator of this.#parts.percolators) await percolator.settled();
    const acknowledged = sum(results.map(({ tradeResults }) => tradeResults));
    const { findings } = await checkBrokerage(brokerage, {
      population: this.#parts.population,
      isDrained: true,
      tradeResults: { acknowledged, inFlightMax: 0 },
    });
    const { recorder } = this.#parts;
    this.#judged = recorder.transactions;
    return [
      ...findings.map(({ condition, message }) => `${condition}: ${message}`),
      ...recorder.judge([]).map(({ claim, message }) => `${claim}: ${message}`),
    ];
  }

  #resultOf(
    results: readonly EmulatorResult[],
    usage: Usage,
  ): Omit<BrokerageResult, 'hottest' | 'wrong' | 'judged'> {
    const { seconds, warmUp } = this.#plan;
    const records = results.flatMap((result) => Object.values(result.records));
    const trades = results.map((result) => result.records.tradeResult);
    const [histogram, ...others] = trades.map((record) => record.histogram);
    if (histogram === undefined) throw new Error('there is no client');
    for (const other of others) histogram.add(other);
    const cores = sum(
      usage.kinds.map((kind) => kind.cores * kind.machines * coresOf(kind.kind, this.#parts)),
    );
    return {
      tradeResultsPerSecond: sum(trades.map(({ ended }) => ended)) / seconds,
      usage,
      cores: cores + usage.maintenanceUs / 1e6 / seconds,
      medianMs: histogram.getValueAtPercentile(50) / 1000,
      p90Ms: histogram.getValueAtPercentile(90) / 1000,
      p99Ms: histogram.getValueAtPercentile(99) / 1000,
      samples: histogram.totalCount,
      transactions: sum(records.map(({ ended }) => ended)),
      conflicts: sum(records.map(({ conflicts }) => conflicts)),
      saturation: this.#saturation(results),
      endedAt: this.#endedAt.filter((at) => at <= warmUp + seconds),
    };
  }

  #saturation(results: readonly EmulatorResult[]): string | null {
    const { tradeResultsPerSecond, users, seconds } = this.#plan;
    if (users !== undefined) return null;
    return whyNotKeptUp({
      offered: tradeResultsPerSecond * seconds,
      completed: sum(results.map(({ records }) => records.tradeResult.ended)),
      unit: 'Trade-Results',
      backlog: {
        growth: sum(results.map(({ backlogFrom, backlogTo }) => backlogTo - backlogFrom)),
        perSecond: tradeResultsPerSecond * CUSTOMER_TRANSACTIONS,
        seconds,
      },
      isGivenUp: results.some(({ isOverrun }) => isOverrun),
    });
  }
}

function coresOf(kind: string, { cluster }: Parts): number {
  return cluster.machines.find((machine) => machine.kind === kind)?.cores.servers ?? 0;
}

type Operations = ReadonlyMap<Tablet, number>;

function operationsOf({ tablets }: VirtualCluster): Operations {
  return new Map(tablets.all().map((tablet) => [tablet, tablet.operations]));
}

function hottestTablet(before: Operations, after: Operations): BrokerageResult['hottest'] {
  let [most, all, table] = [0, 0, ''];
  for (const [tablet, operations] of after) {
    const since = operations - (before.get(tablet) ?? 0);
    all += since;
    if (since > most) [most, table] = [since, tablet.table];
  }
  return { table, share: all === 0 ? 0 : most / all };
}

/* Splits tables that were loaded in one piece, and spreads them as Bigtable would have by now. */

/** Fewer rows are not worth a tablet. */
const ROWS_PER_TABLET_MIN = 8;

/** Each table becomes as many tablets as there are servers, or fewer if it is small. */
export function spreadRows({ storage, tabletServers }: VirtualCluster): void {
  const servers = tabletServers.length;
  let next = 0;
  for (const [name, table] of storage.tables) {
    const families = table.schema.families.map((family) => ({ family }));
    const rows = table.readRange({ limit: Infinity }, families);
    const count = Math.max(1, Math.min(servers, Math.floor(rows.length / ROWS_PER_TABLET_MIN)));
    // Small tables begin at different servers, so that the first server does not hold all of them.
    const first = next;
    next += count;
    for (let i = 1; i < count; i++) {
      const key = rows[Math.floor((i * rows.length) / count)]?.key;
      const server = tabletServers[(first + i) % servers];
      if (key !== undefined && server !== undefined) storage.tablets.split(name, key, server);
    }
    for (const tablet of storage.tablets.all()) if (tablet.table === name) tablet.logBytes = 0;
    const head = storage.tablets.find(name, '');
    const home = tabletServers[first % servers];
    if (head !== undefined && home !== undefined) head.server = home;
  }
}
