/** What is said of the systems: medians of the turns, each measurement, and two pictures. */
import { median } from 'simple-statistics';
import {
  column,
  counted,
  dots,
  formatDigits,
  type FindingsParts,
  higher,
  lower,
  mergeHistograms,
  pair,
  percentileMs,
  type ResultChart,
  resultTable,
  type ResultTable,
  rowName,
  series,
  statedPercentileMs,
} from '#results';
import { rounded } from '../harness/statistics.ts';
import { CALLERS, type Measurement, OPERATIONS, type PeersPlan } from './measure.ts';
import type { FoundSystems, System, SystemName } from './systems.ts';

/** The measurements of a system. */
interface Measured {
  readonly system: System;
  /** At least one. */
  readonly turns: readonly Measurement[];
}

/** Ours, and a peer on the same storage or on one that promises the same, with its name. */
const PAIRS: readonly (readonly [
  ours: SystemName,
  peer: SystemName,
  where: string,
  called: string,
])[] = [
  ['percolator-memory', 'client-go-memory', 'in memory', 'TiKV\u2019s client'],
  ['percolator-page-cache', 'client-go-page-cache', 'in the page cache', 'TiKV\u2019s client'],
  ['percolator-hbase', 'omid-hbase', 'on HBase', 'Omid'],
];

export function findingsOf(
  plan: PeersPlan,
  { found, missing }: FoundSystems,
  measurements: readonly Measurement[],
): FindingsParts {
  const measured = found
    .map((system) => ({
      system,
      turns: measurements.filter((one) => one.system === system.name),
    }))
    .filter(({ turns }) => turns.length > 0);
  return {
    headline: headlineOf(measured),
    check: {
      passed: true,
      detail: [
        'in every measurement all documents are in the clusters that the reference clustering finds in commit order',
        ...missing,
      ].join('; '),
    },
    tables: [
      crawlTable(plan, measured),
      cellsTable(measured),
      measurementsTable(measurements),
      durabilityTable(measured),
    ],
    charts: [
      chartOf(measured, {
        name: 'documents-per-second',
        title: 'Documents clustered per second',
        axis: 'Documents per second',
        of: perSecond,
      }),
      chartOf(measured, {
        name: 'processor-time',
        title: 'Processor time of a document',
        axis: 'Microseconds per document',
        of: cpuUs,
      }),
    ],
    targets: [],
  };
}

function headlineOf(measured: readonly Measured[]): string {
  const of = (name: SystemName): number | null => {
    const one = measured.find(({ system }) => system.name === name);
    return one === undefined ? null : medianOf(one, cpuUs);
  };
  const compared = PAIRS.flatMap(([ours, peer, where, called]) => {
    const [us, theirs] = [of(ours), of(peer)];
    if (us === null || theirs === null) return [];
    return `${formatDigits(us)} \u00b5s ${where} (${called}: ${formatDigits(theirs)})`;
  });
  if (compared.length === 0) {
    return `Only ${counted(measured.length, 'systems')}, and no peer next to ours.`;
  }
  return `A document takes ${compared.join(', ')} of processor time.`;
}

function crawlTable(plan: PeersPlan, measured: readonly Measured[]): ResultTable {
  const latencies = ({ turns }: Measured) => mergeHistograms(turns.map((one) => one.latencies));
  return resultTable(
    {
      name: 'crawl',
      title: 'Clustering documents',
      caption:
        `Medians of the turns, with ${plan.concurrency} documents in flight; CPU is that of all processes. Milliseconds from when ` +
        `a document was due until it was clustered, at ${plan.rate} a second, of all turns.`,
    },
    measured,
    [
      rowName('system', ({ system }) => system.name),
      column('turns', ({ turns }) => turns.length),
      column('documents/s', (one) => rounded(medianOf(one, perSecond)), higher('documents/s')),
      column('CPU, us', (one) => rounded(medianOf(one, cpuUs)), lower('\u00b5s')),
      column('median ms', (one) => rounded(percentileMs(latencies(one), 50)), lower('ms')),
      column('p99 ms', (one) => rounded(statedPercentileMs(latencies(one), 99))),
      column(
        'CPU at this rate, us',
        (one) => rounded(medianOf(one, arrivedCpuUs)),
        lower('\u00b5s'),
      ),
    ],
  );
}

