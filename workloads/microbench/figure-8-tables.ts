/**
 * The tables and the chart of figure 8: rates next to the paper's, their parts, and what each
 * operation costs in CPU time and messages.
 */
import {
  type Column,
  column,
  dots,
  higher,
  type Interval,
  lower,
  type ResultChart,
  type ResultMark,
  type ResultSeries,
  type ResultTable,
  resultTable,
  rowName,
  series,
} from '#results';
import { type Estimate, intervalOf } from '../harness/statistics.ts';
import { costOf, type Figure8, type MeasuredStore, rateOf, ratioOf, totalUs } from './figure-8.ts';
import { NAMES, PAPER, type ReadAndWrite, relative } from './figure-8-cases.ts';

/** What is compared, in the order in which the chart shows it. */
const PAIRS = [
  { what: 'read', label: 'random reads', ours: NAMES.read, raw: NAMES.rawRead },
  { what: 'write', label: 'single-cell writes', ours: NAMES.write, raw: NAMES.rawWrite },
] as const;

export function figure8Table(results: readonly MeasuredStore[]): ResultTable {
  const durabilities = results.map(({ name, durability }) => `${name}: ${durability}`).join('; ');
  return resultTable(
    {
      name: 'figure-8',
      title: 'Operations per second, raw and Percolator',
      caption:
        'Relative is Percolator over raw, round by round, with its 95 % confidence interval; relative CPU is the CPU ' +
        'time of a raw operation, of client, server and services together, over that of a Percolator one; there is none ' +
        `if the time of one of them is not known. At 0.5 a Percolator operation takes twice the time of a raw one. ${durabilities}.`,
    },
    [
      ...PAIRS.map(paperPair),
      ...results.flatMap((result) => PAIRS.map((pair) => pairOf(result, pair))),
    ],
    [
      rowName('store', ({ store }) => store),
      rowName('operation', ({ what }) => what),
      rateColumn('raw/s', ({ raw }) => raw),
      rateColumn('Percolator/s', ({ ours }) => ours),
      ...ratioColumns('of raw'),
      column('relative CPU', ({ cpu }) => cpu, higher('of raw')),
    ],
  );
}

/** A row of the table: a store's reads or writes. */
interface ComparedPair {
  readonly store: string;
  readonly what: string;
  readonly raw: Estimate;
  readonly ours: Estimate;
  readonly ratio: Estimate;
  readonly cpu: number | null;
}

function paperPair({ what }: (typeof PAIRS)[number]): ComparedPair {
  const [raw, ours] = [exactly(PAPER.raw[what]), exactly(PAPER.percolator[what])];
  const ratio = exactly(relative(ours.value, raw.value));
  return { store: 'paper', what, raw, ours, ratio, cpu: null };
}

/** A number that is no mean of rounds. */
function exactly(value: number): Estimate {
  return { value, low: null, high: null, samples: 1 };
}

function pairOf(
  { name, figure8 }: MeasuredStore,
  { what, ours, raw }: (typeof PAIRS)[number],
): ComparedPair {
  const { slices } = figure8;
  return {
    store: name,
    what,
    raw: rateOf(slices, raw),
    ours: rateOf(slices, ours),
    ratio: ratioOf(slices, ours, raw),
    cpu: relativeCpu(name, figure8, { ours, raw }),
  };
}

export function rateColumn<Row>(title: string, of: (row: Row) => Estimate): Column<Row> {
  const interval = (row: Row): Interval | null => intervalOf(of(row));
  return column(title, (row) => of(row).value, higher('operations/s', interval));
}

/** @param unit of the ratio: "of raw" */
export function ratioColumns(unit: string): readonly Column<{ readonly ratio: Estimate }>[] {
  return [
    column('relative', ({ ratio }) => ratio.value, higher(unit, ['low', 'high'])),
    column('low', ({ ratio }) => ratio.low),
    column('high', ({ ratio }) => ratio.high),
  ];
}

