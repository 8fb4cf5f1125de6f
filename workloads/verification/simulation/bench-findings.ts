/** The findings of `./run.sh bench:simulate`, for the report. */
import { counted, verdictOf } from '#harness';
import { type FindingsParts, formatCount, higherIsBetter, noNumbers, TARGETS } from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';

export interface SimulationMeasurements {
  readonly runs: number;
  readonly transactions: number;
  /** Sent from one process to another; answers are not counted. */
  readonly messages: number;
  readonly wallMs: number;
  /** Processor time of all threads of the process. */
  readonly cpuMs: number;
  /** The part of `wallMs` that the judges took. */
  readonly judgingMs: number;
  /** Seeds of runs that broke a rule. */
  readonly broken: readonly number[];
}

/** Transactions per second that the simulator has to reach on one core. */
const { transactionsPerSecondMin: AIM } = TARGETS.simulate;

/** @param warm the measurements of the warm-up, whose runs were judged, too */
export function findingsOf(
  warm: SimulationMeasurements,
  measured: SimulationMeasurements,
): FindingsParts {
  const { runs, transactions, messages, wallMs, cpuMs, judgingMs } = measured;
  const perCpuSecond = (transactions / cpuMs) * 1_000;
  const check = checkOf(warm, measured);
  const speed = `${formatCount(perCpuSecond)} transactions a second of the processor`;
  if (!check.passed) return noNumbers(check.detail);
  return {
    headline: `One thread simulates and judges ${speed}, in ${counted(runs, 'runs')}.`,
    check,
    tables: [
      {
        name: 'speed',
        title: 'Simulated transactions, one thread',
        caption: 'The time of the processor includes the threads that collect garbage and compile.',
        columns: ['time of', 'transactions a second', 'µs each'],
        rows: [
          ['the clock', ...rateOf(transactions, wallMs)],
          ['the processor', ...rateOf(transactions, cpuMs)],
        ],
        metrics: { rowNames: 1, columns: [higherIsBetter('transactions a second', '1/s')] },
      },
      {
        name: 'shares',
        title: 'What a transaction needs',
        caption: 'Judging is the part of the time after the simulated work.',
        columns: ['messages', '% simulating', '% judging'],
        rows: [[rounded(messages / transactions), ...sharesOf(judgingMs / wallMs)]],
      },
    ],
    charts: [],
    targets: [
      {
        name: 'transactions a second of the processor',
        target: `at least ${formatCount(AIM)}`,
        measured: formatCount(perCpuSecond),
        met: perCpuSecond >= AIM,
      },
    ],
  };
}

function checkOf(
  warm: SimulationMeasurements,
  measured: SimulationMeasurements,
): FindingsParts['check'] {
  const runs = warm.runs + measured.runs;
  const found = [...warm.broken, ...measured.broken].map((seed) => `seed ${seed}`);
  return verdictOf({ unit: 'runs', planned: runs, done: runs, fault: 'broke a rule', found });
}

function rateOf(transactions: number, ms: number): readonly (number | null)[] {
  return [Math.round((transactions / ms) * 1_000), rounded((ms * 1_000) / transactions)];
}

function sharesOf(judging: number): readonly number[] {
  const percent = Math.round(judging * 100);
  return [100 - percent, percent];
}
