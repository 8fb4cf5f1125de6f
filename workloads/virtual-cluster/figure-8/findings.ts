/** The findings of figure 8 in virtual time. */
import { type FindingsParts, type ResultChart, type ResultTable, noNumbers } from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import { NAMES } from '../../microbench/figure-8-cases.ts';
import { PAPER, relative } from '../../microbench/paper.ts';
import type { OperationKind } from '../costs.ts';
import type { MeasuredCase } from './measure.ts';
import { SAME, type Variation } from './sensitivity.ts';
import { judgedWords } from '../history.ts';
import { measuredRatios } from '../measured-series.ts';

const PAIRS = [
  { what: 'read', ours: NAMES.read, raw: NAMES.rawRead },
  { what: 'write', ours: NAMES.write, raw: NAMES.rawWrite },
] as const;

const KINDS: readonly (readonly [OperationKind, string])[] = [
  ['read', 'reads'],
  ['mutate', 'mutations'],
  ['conditionalMutate', 'conditional mutations'],
  ['scan', 'scans'],
];

export interface Figure8Result {
  readonly calibration: string;
  readonly cases: readonly MeasuredCase[];
  readonly variations: readonly Variation[];
}

export function figure8Findings(result: Figure8Result): FindingsParts {
  const { cases, variations } = result;
  const wrong = wrongOf(result);
  const isWhole = PAIRS.every(({ ours, raw }) => has(cases, ours) && has(cases, raw));
  if (wrong.length > 0 || !isWhole) {
    const detail = wrong.length > 0 ? wrong.join('; ') : 'not all cases have been measured';
    return noNumbers(detail);
  }
  const tables = [ratesTable(result), costsTable(cases)];
  const judged = cases.reduce((sum, one) => sum + one.judged, 0);
  return {
    headline: headlineOf(result),
    check: {
      passed: true,
      detail:
        'the newest version of each row that was written is the one written last, raw and in a snapshot, and no lock is ' +
        'left; calls, utilisation and queues keep their laws; ' +
        judgedWords(judged, { observers: false }),
    },
    tables: variations.length === 0 ? tables : [...tables, sensitivityTable(variations)],
    charts: [chartOf(result)],
    targets: [],
  };
}

function wrongOf({ cases, variations }: Figure8Result): readonly string[] {
  return [
    ...cases.flatMap(({ name, wrong }) => wrong.map((one) => `${name}: ${one}`)),
    ...variations.flatMap(({ place, factor, wrong }) =>
      wrong.map((one) => `with ${place} times ${factor}: ${one}`),
    ),
  ];
}

function headlineOf({ calibration, cases }: Figure8Result): string {
  const [read, write] = PAIRS.map((pair) => ratioOf(cases, pair));
  const [paperRead, paperWrite] = PAIRS.map(({ what }) => paperRatio(what));
  return (
    `At the costs of ${calibration}, one tablet server does ${read?.toFixed(2)} of a raw Bigtable's reads and ` +
    `${write?.toFixed(2)} of its writes through Percolator. The paper: ${paperRead?.toFixed(2)} and ` +
    `${paperWrite?.toFixed(2)}. No ratio was put in.`
  );
}

function ratesTable({ calibration, cases }: Figure8Result): ResultTable {
  return {
    name: 'figure-8',
    title: 'Operations per second of one tablet server, raw and Percolator',
    caption:
      'Busy is the share of the time in which the cores of the server worked: near 1, the server is the bottleneck. Relative is Percolator over raw.',
    columns: ['cluster', 'operation', 'raw/s', 'Percolator/s', 'relative', 'raw busy', 'busy'],
    rows: [
      ...PAIRS.map(({ what }) => {
        const [raw, ours] = [PAPER.raw[what], PAPER.percolator[what]];
        return ['paper', what, raw, ours, rounded(relative(ours, raw)), null, null];
      }),
      ...PAIRS.map((pair) => {
        const [raw, ours] = [caseOf(cases, pair.raw), caseOf(cases, pair.ours)];
        const rates = [rounded(raw.perSecond), rounded(ours.perSecond)];
        const busy = [rounded(busyOf(raw)), rounded(busyOf(ours))];
        return [calibration, pair.what, ...rates, rounded(ratioOf(cases, pair)), ...busy];
      }),
    ],
  };
}

