/**
 * Measures the systems in turns. A turn measures each of them once, and the system that begins
 * changes from turn to turn, so that all meet the same disturbances. For each:
 *
 *   1. start its program with an empty storage, and load the repository;
 *   2. cluster new documents in a closed loop, as a warm-up that is not measured;
 *   3. let documents arrive at a low rate, in an open loop: the latency;
 *   4. cluster new documents in a closed loop: the rate, and the processor time of a document;
 *   5. compare the clusters with those of the reference clustering, document by document;
 *   6. read and write single cells, by one caller and by many, each with a warm-up.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createLatencyHistogram, type FindingsParts, type Histogram } from '#results';
import { measureChecked, type Measuring } from '#harness';
import {
  createSyntheticDocuments,
  type SyntheticDocuments,
} from '../crawl-rate/documents/index.ts';
import { provideStore, type ProvidedStore } from '../harness/stores.ts';
import { checkWritten, writeDocuments } from './documents.ts';
import { PeerProgram, type Timed } from './program.ts';
import type { Place, System, SystemName } from './systems.ts';

export interface PeersPlan {
  readonly repository: number;
  /** The most documents of the warm-up, and again of the measured loop. */
  readonly documents: number;
  /** The longest time of each of the two. */
  readonly warmUp: number;
  readonly crawlSeconds: number;
  readonly concurrency: number;
  /** Arrivals per second. */
  readonly rate: number;
  readonly rateSeconds: number;
  readonly cells: number;
  /** Measured time of each case of single cells. */
  readonly seconds: number;
  readonly repeats: number;
  readonly seed: number;
}

/** Callers of single cells. */
export const CALLERS = [1, 64] as const;
export const OPERATIONS = ['read', 'write'] as const;

/** One system in one turn. */
export interface Measurement {
  readonly system: SystemName;
  readonly turn: number;
  readonly crawl: Timed;
  readonly latencies: Histogram;
  /** Processor time of a document at the low rate. */
  readonly arrived: Timed;
  /** In the order of `OPERATIONS`, and for each in that of `CALLERS`; empty if it has no cells. */
  readonly cells: readonly CellTimes[];
}

export interface CellTimes extends Timed {
  readonly operation: (typeof OPERATIONS)[number];
  readonly callers: number;
}

const DOCUMENT_BYTES = 1_024;

export async function measureInTurns(
  plan: PeersPlan,
  systems: readonly System[],
  measuring: Measuring,
  findings: (measurements: readonly Measurement[]) => FindingsParts,
): Promise<readonly Measurement[]> {
  const { keep, progress, signal, work } = measuring;
  const { repository, documents: count, rate, rateSeconds, seed, concurrency } = plan;
  const options = { repository, documentBytes: DOCUMENT_BYTES, seed };
  const documents = createSyntheticDocuments(options);
  const total = repository + 2 * count + rate * rateSeconds;
  progress.phase('writing the documents', total, 'documents');
  const files = await writeDocuments(work, documents, total);
  await using hbase = new SharedHBase();
  const process = { documents: options, total, concurrency };
  const measurements: Measurement[] = [];
  progress.phase('measuring', plan.repeats * systems.length, 'measurements');
  for (let turn = 1; turn <= plan.repeats; turn++) {
    const first = (turn - 1) % systems.length;
    for (const system of [...systems.slice(first), ...systems.slice(0, first)]) {
      progress.note(system.name);
      const folder = path.join(work, 'system');
      await mkdir(folder);
      const place: Place = { folder, files, process, hbase: () => hbase.start() };
      const measure = () => measureSystem(system, { plan, turn, place, documents, signal });
      measurements.push(await measureChecked(measuring, measure));
      await rm(folder, { recursive: true });
      progress.update(measurements.length);
      keep(findings(measurements));
    }
  }
  return measurements;
}

/** Started when it is first needed. */
class SharedHBase implements AsyncDisposable {
  #started: Promise<ProvidedStore> | undefined;

  start(): Promise<ProvidedStore> {
    this.#started ??= provideStore('hbase', { folder: '' }, { regionServers: 0 });
    return this.#started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#started)?.[Symbol.asyncDispose]();
  }
}

interface Run {
  readonly plan: PeersPlan;
  readonly turn: number;
  readonly place: Place;
  readonly documents: SyntheticDocuments;
  readonly signal: AbortSignal;
}

/** @throws if the program ends, or its clusters are wrong */
async function measureSystem(
  { name, hasCells, command }: System,
  { plan, turn, place, documents, signal }: Run,
): Promise<Measurement> {
  await using program = new PeerProgram(await command(place));
  const ask = (request: string): Promise<Timed> => program.ask(request, signal);
  const loop = `crawl ${plan.documents} ${plan.concurrency}`;
  await ask('load');
  const warmUp = await ask(`${loop} ${plan.warmUp}`);
  const arrived = await ask(`arrive ${plan.rate * plan.rateSeconds} ${plan.rate}`);
  const crawl = await ask(`${loop} ${plan.crawlSeconds}`);
  const written = path.join(place.folder, 'written.tsv');
  await ask(`partition ${written}`);
  const crawled = warmUp.done + arrived.done + crawl.done;
  const check = await checkWritten(written, documents, crawled);
  if (!check.passed) throw new Error(`${name}: ${check.detail}`);
  const cells = hasCells ? await measureCells(ask, plan) : [];
  return { system: name, turn, crawl, latencies: histogramOf(arrived), arrived, cells };
}

async function measureCells(
  ask: (request: string) => Promise<Timed>,
  plan: PeersPlan,
): Promise<readonly CellTimes[]> {
  await ask(`cells ${plan.cells}`);
  const times: CellTimes[] = [];
  for (const operation of OPERATIONS) {
    for (const callers of CALLERS) {
      await ask(`${operation} ${callers} ${plan.seconds / 2}`);
      const timed = await ask(`${operation} ${callers} ${plan.seconds}`);
      times.push({ operation, callers, ...timed });
    }
  }
  return times;
}

function histogramOf({ latenciesUs = [] }: Timed): Histogram {
  const histogram = createLatencyHistogram();
  for (const us of latenciesUs) histogram.recordValue(Math.max(1, Math.round(us)));
  return histogram;
}
