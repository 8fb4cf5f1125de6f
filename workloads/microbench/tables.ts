/**
 * The tables of figure 8: rates next to the paper's, their parts, and what each operation costs in
 * CPU time and messages.
 */
import {
  higherIsBetter,
  type Interval,
  lowerIsBetter,
  type ResultTable,
  type TableMetrics,
} from '#results';
import { intervalOf } from '../harness/statistics/ratio.ts';
import type { CpuProfile } from './cpu-profile.ts';
import type { StoreResult } from './store-result.ts';
import { costOf, type Figure8, rateOf, ratioOf, totalUs } from './figure-8.ts';
import { NAMES } from './figure-8-cases.ts';
import { microseconds, PAPER, type ReadAndWrite, readAndTwoWritesUs, relative } from './paper.ts';

const PAIRS = [
  { what: 'read', ours: NAMES.read, raw: NAMES.rawRead },
  { what: 'write', ours: NAMES.write, raw: NAMES.rawWrite },
] as const;

export function figure8Table(results: readonly StoreResult[]): ResultTable {
  const durabilities = results.map(({ name, durability }) => `${name}: ${durability}`).join('; ');
  return {
    name: 'figure-8',
    title: 'Operations per second, raw and Percolator',
    caption:
      'Relative is Percolator over raw, round by round, with its 95 % confidence interval; relative CPU is the CPU ' +
      'time of a raw operation, of client, server and services together, over that of a Percolator one; there is none ' +
      `if the time of one of them is not known. At 0.5 a Percolator operation takes twice the time of a raw one. ${durabilities}.`,
    columns: [
      'store',
      'operation',
      'raw/s',
      'Percolator/s',
      'relative',
      'low',
      'high',
      'relative CPU',
    ],
    rows: [
      ...PAIRS.map(({ what }) => {
        const [raw, ours] = [PAPER.raw[what], PAPER.percolator[what]];
        return ['paper', what, raw, ours, relative(ours, raw), null, null, null];
      }),
      ...results.flatMap(({ name, figure8 }) =>
        PAIRS.map(({ what, ours, raw }) => {
          const { slices } = figure8;
          const ratio = ratioOf(slices, ours, raw);
          const cpu = relativeCpu(name, figure8, { ours, raw });
          const [raws, percolators] = [rateOf(slices, raw).value, rateOf(slices, ours).value];
          return [name, what, raws, percolators, ratio.value, ratio.low, ratio.high, cpu];
        }),
      ),
    ],
    metrics: figure8Metrics(results),
  };
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

function figure8Metrics(results: readonly StoreResult[]): TableMetrics {
  const rates = (of: 'raw' | 'ours'): readonly (Interval | null)[] => [
    ...PAIRS.map(() => null), // The paper's rows.
    ...results.flatMap(({ figure8: { slices } }) =>
      PAIRS.map((pair) => intervalOf(rateOf(slices, pair[of]))),
    ),
  ];
  return {
    rowNames: 2,
    columns: [
      higherIsBetter('raw/s', 'operations/s', { intervals: rates('raw') }),
      higherIsBetter('Percolator/s', 'operations/s', { intervals: rates('ours') }),
      higherIsBetter('relative', 'of raw', { intervalColumns: ['low', 'high'] }),
      higherIsBetter('relative CPU', 'of raw'),
    ],
  };
}

export function decompositionTable(results: readonly StoreResult[]): ResultTable {
  return {
    name: 'decomposition',
    title: 'The parts of a Percolator operation',
    caption:
      'Microseconds per operation, at the maximum rate: the paper’s own explanation (a write is ' +
      'one read and two writes, a read is a read) from raw rates, then ours from its parts: start and commit timestamp, and ' +
      'the messages of a transaction sent without the engine. The residual is the time that the parts do not explain.',
    columns: [
      'store',
      'operation',
      'made of',
      'predicted us',
      'observed us',
      'residual us',
      'explained',
    ],
    rows: [
      ...paperRows(PAPER.raw, PAPER.percolator, 'paper'),
      ...results.flatMap((result) => [...ourPaperRows(result), ...partRows(result)]),
    ],
  };
}

type Row = ResultTable['rows'][number];

function paperRows(raw: ReadAndWrite, percolator: ReadAndWrite, name: string): readonly Row[] {
  return [
    partRow(name, 'read', '1 raw read', [microseconds(raw.read), microseconds(percolator.read)]),
    partRow(name, 'write', '1 raw read + 2 raw writes', [
      readAndTwoWritesUs(raw),
      microseconds(percolator.write),
    ]),
  ];
}

function ourPaperRows({ name, figure8: { slices } }: StoreResult): readonly Row[] {
  const rate = (of: string): number => rateOf(slices, of).value;
  const raw = { read: rate(NAMES.rawRead), write: rate(NAMES.rawWrite) };
  return paperRows(raw, { read: rate(NAMES.read), write: rate(NAMES.write) }, name);
}

function partRows({ name, figure8: { slices } }: StoreResult): readonly Row[] {
  const us = (of: string): number => microseconds(rateOf(slices, of).value);
  const timestamp = us(NAMES.timestamp);
  const read = timestamp + us(NAMES.readMessage);
  const write = 2 * timestamp + us(NAMES.prewriteMessage) + us(NAMES.commitMessage);
  return [
    partRow(name, 'read', 'timestamp + read message', [read, us(NAMES.read)]),
    partRow(name, 'write', '2 timestamps + prewrite + commit messages', [write, us(NAMES.write)]),
  ];
}

function partRow(
  name: string,
  operation: string,
  parts: string,
  [predicted, observed]: readonly [number, number],
): Row {
  return [name, operation, parts, predicted, observed, observed - predicted, predicted / observed];
}

export function processorTable(results: readonly StoreResult[]): ResultTable {
  return {
    name: 'processor',
    title: 'CPU time per operation',
    caption:
      'Microseconds of CPU, of all threads. The storage of the embedded store runs in the client; with --processes N it ' +
      'runs in the process of the benchmark, which is then the server. The messages are ' +
      'those of a transaction, sent without the engine; "us" is the time of one operation at the maximum rate. ' +
      'Services are oracle and lock service: with --processes N they have a column of their own, and the client is N ' +
      'processes, added up; otherwise the oracle is in the client.',
    columns: [
      'store',
      'operation',
      'per second',
      'us',
      'client CPU us',
      'server CPU us',
      'services CPU us',
    ],
    rows: results.flatMap(({ name, figure8: { slices } }) =>
      Object.values(NAMES).map((of) => {
        const { clientUs, serverUs, servicesUs } = costOf(slices, of);
        const rate = rateOf(slices, of).value;
        return [name, of, rate, microseconds(rate), clientUs, serverUs, servicesUs];
      }),
    ),
    metrics: {
      rowNames: 2,
      columns: ['client CPU us', 'server CPU us', 'services CPU us'].map((column) =>
        lowerIsBetter(column, '\u00b5s'),
      ),
    },
  };
}

export function messagesTable(results: readonly StoreResult[]): ResultTable {
  return {
    name: 'messages',
    title: 'Messages per operation',
    caption:
      'Calls of the storage per operation, without those of the oracle; a renewal of the lease that keeps what snapshots ' +
      'read may be among them; ' +
      'bytes are of all texts, numbers, flags and values, before any encoding; disk commits are groups that ' +
      'the embedded storage writes, each shared by the operations that gather in it; a group of ' +
      'prewrites alone has no sync of its own.',
    columns: ['store', 'operation', 'calls', 'bytes sent', 'bytes received', 'disk commits'],
    rows: results.flatMap(({ name, figure8: { messages } }) =>
      [...messages].map(([of, { calls, bytesSent, bytesReceived, diskCommits }]) => [
        name,
        of,
        calls,
        bytesSent,
        bytesReceived,
        diskCommits,
      ]),
    ),
    metrics: {
      rowNames: 2,
      columns: [
        lowerIsBetter('calls', 'calls'),
        lowerIsBetter('bytes sent', 'bytes'),
        lowerIsBetter('bytes received', 'bytes'),
        lowerIsBetter('disk commits', 'commits'),
      ],
    },
  };
}

/** Columns of the profile, and the parts that belong in each; the first match counts. */
const PROFILE_COLUMNS: readonly (readonly [column: string, isPart: (part: string) => boolean])[] = [
  ['storage client', (part) => part === 'engine: bigtable'],
  ['engine', (part) => part.startsWith('engine')],
  ['Node', (part) => part === 'Node'],
  ['native', (part) => part === 'native code'],
  ['garbage collection', (part) => part === 'garbage collection'],
  ['benchmark', (part) => part === 'workloads'],
  ['packages', () => true],
];

export function profileTable(results: readonly StoreResult[]): ResultTable {
  return {
    name: 'profile',
    title: 'Where the client’s CPU time goes',
    caption:
      'Microseconds per operation by part of the program, from sampling profiles, which are in the folder of the run ' +
      '(sampling itself takes time, too). The storage client is engine/bigtable; packages are protobufjs and the like.',
    columns: [
      'store',
      'operation',
      ...PROFILE_COLUMNS.map(([column]) => column),
      'client CPU us',
      'server CPU us',
    ],
    rows: results.flatMap((result) =>
      [...(result.profiles ?? [])].map(([of, profile]) => profileRow(result, of, profile)),
    ),
  };
}

function profileRow({ name, figure8 }: StoreResult, of: string, { parts }: CpuProfile): Row {
  const sums = PROFILE_COLUMNS.map(() => 0);
  for (const part of parts) {
    const column = PROFILE_COLUMNS.findIndex(([, isPart]) => isPart(part.name));
    sums[column] = (sums[column] ?? 0) + part.us;
  }
  const total = sums.reduce((sum, us) => sum + us, 0);
  // The benchmark's process is profiled, and the embedded storage runs in it, with --processes too.
  const serverUs = name === 'embedded' ? null : costOf(figure8.slices, of).serverUs;
  return [name, of, ...sums, total, serverUs];
}