/** What an operation asks of the server, call by call. */
function costsTable(cases: readonly MeasuredCase[]): ResultTable {
  return {
    name: 'calls',
    title: 'What one operation asks of the tablet server',
    caption:
      'Calls and cells of one operation, in both directions, and the time of a core of the server. A commit is a ' +
      'conditional mutation, because it must find its lock; the paper counts it as a write.',
    columns: ['operation', 'kind of call', 'calls', 'cells', 'core of the server, µs'],
    rows: cases.flatMap(({ name, operations, usage }) =>
      KINDS.flatMap(([kind, words]) => {
        const { sent, cells, serverUs } = usage.calls[kind];
        if (sent < operations / 100) return []; // Not the operation's: such as the oracle's.
        const each = [sent, cells, serverUs].map((total) => rounded(total / operations));
        return [[name, words, ...each]];
      }),
    ),
  };
}

function sensitivityTable(variations: readonly Variation[]): ResultTable {
  return {
    name: 'sensitivity',
    title: 'What becomes of the ratios if an assumed number is half or twice as large',
    caption: `The assumed numbers of calls, log and network, and the cores of the server; those that change neither ratio by ${100 * SAME} % are left out. A short run is enough to compare with the first row, which is such a run too.`,
    columns: ['number', 'times', 'reads', 'writes'],
    rows: variations.map(({ place, factor, read, write }) => [
      place,
      factor,
      rounded(read, 3),
      rounded(write, 3),
    ]),
  };
}

function chartOf({ calibration, cases }: Figure8Result): ResultChart {
  const exactly = (x: number, y: number) => ({ x, y, low: null, high: null });
  return {
    name: 'figure-8',
    title: 'Throughput of Percolator relative to a raw Bigtable, in virtual time',
    caption:
      'One tablet server, in memory, without batching; hollow is the paper. This machine has one store and its own costs.',
    x: {
      title: 'Operation',
      scale: 'linear',
      ticks: PAIRS.map(({ what }, i) => ({
        at: i + 1,
        label: what === 'read' ? 'random reads' : 'single-cell writes',
      })),
    },
    y: { title: 'Percolator, relative to raw', scale: 'linear', ticks: [] },
    series: [
      {
        name: 'paper',
        look: 'paper',
        isLine: false,
        points: PAIRS.map(({ what }, i) => exactly(i + 1, paperRatio(what))),
      },
      {
        name: calibration,
        look: 'percolator',
        isLine: false,
        points: PAIRS.map((pair, i) => exactly(i + 1.1, ratioOf(cases, pair))),
      },
      ...measuredRatios(new Map(PAIRS.map(({ what }, i) => [what, i + 1.2]))),
    ],
  };
}

function has(cases: readonly MeasuredCase[], name: string): boolean {
  return cases.some((one) => one.name === name);
}

function caseOf(cases: readonly MeasuredCase[], name: string): MeasuredCase {
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${name} was not measured`);
  return found;
}

function ratioOf(
  cases: readonly MeasuredCase[],
  { ours, raw }: { readonly ours: string; readonly raw: string },
): number {
  return relative(caseOf(cases, ours).perSecond, caseOf(cases, raw).perSecond);
}

function paperRatio(what: 'read' | 'write'): number {
  return relative(PAPER.percolator[what], PAPER.raw[what]);
}

function busyOf({ usage }: MeasuredCase): number {
  return usage.kinds.find(({ kind }) => kind === 'tablet server')?.cores ?? Number.NaN;
}