/** Null if a part of the CPU time is not known. */
function relativeCpu(
  name: string,
  { slices, inProcesses }: Figure8,
  { ours, raw }: Readonly<Record<'ours' | 'raw', string>>,
): number | null {
  const inClient = { server: name === 'embedded' && !inProcesses, services: !inProcesses };
  const rawUs = totalUs(costOf(slices, raw), inClient);
  const oursUs = totalUs(costOf(slices, ours), inClient);
  return rawUs === null || oursUs === null ? null : rawUs / oursUs;
}

export function decompositionTable(results: readonly MeasuredStore[]): ResultTable {
  return resultTable(
    {
      name: 'decomposition',
      title: 'The parts of a Percolator operation',
      caption:
        'Microseconds per operation, at the maximum rate: the paper’s own explanation (a write is ' +
        'one read and two writes, a read is a read) from raw rates, then ours from its parts: start and commit timestamp, and ' +
        'the messages of a transaction sent without the engine. The residual is the time that the parts do not explain.',
    },
    [
      ...paperParts(PAPER.raw, PAPER.percolator, 'paper'),
      ...results.flatMap((result) => [...ourPaperParts(result), ...messageParts(result)]),
    ],
    [
      column('store', ({ store }) => store),
      column('operation', ({ what }) => what),
      column('made of', ({ parts }) => parts),
      column('predicted us', ({ predicted }) => predicted),
      column('observed us', ({ observed }) => observed),
      column('residual us', ({ predicted, observed }) => observed - predicted),
      column('explained', ({ predicted, observed }) => predicted / observed),
    ],
  );
}

/** The time of an operation in microseconds, and that of its parts. */
interface Decomposed {
  readonly store: string;
  readonly what: string;
  readonly parts: string;
  readonly predicted: number;
  readonly observed: number;
}

function paperParts(
  raw: ReadAndWrite,
  percolator: ReadAndWrite,
  store: string,
): readonly Decomposed[] {
  const [readUs, writeUs] = [microseconds(percolator.read), microseconds(percolator.write)];
  const [read, write] = [microseconds(raw.read), readAndTwoWritesUs(raw)];
  return [
    { store, what: 'read', parts: '1 raw read', predicted: read, observed: readUs },
    {
      store,
      what: 'write',
      parts: '1 raw read + 2 raw writes',
      predicted: write,
      observed: writeUs,
    },
  ];
}

function ourPaperParts({ name, figure8: { slices } }: MeasuredStore): readonly Decomposed[] {
  const rate = (of: string): number => rateOf(slices, of).value;
  const raw = { read: rate(NAMES.rawRead), write: rate(NAMES.rawWrite) };
  return paperParts(raw, { read: rate(NAMES.read), write: rate(NAMES.write) }, name);
}

function messageParts({ name: store, figure8: { slices } }: MeasuredStore): readonly Decomposed[] {
  const us = (of: string): number => microseconds(rateOf(slices, of).value);
  const timestamp = us(NAMES.timestamp);
  const read = timestamp + us(NAMES.readMessage);
  const write = 2 * timestamp + us(NAMES.prewriteMessage) + us(NAMES.commitMessage);
  const [ofRead, ofWrite] = [
    'timestamp + read message',
    '2 timestamps + prewrite + commit messages',
  ];
  return [
    { store, what: 'read', parts: ofRead, predicted: read, observed: us(NAMES.read) },
    { store, what: 'write', parts: ofWrite, predicted: write, observed: us(NAMES.write) },
  ];
}

export function processorTable(results: readonly MeasuredStore[]): ResultTable {
  const costs = results.flatMap(({ name, figure8: { slices } }) =>
    Object.values(NAMES).map((of) => ({
      store: name,
      of,
      rate: rateOf(slices, of).value,
      cost: costOf(slices, of),
    })),
  );
  return resultTable(
    {
      name: 'processor',
      title: 'CPU time per operation',
      caption:
        'Microseconds of CPU, of all threads. The storage of the embedded store runs in the client; with --processes N it ' +
        'runs in the process of the benchmark, which is then the server. The messages are ' +
        'those of a transaction, sent without the engine; "us" is the time of one operation at the maximum rate. ' +
        'Services are oracle and lock service: with --processes N they have a column of their own, and the client is N ' +
        'processes, added up; otherwise the oracle is in the client.',
    },
    costs,
    [
      rowName('store', ({ store }) => store),
      rowName('operation', ({ of }) => of),
      column('per second', ({ rate }) => rate),
      column('us', ({ rate }) => microseconds(rate)),
      column('client CPU us', ({ cost }) => cost.clientUs, lower('\u00b5s')),
      column('server CPU us', ({ cost }) => cost.serverUs, lower('\u00b5s')),
      column('services CPU us', ({ cost }) => cost.servicesUs, lower('\u00b5s')),
    ],
  );
}

