/**
 * Figure 8 in virtual time: how many reads and writes one tablet server does, of a raw Bigtable and
 * of Percolator on it. The operations are those of bench:micro (microbench/figure-8-cases.ts).
 *
 *     for each of the four cases: a fresh cluster of one tablet server ─▶ load ─▶ warm-up ─▶ window
 *                                                                                ─▶ check
 *
 * There are so many callers that the server is the bottleneck, as in the paper: "the limiting
 * factor was the performance of the tablet server".
 */
import type { Percolator } from '#engine';
import type { MicroCase } from '../../microbench/case.ts';
import { checkWritten, Data, type LastWrites, loadTables } from '../../microbench/data.ts';
import { comparedCases, NAMES } from '../../microbench/figure-8-cases.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { halvedAndDoubled, varied, type VariedNumber } from '../calibration/sensitivity.ts';
import { type Usage, VirtualCluster } from '../cluster.ts';
import { HistoryRecorder } from '../history.ts';

export interface Figure8Plan {
  readonly calibration: Calibration;
  readonly rows: number;
  readonly valueBytes: number;
  /** Machines, each with a process and its callers. */
  readonly clients: number;
  readonly callersPerClient: number;
  /** Virtual seconds that each case runs before the measured window, and that window's length. */
  readonly warmUp: number;
  readonly seconds: number;
  readonly seed: number;
}

export interface MeasuredCase {
  readonly name: string;
  /** Operations per second in the measured window, which the next two fields cover as well. */
  readonly perSecond: number;
  /** An operation that is partly in the window counts with that part. */
  readonly operations: number;
  readonly usage: Usage;
  /** Real processor time that it took to simulate the window. */
  readonly cpuSeconds: number;
  /** Transactions in the history that was judged. */
  readonly judged: number;
  /** What is wrong with the data afterwards, and with the history. */
  readonly wrong: readonly string[];
}

/** One row of this many is in the history that is judged. */
const HISTORY_SHARE = 100;

export const CASES: readonly string[] = [NAMES.rawRead, NAMES.read, NAMES.rawWrite, NAMES.write];

export async function measureCase(plan: Figure8Plan, name: string): Promise<MeasuredCase> {
  const { calibration, seed, clients } = plan;
  const cluster = new VirtualCluster({ calibration, seed, tabletServers: 1 });
  const machines = Array.from({ length: clients }, () => cluster.addMachine('client'));
  const recorder = new HistoryRecorder(cluster, HISTORY_SHARE);
  return cluster.run(async () => {
    const data = new Data(plan);
    const percolators: Percolator[] = [];
    for (const machine of machines) {
      percolators.push(recorder.database(machine.name, await cluster.openDatabase(machine)));
    }
    const [first] = percolators;
    if (first === undefined) throw new Error('there is no client');
    await loadTables(first, data);
    const written = { raw: new Map<number, number>(), percolator: new Map<number, number>() };
    const measured = await callInLoop(plan, cluster, {
      cases: percolators.map((one) => caseNamed(one, data, { written, name })),
    });
    for (const percolator of percolators) await percolator.settled();
    const wrong = await checkWritten(first, data, written);
    for (const percolator of percolators) await percolator.close();
    cluster.window().end(); // Asserts Little's law, for which no call may be in flight.
    const found = recorder.judge([]).map(({ claim, message }) => `${claim}: ${message}`);
    return { name, ...measured, wrong: [...wrong, ...found], judged: recorder.transactions };
  });
}

