/** The findings of `./run.sh bench:mapreduce`, for the report. */
import { median } from 'simple-statistics';
import {
  type FindingsParts,
  higherIsBetter,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { Repeat } from './contest.ts';

/** The baseline is accepted if it is at least this many times as fast as the pipeline. */
const RATIO_MIN = 1;
/** With fewer, the start of the programs is most of what is measured. */
const DOCUMENTS_MIN = 100_000;

const SYSTEMS = [
  ['MapReduce', ({ batchSeconds }: Repeat): number => batchSeconds],
  ['map | sort | reduce', ({ pipelineSeconds }: Repeat): number => pipelineSeconds],
] as const;

export function findingsOf(
  { documents }: { readonly documents: number },
  repeats: readonly Repeat[],
): FindingsParts {
  const [batch, pipeline] = SYSTEMS.map(([, of]) => median(repeats.map(of)));
  const ratio = (pipeline ?? 0) / (batch ?? 1);
  return {
    headline: `The MapReduce clusters ${documents.toLocaleString('en')} documents ${ratio.toFixed(2)} times as fast as map | sort | reduce.`,
    check: {
      passed: true,
      detail: `both found the same ${repeats[0]?.batch.clusters ?? 0} clusters in every repeat`,
    },
    tables: [ratesTable(documents, repeats), phasesTable(repeats)],
    charts: [chartOf(repeats)],
    targets: [
      {
        name: 'speed of the baseline, relative to the pipeline',
        target: `at least ${RATIO_MIN}`,
        measured: ratio.toFixed(2),
        ...(documents < DOCUMENTS_MIN
          ? { met: null, reason: `fewer than ${DOCUMENTS_MIN.toLocaleString('en')} documents` }
          : { met: ratio >= RATIO_MIN }),
      },
    ],
  };
}

function ratesTable(documents: number, repeats: readonly Repeat[]): ResultTable {
  return {
    name: 'rates',
    title: 'Clustering all documents',
    caption: 'The median of the repeats, and their range; from the call to durable clusters.',
    columns: ['system', 'seconds', 'fastest', 'slowest', 'documents/s'],
    rows: SYSTEMS.map(([system, of]) => {
      const seconds = repeats.map(of);
      const middle = median(seconds);
      const range = [Math.min(...seconds), Math.max(...seconds)];
      return [
        system,
        ...[middle, ...range].map((value) => rounded(value)),
        Math.round(documents / middle),
      ];
    }),
    metrics: {
      rowNames: 1,
      columns: [lowerIsBetter('seconds', 's'), higherIsBetter('documents/s', 'documents/s')],
    },
  };
}

function phasesTable(repeats: readonly Repeat[]): ResultTable {
  return {
    name: 'phases',
    title: 'Where the time of the MapReduce goes',
    caption: 'Medians of the repeats; bytes and runs are those of the first.',
    columns: ['phase', 'map, s', 'reduce, s', 'MB shuffled', 'runs sorted on disk'],
    rows: (repeats[0]?.batch.phases ?? []).map(({ bytesShuffled, sortedRuns }, phase) => {
      const seconds = repeats.flatMap(({ batch }) => batch.phases[phase]?.seconds ?? []);
      const mapSeconds = rounded(median(seconds.map(({ map }) => map)));
      const reduceSeconds = rounded(median(seconds.map(({ reduce }) => reduce)));
      return [phase + 1, mapSeconds, reduceSeconds, rounded(bytesShuffled / 1e6), sortedRuns];
    }),
  };
}

function chartOf(repeats: readonly Repeat[]): ResultChart {
  const looks = ['percolator', 'other'] as const;
  return {
    name: 'repeats',
    title: 'Seconds of each repeat',
    caption: 'The two take turns, so that both meet the same disturbances.',
    x: { title: 'Repeat', scale: 'linear', ticks: [] },
    y: { title: 'Seconds', scale: 'linear', ticks: [] },
    series: SYSTEMS.map(([name, of], i) => ({
      name,
      look: looks[i] ?? 'other',
      isLine: true,
      points: repeats.map((repeat, x) => ({ x: x + 1, y: of(repeat), low: null, high: null })),
    })),
  };
}
