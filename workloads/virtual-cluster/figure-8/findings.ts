/** The findings of figure 8 in virtual time. */
import { sum } from 'simple-statistics';
import {
  column,
  dots,
  type FindingsParts,
  noNumbers,
  type ResultChart,
  type ResultTable,
  resultTable,
  series,
} from '#results';
import { rounded } from '../../harness/statistics.ts';
import { NAMES, PAPER, relative } from '../../microbench/figure-8-cases.ts';
import type { OperationKind } from '../costs.ts';
import { type MeasuredCase, SAME, type Variation } from './measure.ts';
import { judgedWords } from '../history.ts';
import { measuredRatios } from '../measured.ts';

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
  const judged = sum(cases.map((one) => one.judged));
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
  const paper = PAIRS.map(({ what }) => {
    const [raw, ours] = [PAPER.raw[what], PAPER.percolator[what]];
    return { cluster: 'paper', what, raw, ours, ratio: paperRatio(what), busy: null };
  });
  const simulated = PAIRS.map((pair) => {
    const [raw, ours] = [caseOf(cases, pair.raw), caseOf(cases, pair.ours)];
    return {
      cluster: calibration,
      what: pair.what,
      raw: rounded(raw.perSecond),
      ours: rounded(ours.perSecond),
      ratio: ratioOf(cases, pair),
      busy: { raw: busyOf(raw), ours: busyOf(ours) },
    };
  });
  return resultTable(
    {
      name: 'figure-8',
      title: 'Operations per second of one tablet server, raw and Percolator',
      caption:
        'Busy is the share of the time in which the cores of the server worked: near 1, the server is the bottleneck. Relative is Percolator over raw.',
    },
    [...paper, ...simulated],
    [
      column('cluster', ({ cluster }) => cluster),
      column('operation', ({ what }) => what),
      column('raw/s', ({ raw }) => raw),
      column('Percolator/s', ({ ours }) => ours),
      column('relative', ({ ratio }) => rounded(ratio)),
      column('raw busy', ({ busy }) => busy && rounded(busy.raw)),
      column('busy', ({ busy }) => busy && rounded(busy.ours)),
    ],
  );
}

/** What an operation asks of the server, call by call. */
function costsTable(cases: readonly MeasuredCase[]): ResultTable {
  const all = cases.flatMap(({ name, operations, usage }) =>
    KINDS.map(([kind, words]) => ({ name, operations, words, calls: usage.calls[kind] })),
  );
  return resultTable(
    {
      name: 'calls',
      title: 'What one operation asks of the tablet server',
      caption:
        'Calls and cells of one operation, in both directions, and the time of a core of the server. A commit is a ' +
        'conditional mutation, because it must find its lock; the paper counts it as a write.',
    },
    // The others are not the operation's: such as the oracle's.
    all.filter(({ operations, calls }) => calls.sent >= operations / 100),
    [
      column('operation', ({ name }) => name),
      column('kind of call', ({ words }) => words),
      column('calls', ({ operations, calls }) => rounded(calls.sent / operations)),
      column('cells', ({ operations, calls }) => rounded(calls.cells / operations)),
      column('core of the server, µs', ({ operations, calls }) =>
        rounded(calls.serverUs / operations),
      ),
    ],
  );
}

function sensitivityTable(variations: readonly Variation[]): ResultTable {
  return resultTable(
    {
      name: 'sensitivity',
      title: 'What becomes of the ratios if an assumed number is half or twice as large',
      caption: `The assumed numbers of calls, log and network, and the cores of the server; those that change neither ratio by ${100 * SAME} % are left out. A short run is enough to compare with the first row, which is such a run too.`,
    },
    variations,
    [
      column('number', ({ place }) => place),
      column('times', ({ factor }) => factor),
      column('reads', ({ read }) => rounded(read, 3)),
      column('writes', ({ write }) => rounded(write, 3)),
    ],
  );
}

function chartOf({ calibration, cases }: Figure8Result): ResultChart {
  return {
    name: 'figure-8',
    title: 'Throughput of Percolator relative to a raw Bigtable, in virtual time',
    caption:
      'One tablet server, in memory, without batching; grey is the paper. This machine has one store and its own costs.',
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
      ...series(PAIRS, (_, i) => ({ x: i + 1 }), [
        dots('paper', 'paper', ({ what }) => paperRatio(what)),
      ]),
      ...series(PAIRS, (_, i) => ({ x: i + 1.1 }), [
        dots(calibration, 'percolator', (pair) => ratioOf(cases, pair)),
      ]),
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