function caseNamed(
  percolator: Percolator,
  data: Data,
  { written, name }: { readonly written: LastWrites; readonly name: string },
): MicroCase {
  const cases = comparedCases(percolator, data, written).flat();
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no case ${name}`);
  return found;
}

/**
 * Each caller begins its next operation when its last one has ended.
 *
 * Callers that began together also end together, in waves: a window of two and a half rounds would
 * have the ends of two or of three. So an operation counts with the part of it that is in the
 * window. No caller stops before all operations that began in the window have ended, because those
 * that were left would end sooner than usual.
 */
async function callInLoop(
  { warmUp, seconds, callersPerClient }: Figure8Plan,
  cluster: VirtualCluster,
  { cases }: { readonly cases: readonly MicroCase[] },
): Promise<Pick<MeasuredCase, 'perSecond' | 'operations' | 'usage' | 'cpuSeconds'>> {
  const { clock } = cluster;
  const fromMs = clock.monotonicMs() + 1000 * warmUp;
  const toMs = fromMs + 1000 * seconds;
  let next = 0;
  let operations = 0;
  let callersInWindow = cases.length * callersPerClient;
  const caller = async ({ operate }: MicroCase): Promise<void> => {
    let endMs = clock.monotonicMs();
    while (callersInWindow > 0) {
      const beginMs = endMs;
      await operate(next++);
      endMs = clock.monotonicMs();
      const insideMs = Math.min(endMs, toMs) - Math.max(beginMs, fromMs);
      if (insideMs > 0) operations += insideMs / (endMs - beginMs);
      if (beginMs < toMs && endMs >= toMs) callersInWindow--;
    }
  };
  const callers = cases.flatMap((one) =>
    Array.from({ length: callersPerClient }, () => caller(one)),
  );
  const ended = Promise.all(callers);
  ended.catch(() => {}); // It is awaited after the window, and may fail before.
  await clock.sleep(1000 * warmUp);
  const window = cluster.window();
  const cpuBefore = process.cpuUsage();
  await clock.sleep(1000 * seconds);
  const cpu = process.cpuUsage(cpuBefore);
  const usage = window.end();
  await ended;
  const cpuSeconds = (cpu.user + cpu.system) / 1e6;
  return { perSecond: operations / seconds, operations, usage, cpuSeconds };
}

/*
 * Figure 8 with each assumed number of the calibration halved and doubled. A ratio needs no long
 * run: the server is busy all the time, and even a short run has thousands of operations.
 */

export interface Variation extends VariedNumber {
  /** Percolator over raw. */
  readonly read: number;
  readonly write: number;
  /** What is wrong with any of its cases; empty if nothing is. */
  readonly wrong: readonly string[];
}

/** What a tablet server's limit depends on; oracle and clients have time to spare at our costs. */
const PLACES = /^(storage|cluster\.tabletServerCores|log|network)\b/;
/**
 * Rows, and times with 1,024 callers, of a variation. At twice the costs, or with half of the
 * cores, a write then takes 0.32 s, and less in proportion with fewer callers. The first writes
 * take less, and the second ones begin in the middle of a round of writes, so the warm-up is longer
 * than two rounds.
 */
const SMALL = { rows: 4_000, warmUp: 0.8, seconds: 0.6, callers: 1_024 };
/** A ratio that changes by less is the same. Another seed changes it by a tenth of that. */
export const SAME = 0.005;

/**
 * First the ratios as they are, with which all others are compared; then of the variations those
 * that change a ratio, and those with which something is wrong.
 */
export async function varyFigure8(
  loaded: LoadedCalibration,
  plan: Figure8Plan,
  given: {
    /** Default: half and twice of all assumed numbers that match `PLACES`. */
    readonly changes?: readonly VariedNumber[];
    readonly signal: AbortSignal;
    /** Called before each variation, with the number of those before it, and of all. */
    readonly onVariation: (done: number, total: number) => void;
  },
): Promise<readonly Variation[]> {
  const { signal, onVariation } = given;
  const { changes = halvedAndDoubled(loaded, (place) => PLACES.test(place)) } = given;
  const measure = async (calibration: Calibration): Promise<Ratios> => {
    const cases: MeasuredCase[] = [];
    for (const name of CASES) {
      cases.push(await measureCase({ ...small(plan), calibration }, name));
    }
    return ratiosOf(cases);
  };
  const base = await measure(loaded.calibration);
  const told: Variation[] = [{ place: '(as it is)', factor: 1, ...base }];
  for (const [done, change] of changes.entries()) {
    signal.throwIfAborted();
    onVariation(done, changes.length);
    const ratios = await measure(varied(loaded, change));
    const isSame = (of: 'read' | 'write'): boolean => Math.abs(ratios[of] / base[of] - 1) < SAME;
    if (isSame('read') && isSame('write') && ratios.wrong.length === 0) continue;
    told.push({ ...change, ...ratios });
  }
  return told;
}

function small(plan: Figure8Plan): Figure8Plan {
  const share = (plan.clients * plan.callersPerClient) / SMALL.callers;
  const { rows, warmUp, seconds } = SMALL;
  return { ...plan, rows, warmUp: warmUp * share, seconds: seconds * share };
}

type Ratios = Pick<Variation, 'read' | 'write' | 'wrong'>;

function ratiosOf(cases: readonly MeasuredCase[]): Ratios {
  const rate = (name: string): number =>
    cases.find((one) => one.name === name)?.perSecond ?? Number.NaN;
  return {
    read: rate(NAMES.read) / rate(NAMES.rawRead),
    write: rate(NAMES.write) / rate(NAMES.rawWrite),
    wrong: cases.flatMap(({ name, wrong }) => wrong.map((one) => `${name}: ${one}`)),
  };
}
