/** A plan in words and tables, and as JSON. */
import { formatCount } from '#results';
import { tableLines } from '../../harness/experiment/result-lines.ts';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { firstFull, type Part } from './parts.ts';
import type { Plan } from './plan.ts';
import type { TooSlow } from './search.ts';
import { machinesOf } from './sureness.ts';
import type { Percentile, Size, Workload } from './trial.ts';

/** What was asked. */
export interface Question {
  readonly loaded: LoadedCalibration;
  readonly workload: Workload;
  readonly load: number;
  /** The load as the user thinks of it. */
  readonly inWords: string;
  readonly latencyMs: number;
  readonly percentile: Percentile;
  readonly margin: number;
  readonly seed: number;
}

const ALTERNATIVES_SHOWN = 8;

export function planLines(question: Question, plan: Plan): readonly string[] {
  return [
    `${wantedWords(question)}, at the costs of ${question.loaded.name}:`,
    '',
    ...tableLines({ title: sizeWords(question, plan.size), ...partsTable(question, plan) }),
    firstFullWords(question, plan),
    decidedWords(question, plan),
    latencyWords(question, plan),
    '',
    ...surenessLines(question, plan),
    `Not in it: ${LEFT_OUT}`,
  ];
}

const LEFT_OUT =
  'splits and moves of tablets during the load, compactions on the machines of calls, machines that fail, and what loads the documents.';

function wantedWords({ inWords, latencyMs, percentile, workload }: Question): string {
  const done = workload.unit === 'documents' ? 'clustered' : 'done';
  return `${inWords}, ${percentile} % of them ${done} within ${formatCount(latencyMs)} ms`;
}

function sizeWords({ loaded, workload }: Question, { tabletServers, workers }: Size): string {
  const { tabletServerCores, workerCores } = loaded.calibration.cluster;
  const of = (machines: number, kind: string, cores: number): string =>
    `${formatCount(machines)} ${machines === 1 ? kind : `${kind}s`} of ${cores} ${cores === 1 ? 'core' : 'cores'}`;
  if (!workload.hasWorkers) {
    return of(tabletServers, 'machine', tabletServerCores).replace(
      ' of',
      ', each with a tablet server and a worker, of',
    );
  }
  const kind = workload.unit === 'documents' ? 'worker machine' : 'client machine';
  return `${of(tabletServers, 'tablet server', tabletServerCores)}, ${of(workers, kind, workerCores)}`;
}

function partsTable({ workload }: Question, { parts, checkedParts, check }: Plan) {
  return {
    columns: [
      'part',
      'machines',
      'busy, planned',
      'busy, simulated',
      `full at, ${workload.unit}/s`,
    ],
    rows: parts.map((part, i) => {
      // An oracle of a part of the cluster has a part of the work.
      const isComparable = check.share === 1 || part.place.endsWith('s');
      return [
        nameOf(part),
        part.machines,
        percent(part.busy),
        isComparable ? percent(checkedParts[i]?.busy ?? 0) : '-',
        Number.isFinite(part.fullAt) ? rounded(part.fullAt, 3) : '-',
      ];
    }),
  };
}

function nameOf({ place, resource }: Pick<Part, 'place' | 'resource'>): string {
  return place.endsWith('s') ? `${place}: ${resource}` : place;
}

function firstFullWords({ workload, load }: Question, { parts }: Plan): string {
  const first = firstFull(parts);
  const times = first.fullAt / load;
  return `Full first: ${nameOf(first)}, at ${formatCount(Number(first.fullAt.toPrecision(3)))} ${workload.unit} a second, ${times.toFixed(1)} times the load.`;
}

function decidedWords({ margin, percentile, latencyMs }: Question, plan: Plan): string {
  const wanted = `each part is to be free ${percent(margin)} of the time`;
  return plan.decidedBy === 'margin'
    ? `Margin: ${wanted}; more would fit, but queues grow and bursts come.`
    : `The latency decides, not the margin: ${wanted}, but ${percentile} % within ${formatCount(latencyMs)} ms ask for ${percent(1 - plan.busyMax)}.`;
}

function latencyWords(question: Question, { check, isFastEnough }: Plan): string {
  const { outcome, share, size } = check;
  const { latencyMs, keptUp } = outcome;
  const where =
    share === 1
      ? 'Checked by a simulation of the planned cluster'
      : `Checked by a simulation of ${percent(share)} of it (${sizeWords(question, size)}) under that part of the load; what all share, such as the oracle, was not checked`;
  if (!keptUp) return `${where}: it does NOT keep up.`;
  const times = `median ${ms(latencyMs[50])}, 90 % ${ms(latencyMs[90])}, 99 % ${ms(latencyMs[99])}`;
  return `${where}: ${times}${isFastEnough ? '' : ', which is NOT fast enough'}.`;
}

function surenessLines({ workload }: Question, { alternatives, size }: Plan): readonly string[] {
  if (alternatives.length === 0) {
    return [
      'How sure: no assumed number of the calibration changes the plan if it is half or twice as much.',
    ];
  }
  const sizes = alternatives.flatMap(({ halved, doubled }) => [halved, doubled]);
  const totals = [size, ...sizes].map(machinesOf);
  const words = (one: Size): string =>
    workload.hasWorkers ? `${one.tabletServers} + ${one.workers}` : String(one.tabletServers);
  return [
    `How sure: ${Math.min(...totals)} to ${Math.max(...totals)} machines, if one assumed number of the calibration is half or twice as much.`,
    ...tableLines({
      title: workload.hasWorkers ? 'Tablet servers + others' : 'Machines',
      columns: ['assumed number', 'half', 'twice'],
      rows: alternatives
        .slice(0, ALTERNATIVES_SHOWN)
        .map(({ place, halved, doubled }) => [place, words(halved), words(doubled)]),
    }),
  ];
}

export function tooSlowWords(question: Question, { outcome, busyMax }: TooSlow): string {
  const { percentile, loaded } = question;
  const found = outcome.keptUp
    ? `${percentile} % take ${ms(outcome.latencyMs[percentile])}`
    : 'it does not keep up';
  return `No cluster at the costs of ${loaded.name} does that: with every part at most ${percent(busyMax)} busy, ${found}.`;
}

/** For programs: numbers as they are. */
export function planJson(question: Question, plan: Plan): string {
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

function percent(share: number): string {
  const value = 100 * share;
  return `${value < 10 ? value.toPrecision(2) : value.toFixed(0)} %`;
}

function ms(value: number): string {
  return `${formatCount(value)} ms`;
}