function cellsTable(measured: readonly Measured[]): ResultTable {
  const cases = OPERATIONS.flatMap((operation) =>
    CALLERS.map((callers) => ({ operation, callers })),
  );
  const title = ({ operation, callers }: (typeof cases)[number]): string =>
    `${operation}s/s, ${callers} ${callers === 1 ? 'caller' : 'callers'}`;
  const of =
    (wanted: (typeof cases)[number], value: 'perSecond' | 'cpuUs') =>
    ({ cells }: Measurement): number | null => {
      const timed = cells.find(
        ({ operation, callers }) => operation === wanted.operation && callers === wanted.callers,
      );
      if (timed === undefined) return null;
      if (value === 'perSecond') return timed.done / timed.seconds;
      return timed.cpuSeconds === null ? null : (timed.cpuSeconds * 1e6) / timed.done;
    };
  return resultTable(
    {
      name: 'cells',
      title: 'Transactions of one cell',
      caption: 'Medians of the turns, in a closed loop. CPU is that of one transaction.',
    },
    measured.filter(({ system }) => system.hasCells),
    [
      rowName('system', ({ system }) => system.name),
      ...cases.map((one) =>
        column(
          title(one),
          (each: Measured) => rounded(medianOf(each, of(one, 'perSecond'))),
          higher<Measured>('transactions/s'),
        ),
      ),
      ...OPERATIONS.map((operation) =>
        column(
          `CPU of a lone ${operation}, us`,
          (each: Measured) => rounded(medianOf(each, of({ operation, callers: 1 }, 'cpuUs'))),
          lower<Measured>('\u00b5s'),
        ),
      ),
    ],
  );
}

function measurementsTable(measurements: readonly Measurement[]): ResultTable {
  return resultTable(
    { name: 'measurements', title: 'Each measurement', caption: 'In order of measurement.' },
    measurements,
    [
      rowName('system', ({ system }) => system),
      column('turn', ({ turn }) => turn),
      column('documents', ({ crawl }) => crawl.done),
      column('documents/s', (one) => rounded(perSecond(one))),
      column('CPU, us', (one) => rounded(cpuUs(one))),
      column('median ms', ({ latencies }) => rounded(percentileMs(latencies, 50))),
    ],
  );
}

function durabilityTable(measured: readonly Measured[]): ResultTable {
  return resultTable(
    {
      name: 'durability',
      title: 'What survives',
      caption: 'Rates of systems that promise different things are not comparable.',
    },
    measured.map(({ system }) => [system.name, system.durability] as const),
    pair('system', 'durability'),
  );
}

interface Drawn {
  readonly name: string;
  readonly title: string;
  readonly axis: string;
  readonly of: (measurement: Measurement) => number | null;
}

function chartOf(measured: readonly Measured[], { name, title, axis, of }: Drawn): ResultChart {
  const names = measured.map(({ system }) => system.name);
  const isOurs = ({ system }: Measured): boolean => system.name.startsWith('percolator');
  const ofTurns = (one: Measured) => {
    const y = medianOf(one, of);
    if (y === null) return null;
    const all = one.turns.map((turn) => of(turn) ?? y);
    return { y, low: Math.min(...all), high: Math.max(...all) };
  };
  return {
    name,
    title,
    caption:
      'Medians of the turns, from the least to the most. Systems promise different things, see the table of what survives.',
    x: {
      title: 'System',
      scale: 'linear',
      ticks: names.map((label, i) => ({ at: i + 1, label })),
    },
    y: { title: axis, scale: 'logarithmic', ticks: [] },
    series: series(measured, (_, i) => ({ x: i + 1 }), [
      dots('Percolator, this engine', 'percolator', (one) => (isOurs(one) ? ofTurns(one) : null)),
      dots('peers', 'other', (one) => (isOurs(one) ? null : ofTurns(one))),
    ]),
  };
}

/** Null if it is not known in a turn. */
function medianOf(
  { turns }: Measured,
  of: (measurement: Measurement) => number | null,
): number | null {
  const values = turns.map(of).filter((value) => value !== null);
  return values.length < turns.length ? null : median(values);
}

function perSecond({ crawl }: Measurement): number {
  return crawl.done / crawl.seconds;
}

function cpuUs({ crawl }: Measurement): number | null {
  return perDocument(crawl);
}

function arrivedCpuUs({ arrived }: Measurement): number | null {
  return perDocument(arrived);
}

function perDocument({ cpuSeconds, done }: Measurement['crawl']): number | null {
  return cpuSeconds === null ? null : (cpuSeconds * 1e6) / done;
}
