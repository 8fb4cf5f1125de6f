/**
 * Compares engines on the same documents, one repeat after the other.
 *
 * Each is timed from the call to durable clusters, and all sync only the clusters: the data between
 * the phases is useless after a crash. The workers of the MapReduce live through all repeats, as in
 * the crawl-rate experiment, so its first repeat is also its slowest. The programs of the others
 * are started for each repeat, as is usual; what their start costs is measured on one document.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { median } from 'simple-statistics';
import {
  column,
  type FindingsParts,
  formatJudged,
  higher,
  line,
  lower,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
  type Target,
  TARGETS,
} from '#results';
import { batchCpuSeconds, type BatchEngine } from '../../harness/batch-engines.ts';
import { rounded } from '../../harness/statistics.ts';
import { CLUSTERING, readClusters } from './cluster-job.ts';
import type { Cluster } from './index.ts';

export interface ContestOptions {
  /** Files of documents, one per worker. */
  readonly inputs: readonly string[];
  /** A file with one document. */
  readonly single: string;
  /** Each run makes a folder here, for its clusters and temporary files, and removes it. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** One run of one engine. */
interface Run {
  readonly engine: string;
  readonly seconds: number;
  /** Of all its processes; null if it is not known. */
  readonly cpuSeconds: number | null;
  /**
   * The most that its files took at any moment, as far as it was seen. If the folder's path has a
   * comma, Spark's temporary files are elsewhere, and do not count.
   */
  readonly diskBytes: number;
  /** Digest of the clusters; the same documents always give the same digest. */
  readonly digest: string;
}

const DISK_LOOK_MS = 100;

export class Contest {
  readonly #options: ContestOptions;
  #digest: string | undefined;

  constructor(options: ContestOptions) {
    this.#options = options;
  }

  /** Runs the engine on all documents. */
  run(engine: BatchEngine): Promise<Run> {
    return this.#timed(engine, this.#options.inputs);
  }

