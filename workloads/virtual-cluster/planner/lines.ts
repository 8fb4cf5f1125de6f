/** A plan in words and tables, and as JSON. */
import { counted, formatDigits, formatShare } from '#results';
import { tableLines } from '../../harness/experiment/result-lines.ts';
import { rounded } from '../../harness/statistics.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { firstFull, type Part, type Percentile, type TrialSize, type Workload } from './trial.ts';
import { type ClusterPlan, FullBelowLoad, isSame, machinesOf } from './plan.ts';
import type { TooSlow } from './search.ts';

/** What the user asked for. */
export interface Question {
  readonly loaded: LoadedCalibration;
  readonly workload: Workload;
  /** Units a second. */
  readonly load: number;
  /** The load as the user gave it. */
  readonly inWords: string;
  readonly latencyMs: number;
  readonly percentile: Percentile;
  /** Share of the time that tablet servers and workers are free. */
  readonly margin: number;
  readonly seed: number;
}

const ALTERNATIVES_SHOWN = 8;

/** "0.5 documents", "1 document", "12,000 documents". @param unit in the plural */
export function amount(count: number, unit: string): string {
  return count === 1 ? counted(count, unit) : `${formatDigits(count)} ${unit}`;
}

export function planLines(question: Question, plan: ClusterPlan): readonly string[] {
  return [
    `${wantedWords(question)}, at the costs of ${question.loaded.name}:`,
    '',
    ...tableLines({ title: sizeWords(question, plan.size), ...partsTable(question, plan) }),
    firstFullWords(question, plan),
    decidedWords(question, plan),
    latencyWords(question, plan),
    '',
    ...surenessLines(question, plan),
    `Not in it: ${leftOut(question).join(', ')}.`,
  ];
}

function leftOut({ workload }: Question): readonly string[] {
  return [
    'splits and moves of tablets during the load',
    'the processor time of compactions',
    'machines that fail',
    ...(workload.unit === 'documents' ? ['the machines that load documents'] : []),
  ];
}

function wantedWords({ inWords, latencyMs, percentile, workload }: Question): string {
  const done = workload.unit === 'documents' ? 'clustered' : 'done';
  return `${inWords}, ${percentile} % of them ${done} within ${ms(latencyMs)}`;
}

function sizeWords({ loaded, workload }: Question, { tabletServers, workers }: TrialSize): string {
  const { tabletServerCores, workerCores } = loaded.calibration.cluster;
  const serverCores = counted(tabletServerCores, 'cores');
  if (!workload.hasWorkers) {
    return `${counted(tabletServers, 'machines')}, each with a tablet server and a worker, of ${serverCores}`;
  }
  const kind = workload.unit === 'documents' ? 'worker machines' : 'client machines';
  const others = `${counted(workers, kind)} of ${counted(workerCores, 'cores')}`;
  return `${counted(tabletServers, 'tablet servers')} of ${serverCores}, ${others}`;
}

function partsTable({ workload }: Question, { parts, checkedParts, check }: ClusterPlan) {
  return {
    columns: [
      'part',
      'machines',
      'busy, planned',
      'busy, simulated',
      `full at, ${workload.unit}/s`,
    ],
    rows: parts.map((part) => {
      // In a part of the cluster, its one oracle and one lock service have a part of their work.
      const isComparable = check.share === 1 || part.place.endsWith('s');
      const checked = checkedParts.find((one) => nameOf(one) === nameOf(part));
      return [
        nameOf(part),
        part.machines,
        formatShare(part.busy),
        isComparable && checked !== undefined ? formatShare(checked.busy) : '-',
        rounded(part.fullAt, 3) ?? '-',
      ];
    }),
  };
}

function nameOf({ place, resource }: Pick<Part, 'place' | 'resource'>): string {
  return place.endsWith('s') ? `${place}: ${resource}` : place;
}

function firstFullWords({ workload, load }: Question, { parts }: ClusterPlan): string {
  const first = firstFull(parts);
  const times = first.fullAt / load;
  const fullAt = amount(Number(first.fullAt.toPrecision(3)), workload.unit);
  return `Full first: ${nameOf(first)}, at ${fullAt} a second, ${times.toFixed(1)} times the load.`;
}

function decidedWords(question: Question, plan: ClusterPlan): string {
  const { margin, percentile, latencyMs } = question;
  const wanted = `${sizedKinds(question)} are to be free ${formatShare(margin)} of the time`;
  return plan.decidedBy === 'margin'
    ? `Margin: ${wanted}; more would fit, but queues grow and bursts come.`
    : `The latency decides, not the margin: ${wanted}, but ${percentile} % within ${ms(latencyMs)} ask for ${formatShare(1 - plan.busyMax)}.`;
}