export function messagesTable(results: readonly MeasuredStore[]): ResultTable {
  const counted = results.flatMap(({ name, figure8: { messages } }) =>
    [...messages].map(([of, counts]) => ({ store: name, of, counts })),
  );
  return resultTable(
    {
      name: 'messages',
      title: 'Messages per operation',
      caption:
        'Calls of the storage per operation, without those of the oracle; a renewal of the lease that keeps what snapshots ' +
        'read may be among them; ' +
        'bytes are of all texts, numbers, flags and values, before any encoding; disk commits are groups that ' +
        'the embedded storage writes, each shared by the operations that gather in it; a group of ' +
        'prewrites alone has no sync of its own.',
    },
    counted,
    [
      rowName('store', ({ store }) => store),
      rowName('operation', ({ of }) => of),
      column('calls', ({ counts }) => counts.calls, lower('calls')),
      column('bytes sent', ({ counts }) => counts.bytesSent, lower('bytes')),
      column('bytes received', ({ counts }) => counts.bytesReceived, lower('bytes')),
      column('disk commits', ({ counts }) => counts.diskCommits, lower('commits')),
    ],
  );
}

/** Time per operation in microseconds, if `perSecond` is the maximum rate. */
export function microseconds(perSecond: number): number {
  return 1e6 / perSecond;
}

/**
 * "The result of the extra operations Percolator requires for commit beyond the single write that
 * Bigtable issues: a read to check for locks, a write to add the lock, and a second write to remove
 * the lock record" (section 3.2).
 */
export function readAndTwoWritesUs({ read, write }: ReadAndWrite): number {
  return microseconds(read) + 2 * microseconds(write);
}

export const RELATIVE = 'Percolator, relative to raw';

export function figure8Chart(results: readonly MeasuredStore[]): ResultChart {
  // The stores' marks are next to each other, so that no interval hides another, and each mark is
  // nearest to its own tick.
  const offset = (i: number): number => Math.min(0.15, 0.4 / results.length) * (i + 1);
  const measured = results.flatMap(({ name, figure8: { slices } }, i) =>
    series(PAIRS, (_, place) => ({ x: place + 1 + offset(i) }), [
      dots(name, i === 0 ? 'percolator' : 'other', ({ ours, raw }) =>
        marked(ratioOf(slices, ours, raw)),
      ),
    ]),
  );
  return {
    name: 'figure-8',
    title: 'Throughput of Percolator relative to the raw store',
    caption: `Bars are means of all rounds${barsOf(measured)}; grey is the paper.`,
    x: {
      title: 'Operation',
      scale: 'linear',
      ticks: PAIRS.map(({ label }, place) => ({ at: place + 1, label })),
    },
    y: { title: RELATIVE, scale: 'linear', ticks: [] },
    series: [
      ...series(PAIRS, (_, place) => ({ x: place + 1 }), [
        dots('paper', 'paper', (pair) => marked(paperPair(pair).ratio)),
      ]),
      ...measured,
    ],
  };
}

/** Fewer than three rounds have no interval. */
function barsOf(measured: readonly ResultSeries[]): string {
  const hasBars = measured.some(({ points }) => points.some(({ low }) => low !== null));
  return hasBars ? ', lines their 95 % confidence intervals' : '';
}

export function marked({ value, low, high, samples }: Estimate): Omit<ResultMark, 'x'> {
  return { y: value, low, high, samples };
}
