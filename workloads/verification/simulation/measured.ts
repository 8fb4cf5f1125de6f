/** The measurements of the simulator's benchmark, for people. */
import type { captureEnvironment } from '#results';

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
const AIM = 20_000;

export function measuredLines(
  { runs, transactions, messages, wallMs, cpuMs, judgingMs }: SimulationMeasurements,
  { cpuModel, cores, nodeVersion }: ReturnType<typeof captureEnvironment>,
): readonly string[] {
  const perCpuSecond = (transactions / cpuMs) * 1_000;
  const judgingPercent = Math.round((judgingMs / wallMs) * 100);
  return [
    `${number(runs)} runs, ${number(transactions)} transactions in ${(wallMs / 1_000).toFixed(1)} s, one thread`,
    `  of the clock       ${rate(transactions, wallMs)}`,
    `  of the processor   ${rate(transactions, cpuMs)}`,
    `  messages           ${(messages / transactions).toFixed(1)} a transaction`,
    `  simulating         ${100 - judgingPercent} % of the time`,
    `  judging            ${judgingPercent} % of the time`,
    `machine: ${cpuModel}, ${cores} cores, Node ${nodeVersion}`,
    perCpuSecond >= AIM
      ? `Met: at least ${number(AIM)} transactions a second of the processor.`
      : `NOT met: ${number(AIM)} transactions a second of the processor.`,
  ];
}

function rate(transactions: number, ms: number): string {
  const perSecond = number((transactions / ms) * 1_000).padStart(7);
  return `${perSecond} transactions a second, ${((ms * 1_000) / transactions).toFixed(1)} µs each`;
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en');
}
