/**
 * A sample run of figure 7 made without running anything, for the tests of record, charts and page.
 *
 * Its latencies follow the shapes the real systems have (the batch uniform between T and 2T,
 * Percolator log-normal), and it holds one point of each bad kind: saturated, and an invalid
 * measurement.
 */
import { createLatencyHistogram, mergeHistograms, type Histogram } from '../histogram.ts';
import { figure7Findings, SUBJECT } from '../figure-7/findings.ts';
import {
  type CrawlResult,
  type Figure7,
  type MeasuredPoint,
  measuredPoint,
  type ProgressRow,
} from '../figure-7/points.ts';
import { createRun, type Run } from '../run-in-progress.ts';
import type { Target } from '../run-record.ts';

export const SAMPLE_SATURATED_BACKLOG = 412.5;

const TARGETS: readonly Target[] = [
  {
    name: 'Latency at 1 %/h',
    target: 'Percolator at least 100 times below MapReduce',
    measured: '241 times',
    met: true,
    reason: null,
    samples: null,
  },
  {
    name: 'Wall',
    target: 'Percolator saturates at a higher load than 40 %/h',
    measured: 'between 1,000 and 10,000 %/h',
    met: true,
    reason: null,
    samples: null,
  },
  {
    name: 'Batch cost',
    target: 'MapReduce no slower than sort on the same files',
    measured: '0.91 times its speed',
    met: false,
    reason: null,
    samples: null,
  },
  {
    name: 'Throughput',
    target: 'at least 3,000 documents/s',
    measured: '167 documents/s',
    met: null,
    reason: 'only 167 documents/s were offered',
    samples: null,
  },
];

/** Writes the sample into `folder`; the caller calls `finish`. */
export function createSampleRun(folder: string): Run {
  const run = createRun(folder, {
    experiment: 'crawl-rate',
    subject: SUBJECT,
    profile: 'standard',
    commandLine: "./run.sh bench:crawl-rate --profile standard --label '<b>&'",
    parameters: {
      documents: 100_000,
      rates: [1, 2, 10, 50, 100],
      arrivals: 'uniform',
      limit: null,
    },
    seed: 7,
    repeats: 3,
    store: {
      name: 'embedded',
      durability: 'Each commit is on disk before it is acknowledged.',
    },
    limitations: [
      'One machine of two cores runs load generator, observers and store; they share its caches.',
      'The repository fits in memory, unlike the 1 TB of the paper.',
    ],
  });
  run.describe({ findings: { ...SUBJECT, ...figure7Findings(SAMPLE_FIGURE_7) }, targets: TARGETS });
  return run;
}

export const SAMPLE_FIGURE_7: Figure7 = {
  repository: {
    documents: 100_000,
    keysPerTable: 75_000,
    documentBytes: 1024,
    clusters: 30_465,
    meanClusterSize: 3.282,
    nonSingletonShare: 0.925,
  },
  capacity: {
    percolatorDocumentsPerSecond: 1650,
    mapreduceDocumentsPerSecond: 187_000,
    costRatio: 113,
  },
  mapreduceModel: { fixedSeconds: 0.12, perRepositorySeconds: 0.53 },
  crawl: sampleCrawl(),
  points: [
    ...[1, 2, 10, 50, 100, 1000, 10_000].map(mapreduceAt),
    ...[1, 2, 10, 50, 100, 1000].map(percolatorAt),
    ...unhappyPoints(),
  ],
  check: { passed: true, detail: 'the partitions equal the judge\u2019s' },
};

function keptUp() {
  return {
    verdict: 'sustained',
    verdictReason: 'Every arrival was clustered and the backlog did not grow.',
    backlogGrowthPerSecond: 0,
  } as const;
}

function mapreduceAt(rate: number): MeasuredPoint {
  const batchSeconds = 0.65 / (1 - (rate / 100 / 3600) * 0.53);
  const histogram = histogramOf((share) => batchSeconds * (1 + share) * 1e6);
  return measuredPoint(
    {
      ...offered('mapreduce', rate),
      ...keptUp(),
      cyclesMeasured: 15,
      cpuSecondsPerDocument: 0.000012 * (1 + 3600 / ((rate / 100) * batchSeconds)),
      repeatMediansMs: [1480, 1462, 1495].map((ms) => ms * (batchSeconds / 0.985)),
    },
    histogram,
  );
}

