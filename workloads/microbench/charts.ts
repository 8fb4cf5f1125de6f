/** The charts: figure 8 as ratios, and the sweeps as ratios. */
import type { ResultChart, ResultMark, ResultSeries } from '#results';
import type { StoreResult } from './store-result.ts';
import { NAMES } from './figure-8-cases.ts';
import { ratioOf } from './figure-8.ts';
import { PAPER, relative } from './paper.ts';
import type { Estimate } from '../harness/statistics/ratio.ts';
import { type SweepName, type SweptStore, SWEEPS } from './sweep-tables.ts';

const READS = 1;
const WRITES = 2;
const RELATIVE = 'Percolator, relative to raw';

export function figure8Chart(results: readonly StoreResult[]): ResultChart {
  const exactly = (x: number, y: number): ResultMark => ({ x, y, low: null, high: null });
  // The stores' marks are next to each other, so that no interval hides another, and each mark is
  // nearest to its own tick.
  const offset = (i: number): number => Math.min(0.15, 0.4 / results.length) * (i + 1);
  const measured = results.map(({ name, figure8: { slices } }, i): ResultSeries => {
    const at = (place: number, ours: string, raw: string): ResultMark => ({
      x: place + offset(i),
      ...marked(ratioOf(slices, ours, raw)),
    });
    return {
      name,
      look: i === 0 ? 'percolator' : 'other',
      isLine: false,
      points: [at(READS, NAMES.read, NAMES.rawRead), at(WRITES, NAMES.write, NAMES.rawWrite)],
    };
  });
  return {
    name: 'figure-8',
    title: 'Throughput of Percolator relative to the raw store',
    caption: `Marks are means of all rounds${barsOf(measured)}; hollow is the paper.`,
    x: {
      title: 'Operation',
      scale: 'linear',
      ticks: [
        { at: READS, label: 'random reads' },
        { at: WRITES, label: 'single-cell writes' },
      ],
    },
    y: { title: RELATIVE, scale: 'linear', ticks: [] },
    series: [
      {
        name: 'paper',
        look: 'paper',
        isLine: false,
        points: [
          exactly(READS, relative(PAPER.percolator.read, PAPER.raw.read)),
          exactly(WRITES, relative(PAPER.percolator.write, PAPER.raw.write)),
        ],
      },
      ...measured,
    ],
  };
}

/** Fewer than three rounds have no interval. */
function barsOf(series: readonly ResultSeries[]): string {
  const hasBars = series.some(({ points }) => points.some(({ low }) => low !== null));
  return hasBars ? ', lines their 95 % confidence intervals' : '';
}

export function sweepChart(what: SweepName, swept: readonly SweptStore[]): ResultChart {
  const { title, at, caption } = SWEEPS[what];
  return {
    name: `${what}-relative`,
    title,
    caption,
    x: { title: `Number of ${at}`, scale: 'logarithmic', ticks: ticksOf(what, swept) },
    y: { title: RELATIVE, scale: 'linear', ticks: [] },
    series: swept.map(({ name, sweeps }, i) => ({
      name,
      look: i === 0 ? 'percolator' : 'other',
      isLine: true,
      points: sweeps[what].map(({ at: x, ratio }) => ({ x, ...marked(ratio) })),
    })),
  };
}

function ticksOf(what: SweepName, swept: readonly SweptStore[]): ResultChart['x']['ticks'] {
  const values = new Set(swept.flatMap(({ sweeps }) => sweeps[what].map(({ at }) => at)));
  return [...values].map((at) => ({ at, label: at.toLocaleString('en') }));
}

function marked({ value, low, high, samples }: Estimate): Omit<ResultMark, 'x'> {
  return { y: value, low, high, samples };
}