function latencyWords(question: Question, plan: ClusterPlan): string {
  const { latencyMs, keptUp } = plan.check.outcome;
  const where = `Checked by a simulation of ${checkedWords(question, plan)}`;
  if (!keptUp) return `${where}: it does NOT keep up.`;
  const times = `median ${ms(latencyMs[50])}, 90 % ${ms(latencyMs[90])}, 99 % ${ms(latencyMs[99])}`;
  return `${where}: ${times}${plan.isFastEnough ? '' : ', which is NOT fast enough'}.`;
}

function checkedWords(question: Question, { check, size: planned }: ClusterPlan): string {
  const { share, size } = check;
  const words = sizeWords(question, size);
  if (share < 1) {
    return `${formatShare(share)} of it (${words}) under that part of the load; what all share, such as the oracle, was not checked`;
  }
  // Without time for a check, the last trial of the search may have had fewer machines.
  return isSame(size, planned) ? 'the planned cluster' : `${words} under the whole load`;
}

/** A trial does not tell how these numbers would move a plan (plan.ts). */
const NOT_VARIED =
  'Not varied: the size of the caches, the oracle and the lock service, waits, and the time of the workloads’ own code.';

function surenessLines(
  { workload }: Question,
  { alternatives, size }: ClusterPlan,
): readonly string[] {
  if (alternatives.length === 0) {
    return [
      `How sure: none of the assumed numbers that were varied changes the plan if it is half or twice as much. ${NOT_VARIED}`,
    ];
  }
  const shown = alternatives.slice(0, ALTERNATIVES_SHOWN);
  const some =
    shown.length === alternatives.length
      ? ''
      : ` (${shown.length} of ${alternatives.length} numbers)`;
  const sizes = alternatives.flatMap(({ halved, doubled }) => [halved, doubled]);
  const totals = [size, ...sizes].map(machinesOf);
  const words = (one: TrialSize): string =>
    workload.hasWorkers ? `${one.tabletServers} + ${one.workers}` : String(one.tabletServers);
  return [
    `How sure: ${Math.min(...totals)} to ${Math.max(...totals)} machines, if one of the assumed numbers that were varied is half or twice as much. ${NOT_VARIED}`,
    ...tableLines({
      title: `${workload.hasWorkers ? 'Tablet servers + others' : 'Machines'}${some}`,
      columns: ['assumed number', 'half', 'twice'],
      rows: shown.map(({ place, halved, doubled }) => [place, words(halved), words(doubled)]),
    }),
  ];
}

/** Why there is no plan. */
export function noPlanWords(question: Question, found: TooSlow | FullBelowLoad): string {
  const reason =
    found instanceof FullBelowLoad
      ? fullBelowLoadWords(question, found)
      : tooSlowWords(question, found);
  return `No cluster at the costs of ${question.loaded.name} does that: ${reason}.`;
}

function fullBelowLoadWords({ workload }: Question, { part }: FullBelowLoad): string {
  const { place, fullAt } = part;
  const most = amount(Number(fullAt.toPrecision(3)), workload.unit);
  return `its one ${place} is full at ${most} a second, so plan for a load below that, or with a calibration whose ${place} is faster`;
}

function tooSlowWords(question: Question, { outcome, busyMax }: TooSlow): string {
  const { percentile } = question;
  const found = outcome.keptUp
    ? `${percentile} % take up to ${ms(outcome.latencyMs[percentile])}`
    : 'it does not keep up';
  return `with ${sizedKinds(question)} busy for at most ${formatShare(busyMax)} of the time, ${found}`;
}

/** The kinds of machines whose numbers a plan gives. */
function sizedKinds({ workload }: Question): string {
  return `tablet servers and ${workload.unit === 'documents' ? 'workers' : 'clients'}`;
}

/** For programs: numbers that are not rounded; null for those that are not finite. */
export function planJson(question: Question, plan: ClusterPlan): string {
  const { loaded, workload, load, latencyMs, percentile, margin, seed } = question;
  const { size, busyMax, decidedBy, parts, checkedParts, check, isFastEnough } = plan;
  return JSON.stringify(
    {
      calibration: loaded.name,
      unit: workload.unit,
      perSecond: load,
      wanted: { percentile: Number(percentile), latencyMs, margin },
      seed,
      tabletServers: size.tabletServers,
      workerMachines: workload.hasWorkers ? size.workers : null,
      busyMax,
      decidedBy,
      parts,
      fullFirst: firstFull(parts),
      check: {
        share: check.share,
        ...check.size,
        keptUp: check.outcome.keptUp,
        isFastEnough,
        latencyMs: check.outcome.latencyMs,
        parts: checkedParts,
      },
      alternatives: plan.alternatives,
    },
    null,
    2,
  );
}

function ms(value: number): string {
  return `${formatDigits(value)} ms`;
}