  /** @throws if the clusters of the run are not those of the runs checked before */
  async check({ engine, digest }: Run): Promise<void> {
    this.#digest ??= digest;
    if (digest === this.#digest) return;
    throw new Error(
      `${engine} found other clusters than the engines before it (${digest}, ${this.#digest}): ` +
        'one of them is broken, and this run has no numbers',
    );
  }

  /** Seconds of a run on one document: what is not work on documents. */
  async startUpSeconds(engine: BatchEngine): Promise<number> {
    return (await this.#timed(engine, [this.#options.single])).seconds;
  }

  async #timed(engine: BatchEngine, inputs: readonly string[]): Promise<Run> {
    const { signal } = this.#options;
    const folder = join(this.#options.folder, 'contest');
    await mkdir(folder);
    const outputFolder = join(folder, 'clusters');
    const disk = watchDisk(folder);
    try {
      const cpuBefore = batchCpuSeconds(engine);
      const startedMs = performance.now();
      const files = inputs.map((path) => ({ path }));
      await engine.run({ chain: CLUSTERING, inputs: files, outputFolder, signal });
      const seconds = (performance.now() - startedMs) / 1000;
      const cpuAfter = batchCpuSeconds(engine);
      return {
        engine: engine.name,
        seconds,
        cpuSeconds: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
        diskBytes: await disk.end(),
        digest: await digestClusters(readClusters(outputFolder)),
      };
    } finally {
      await disk.end();
      await rm(folder, { recursive: true, force: true });
    }
  }
}

interface DiskWatch {
  /** Ends the watch, with a last look; resolves with the most bytes that were seen. */
  end(): Promise<number>;
}

function watchDisk(folder: string): DiskWatch {
  let most = 0;
  let ended: Promise<number> | undefined;
  const look = async (): Promise<void> => {
    most = Math.max(most, await bytesIn(folder));
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, DISK_LOOK_MS);
  const end = async (): Promise<number> => {
    clearInterval(timer);
    await looking;
    await look();
    return most;
  };
  return { end: async () => (ended ??= end()) };
}

/** Files may go while they are counted. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => {
        const found = await stat(join(parentPath, name)).catch(() => undefined);
        return found === undefined ? 0 : found.blocks * 512;
      }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/* One digest for all clusters of a run, independent of the order of clusters and members. */

/** A digest in hexadecimal; equal exactly if the clusters are the same. */
export async function digestClusters(clusters: AsyncIterable<Cluster>): Promise<string> {
  const lines: string[] = [];
  for await (const { representative, members } of clusters) {
    lines.push([representative, ...members.slice(1).toSorted()].join('\t'));
  }
  const hash = createHash('sha256');
  for (const cluster of lines.toSorted()) hash.update(cluster).update('\n');
  return hash.digest('hex');
}

/* The findings of `./run.sh bench:mapreduce`, for the report. */

export interface Contestant {
  /** The engine's name. */
  readonly name: string;
  /** Null if it was not measured. */
  readonly startUpSeconds: number | null;
  /** At least one. */
  readonly runs: readonly RepeatedRun[];
}

export interface RepeatedRun extends Run {
  /** From 0; a slow engine does not take part in every repeat. */
  readonly repeat: number;
}

export interface ContestResult {
  readonly documents: number;
  readonly contestants: readonly Contestant[];
  /** Sentences about engines that are not on this machine. */
  readonly missing: readonly string[];
}

const OURS = 'MapReduce';
const RATIOS: Readonly<Record<string, number>> = TARGETS.crawlRate.batchSpeedMin;
/** With fewer, the start of the programs is most of what is measured. */
const DOCUMENTS_MIN = 100_000;

export function findingsOf({ documents, contestants, missing }: ContestResult): FindingsParts {
  const fastest = contestants.toSorted((a, b) => secondsOf(a) - secondsOf(b))[0];
  const count = documents.toLocaleString('en');
  return {
    headline: `${fastest?.name} clusters ${count} documents fastest; the MapReduce is ${ratios(contestants)}.`,
    check: {
      passed: true,
      detail: [
        `all ${contestants.length} engines found the same clusters in every run`,
        ...missing,
      ].join('; '),
    },
    tables: [enginesTable(documents, contestants)],
    charts: [chartOf(contestants)],
    targets: Object.entries(RATIOS).map(([name, least]) =>
      targetOf(documents, contestants, name, least),
    ),
  };
}

function ratios(contestants: readonly Contestant[]): string {
  return contestants
    .filter(({ name }) => name !== OURS)
    .map(({ name }) => `${ratioTo(contestants, name).toFixed(2)} times as fast as ${name}`)
    .join(', ');
}

function targetOf(
  documents: number,
  contestants: readonly Contestant[],
  name: string,
  least: number,
): Target {
  const ratio = ratioTo(contestants, name);
  return {
    name: `speed of the MapReduce, relative to ${name}`,
    target: `at least ${least}`,
    measured: formatJudged(ratio, 2, (value) => value >= least),
    ...(documents < DOCUMENTS_MIN
      ? { met: null, reason: `fewer than ${DOCUMENTS_MIN.toLocaleString('en')} documents` }
      : { met: ratio >= least }),
  };
}

function ratioTo(contestants: readonly Contestant[], name: string): number {
  const [ours, other] = [OURS, name].map((one) => contestants.find((each) => each.name === one));
  return ours && other ? secondsOf(other) / secondsOf(ours) : Number.NaN;
}

function secondsOf({ runs }: Contestant): number {
  return median(runs.map((run) => run.seconds));
}

function enginesTable(documents: number, contestants: readonly Contestant[]): ResultTable {
  const secondsIn = ({ runs }: Contestant): readonly number[] => runs.map(({ seconds }) => seconds);
  return resultTable(
    {
      name: 'engines',
      title: 'Clustering all documents',
      caption:
        'Medians of the runs, from the call to durable clusters; fastest and slowest run. CPU is the time of all processes, ' +
        'start-up the time of a run on one document, and disk the most space that all files but the documents took.',
    },
    contestants,
    [
      rowName('engine', ({ name }) => name),
      column('runs', ({ runs }) => runs.length),
      column('seconds', (one) => rounded(secondsOf(one)), lower('s')),
      column('fastest', (one) => rounded(Math.min(...secondsIn(one)))),
      column('slowest', (one) => rounded(Math.max(...secondsIn(one)))),
      column('documents/s', (one) => Math.round(documents / secondsOf(one)), higher('documents/s')),
      column('CPU, s', cpuSecondsOf, lower('s')),
      column('start-up, s', ({ startUpSeconds }) => rounded(startUpSeconds)),
      column('disk, MB', ({ runs }) =>
        rounded(median(runs.map(({ diskBytes }) => diskBytes)) / 1e6),
      ),
    ],
  );
}

/** Null if that of no run is known. */
function cpuSecondsOf({ runs }: Contestant): number | null {
  const known = runs.flatMap(({ cpuSeconds }) => cpuSeconds ?? []);
  return known.length === 0 ? null : rounded(median(known));
}

function chartOf(contestants: readonly Contestant[]): ResultChart {
  return {
    name: 'repeats',
    title: 'Seconds of each run',
    caption: 'The engines take turns, so that all meet the same disturbances.',
    x: { title: 'Repeat', scale: 'linear', ticks: [] },
    y: { title: 'Seconds', scale: 'logarithmic', ticks: [] },
    series: contestants.flatMap(({ name, runs }) =>
      series(runs, ({ repeat }) => ({ x: repeat + 1 }), [
        line(name, name === OURS ? 'percolator' : 'other', ({ seconds }) => seconds),
      ]),
    ),
  };
}