function percolatorAt(rate: number): MeasuredPoint {
  const medianMs = 3.4 + 0.0009 * rate ** 1.3;
  const repeats = [0.97, 1, 1.04].map((factor) =>
    histogramOf((share) => factor * medianMs * 1000 * Math.exp(0.55 * normalQuantile(share))),
  );
  return measuredPoint(
    {
      ...offered('percolator', rate),
      ...keptUp(),
      cpuSecondsPerDocument: 0.0011,
      generatorLagP99Ms: 0.4,
      repeatMediansMs: [0.97, 1, 1.04].map((factor) => factor * medianMs),
      progress: rate === 1000 ? seriesOf((second) => 2 + (second % 3)) : [],
    },
    mergeHistograms(repeats),
  );
}

function unhappyPoints(): readonly MeasuredPoint[] {
  const histogram = histogramOf((share) => 1234 * 1000 * (1 + share));
  return [
    measuredPoint(
      {
        ...offered('percolator', 10_000),
        verdict: 'saturated',
        verdictReason: 'fewer documents were clustered than arrived',
        backlogGrowthPerSecond: SAMPLE_SATURATED_BACKLOG,
        progress: seriesOf((second) => second * SAMPLE_SATURATED_BACKLOG),
      },
      histogram,
    ),
    measuredPoint(
      {
        ...offered('percolator', 500),
        verdict: 'invalid',
        verdictReason: 'The load generator was 14 ms late at its 99th percentile.',
        backlogGrowthPerSecond: 0,
      },
      histogram,
    ),
  ];
}

function offered(
  system: MeasuredPoint['system'],
  rate: number,
): Omit<
  MeasuredPoint,
  'verdict' | 'verdictReason' | 'backlogGrowthPerSecond' | 'latency' | 'histogram'
> {
  const perSecond = (100_000 * rate) / 100 / 3600;
  return {
    system,
    ratePercentPerHour: rate,
    documents: Math.max(60, Math.round(perSecond * 60)),
    seconds: 60,
    documentsPerSecondOffered: perSecond,
    documentsPerSecondCompleted: perSecond,
    repeatMediansMs: [],
    generatorLagP99Ms: null,
    cpuSecondsPerDocument: null,
    cyclesMeasured: null,
    progress: [],
  };
}

function sampleCrawl(): CrawlResult {
  return {
    file: 'crawl.warc.gz',
    pages: 1834,
    distinctContents: 1702,
    clusters: 1651,
    meanClusterSize: 1.11,
    nonSingletonShare: 0.14,
    crossHostDuplicateGroups: 61,
    crossHostDuplicates: [
      {
        urls: [
          'http://example.org/a?x=1&y=2',
          'https://mirror.example.net/</script><script>alert(1)',
        ],
        shares: 'the same content',
      },
      {
        urls: ['https://one.example/', 'https://two.example/start'],
        shares: 'the same title & body',
      },
    ],
    counts: { 'pages read': 1834, 'skipped: not HTML': 212, 'skipped: empty': 9 },
    check: { passed: true, detail: 'The partition equals the judge\u2019s.' },
  };
}

/** 2,000 values at evenly spaced quantiles: the shape of a distribution without randomness. */
function histogramOf(microsecondsAt: (share: number) => number): Histogram {
  const histogram = createLatencyHistogram();
  for (let index = 0; index < 2000; index++) {
    histogram.recordValue(Math.round(microsecondsAt((index + 0.5) / 2000)));
  }
  return histogram;
}

/** The logit scaled to the normal distribution's spread: close enough for a sample. */
function normalQuantile(share: number): number {
  return Math.log(share / (1 - share)) / 1.702;
}

function seriesOf(backlogAt: (second: number) => number): readonly ProgressRow[] {
  return Array.from({ length: 61 }, (_, second) => {
    const arrived = Math.round(second * 2777.8);
    return {
      seconds: second,
      arrived,
      completed: Math.max(0, arrived - Math.round(backlogAt(second))),
    };
  });
}
