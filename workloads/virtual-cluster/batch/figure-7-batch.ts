/**
 * The batch next to Percolator in figure 7: the same repository on the same machines, by crawl
 * rate.
 */
import { formatCount, type ResultSeries, type ResultTable } from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { type BatchOptions, type BatchPoint, repositorySeconds, simulateBatch } from './cycles.ts';

export interface BatchCurve {
  /** Whether whole documents go through all three phases, or keys alone. */
  readonly contents: 'once' | 'always';
  /** By rate, the lowest first. */
  readonly points: readonly BatchPoint[];
  /** What a run over the repository alone takes. */
  readonly repositorySeconds: number;
}

export interface BatchPlan {
  readonly calibration: Calibration;
  readonly machines: number;
  /** Documents. */
  readonly repository: number;
  readonly documentBytes: number;
  /** In percent of the repository per hour. */
  readonly rates: readonly number[];
  readonly seed: number;
}

const CONTENTS = ['always', 'once'] as const;
export const BATCH_NAMES = {
  always: 'MapReduce, whole documents',
  once: 'MapReduce, keys after phase 1',
};
/** What the paper states of its batch (section 3.1). */
export const PAPER_BATCH: {
  readonly rate: number;
  readonly medianSeconds: number;
  readonly runSeconds: number;
} = { rate: 1, medianSeconds: 30 * 60, runSeconds: 20 * 60 };

export function batchCurves(plan: BatchPlan): readonly BatchCurve[] {
  const { machines, rates, calibration: given, ...others } = plan;
  const cluster = { ...given.cluster, tabletServers: machines };
  const calibration: Calibration = { ...given, cluster };
  const inOrder = rates.toSorted((a, b) => a - b);
  return CONTENTS.map((contents) => {
    const options: BatchOptions = { ...others, calibration, contents, backupTasks: true };
    const points = inOrder.map((rate) => simulateBatch(rate, options));
    return { contents, points, repositorySeconds: repositorySeconds(options) };
  });
}

export function batchTable(curves: readonly BatchCurve[]): ResultTable {
  return {
    name: 'batch',
    title: 'The same documents through three MapReduces, again and again',
    caption:
      'Latency of a document: the rest of the run in progress, and then its own run. The paper does not say whether whole ' +
      'documents go through all three phases, so both are here. Where there is no latency, batches grow without end.',
    columns: ['batch', '% per hour', 'median s', 'a run takes s', 'core seconds of a run'],
    rows: [
      ['paper', PAPER_BATCH.rate, PAPER_BATCH.medianSeconds, PAPER_BATCH.runSeconds, null],
      ...curves.flatMap(({ contents, points }) =>
        points.map(({ rate, medianSeconds, runSeconds, cpuSecondsPerRun }) => [
          BATCH_NAMES[contents],
          rate,
          rounded(medianSeconds),
          rounded(runSeconds),
          rounded(cpuSecondsPerRun),
        ]),
      ),
    ],
  };
}

export function batchSeries(curves: readonly BatchCurve[]): readonly ResultSeries[] {
  return curves.map(({ contents, points }) => ({
    name: BATCH_NAMES[contents],
    look: 'other',
    isLine: true,
    points: points.flatMap(({ rate, medianSeconds }) =>
      medianSeconds === null ? [] : [{ x: rate, y: medianSeconds, low: null, high: null }],
    ),
  }));
}

/**
 * A sentence about the batch at the lowest rate.
 * @param saidRate the rate of the document that the preceding sentence is about, if there is one
 */
export function batchSentence(curves: readonly BatchCurve[], saidRate: number | undefined): string {
  const [always, once] = CONTENTS.map(
    (contents) => curves.find((one) => one.contents === contents)?.points[0],
  );
  if (always === undefined || once === undefined) return '';
  const minutes = ({ medianSeconds }: BatchPoint): string =>
    medianSeconds === null ? 'for ever' : `${formatCount(Math.round(medianSeconds / 60))} min`;
  const { rate } = always;
  const what = saidRate === undefined ? 'a document' : 'it';
  const where = rate === saidRate ? '' : ` at ${rate} % per hour`;
  const paperWhere = rate === PAPER_BATCH.rate ? '' : ` at ${PAPER_BATCH.rate} %`;
  return `In the batch ${what} waits ${minutes(always)}${where} (${minutes(once)} if keys alone reach phases 2 and 3); the paper's waited 30 min${paperWhere}.`;
}
