/** A run with findings, made without running anything, for the tests of charts and pages. */
import { createRun, type Run } from '../run-in-progress.ts';
import type { Findings } from '../run-record.ts';

export const SAMPLE_FINDINGS: Findings = {
  kind: 'measurement',
  kicker: 'Percolator paper, figure 8',
  title: 'Raw <store> against Percolator',
  headline: 'Half as fast.',
  check: { passed: true, detail: 'all is there' },
  tables: [
    {
      name: 'figure-8',
      title: 'Rates',
      caption: 'Of one machine.',
      columns: ['store', 'raw/s', 'relative'],
      rows: [
        ['embedded', 1234.5, 0.5],
        ['emulator, "official"', null, 0.25],
      ],
      metrics: {
        rowNames: 1,
        columns: [
          {
            column: 'raw/s',
            unit: 'operations/s',
            better: 'higher',
            intervalColumns: null,
            intervals: [{ low: 1200, high: 1300 }, null],
          },
        ],
      },
    },
  ],
  charts: [
    {
      name: 'relative',
      title: 'Relative',
      caption: 'With intervals.',
      x: { title: 'cells', scale: 'logarithmic', ticks: [{ at: 1, label: 'one' }], max: null },
      y: { title: 'relative', scale: 'linear', ticks: [], max: null },
      spans: null,
      gap: null,
      series: [
        {
          name: 'embedded',
          look: 'percolator',
          isLine: true,
          sameAs: null,
          isUnbounded: null,
          isOff: null,
          fit: null,
          points: [
            { x: 1, y: 0.5, low: 0.4, high: 0.6, samples: 40, label: 'half' },
            { x: 2, y: 0.3, low: null, high: null, samples: null, label: null },
          ],
        },
      ],
    },
    {
      name: 'kinds',
      title: 'Words on an axis',
      caption: '',
      x: {
        title: 'Mode of the scanners',
        scale: 'linear',
        ticks: ['off', 'prefetching', 'batching', 'both', 'both, public API'].map((label, i) => ({
          at: i + 1,
          label,
        })),
        max: null,
      },
      y: { title: 'Rows per second', scale: 'logarithmic', ticks: [], max: null },
      spans: null,
      gap: null,
      series: (['percolator', 'other', 'other', 'paper'] as const).map((look, i) => ({
        name: `${look} ${i}`,
        look,
        isLine: i === 1,
        sameAs: null,
        isUnbounded: null,
        isOff: null,
        fit: null,
        points: [1, 2, 3, 4, 5].map((x) => ({
          x,
          y: 100 * x * 10 ** i,
          low: null,
          high: null,
          samples: null,
          label: null,
        })),
      })),
    },
  ],
};

const SAMPLE_HEADER = {
  experiment: 'micro',
  subject: { kicker: 'Percolator paper, figure 8', title: 'Raw <store> against Percolator' },
  profile: 'smoke',
  commandLine: './run.sh bench:oracle',
  parameters: {},
  seed: 1,
  repeats: 3,
  store: { name: 'embedded', durability: 'Each commit is on the disk.' },
} as const;

/** Writes the sample into `folder`; the caller calls `finish`. */
export function createFindingsRun(folder: string, findings: Findings = SAMPLE_FINDINGS): Run {
  const run = createRun(folder, SAMPLE_HEADER);
  run.describe({ findings });
  return run;
}
