/**
 * The clustering of figure 7 as the load: documents arrive, workers find and cluster them.
 *
 * Documents spread over all regions (crawler.ts). A document is completed when its observer has
 * committed.
 */
import { type Bigtable, createRandom, type Percolator, systemClock } from '#engine';
import { counted, formatCount, UsageError } from '#results';
import { checkPartition } from '../crawl-rate/check.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
  encodeDocument,
  type SyntheticDocuments,
} from '../crawl-rate/documents/index.ts';
import { loadRepository } from '../crawl-rate/percolator/load-repository.ts';
import {
  CLUSTER,
  countDirty,
  DOCUMENT,
  DOCUMENTS,
  readPartition,
} from '../crawl-rate/percolator/tables.ts';
import { timedLoop } from '../harness/load/loops.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import {
  dueUs,
  generate,
  measuredFromUs,
  type Schedule,
  scheduledDocuments,
} from '../harness/load/schedule.ts';
import { Persistence } from './attempts.ts';
import { Crawler, type DocumentArrival, DOCUMENTS_MAX, numberOf, splitsFor } from './crawler.ts';
import {
  auditAtRest,
  type CheckResult,
  type FailoverWorkload,
  OPEN_MAX,
  type SteadyLoad,
  type WorkloadParts,
} from './workload.ts';

export interface CrawlOptions {
  /** Documents that are there before the run. */
  readonly repository: number;
  readonly documentBytes: number;
}

export class CrawlWorkload implements FailoverWorkload {
  readonly followers: readonly [] = [];
  readonly #options: CrawlOptions & WorkloadParts;
  readonly #documents: SyntheticDocuments;
  readonly #persistence: Persistence;
  readonly #crawler: Crawler;

  constructor(options: CrawlOptions & WorkloadParts) {
    const { percolator, repository, documentBytes, seed, signal } = options;
    this.#options = options;
    this.#documents = createSyntheticDocuments({ repository, documentBytes, seed });
    this.#persistence = new Persistence(percolator, createRandom(seed).fork('rests'), signal);
    this.#crawler = new Crawler(percolator, this.#documents, this.#persistence);
  }

  get arrivals(): readonly DocumentArrival[] {
    return this.#crawler.arrivals;
  }

  get settled(): Persistence['settled'] {
    return this.#persistence.settled;
  }

  get open(): number {
    // A document may be completed before its writer knows that it is stored.
    return Math.max(this.#crawler.open, this.#crawler.writing);
  }

  get failed(): Promise<never> {
    return this.#crawler.failed;
  }

  async load(): Promise<void> {
    const { percolator, repository, regionServers, signal } = this.#options;
    const numbers = Array.from({ length: repository }, (_, i) => numberOf(i));
    const sorted = numbers.toSorted((a, b) => a - b);
    const keyed = sorted.map((n) => ({ id: documentId(n), keys: this.#documents.keysOf(n) }));
    await loadRepository(percolator, {
      documents: sorted.map((n) => this.#documents.documentOf(n)),
      partition: clusterOneByOne(keyed),
      splits: splitsFor(regionServers),
      signal,
    });
  }

  async measureCapacity(seconds: number): Promise<number> {
    const { concurrency, signal } = this.#options;
    const one = (): Promise<void> => this.#crawler.add(monotonicMs());
    // The first loop is the warm-up: this process and HBase compile their code meanwhile.
    await timedLoop(one, { concurrency, seconds: seconds / 2, signal });
    const { done, seconds: took } = await timedLoop(one, { concurrency, seconds, signal });
    return done / took;
  }

  offer({ perSecond, beginMs, fromMs, toMs, onProgress }: SteadyLoad): Promise<{
    readonly lagP99Ms: number;
  }> {
    const { signal } = this.#options;
    const schedule: Schedule = {
      first: 0,
      warmupDocuments: Math.round((perSecond * (fromMs - beginMs)) / 1000),
      warmupPerSecond: perSecond,
      documents: Math.round((perSecond * (toMs - fromMs)) / 1000),
      perSecond,
    };
    this.#checkRoom(schedule);
    const startUs = Math.ceil(1000 * fromMs - measuredFromUs(schedule));
    let begun = 0;
    const announce = (end: number): void => {
      if (this.#crawler.open > OPEN_MAX) throw new Error(`${OPEN_MAX} documents wait for HBase`);
      while (begun < end) void this.#crawler.add((startUs + dueUs(schedule, begun++)) / 1000);
      onProgress(begun);
    };
    return generate(schedule, startUs, announce, signal);
  }

  async drain(): Promise<void> {
    const { signal } = this.#options;
    for (let rounds = 1; this.open > 0; rounds++) {
      await systemClock.sleep(100, signal);
      signal.throwIfAborted();
      // Every five seconds, because messages of killed workers never come.
      if (rounds % 50 === 0) await this.findUntold();
    }
  }

  onObserved(row: string, atMs: number): void {
    this.#crawler.onClustered(row, atMs);
  }

  async findUntold(): Promise<void> {
    const { percolator } = this.#options;
    const rows = await this.#persistence.until(() => clusteredRows(percolator));
    for (const row of rows) this.#crawler.onClustered(row, monotonicMs());
  }

  check(): Promise<CheckResult> {
    const { percolator } = this.#options;
    return checkAtRest(percolator, percolator.store, {
      documents: this.#documents,
      arrivals: this.#crawler.arrivals,
    });
  }

  #checkRoom(schedule: Schedule): void {
    const { repository } = this.#options;
    const used = repository + this.#crawler.arrivals.length; // `measureCapacity` took some, too.
    if (used + scheduledDocuments(schedule) <= DOCUMENTS_MAX) return;
    const shorter = this.#crawler.arrivals.length > 0 ? '--after or --capacity-seconds' : '--after';
    throw new UsageError(
      `A run may have ${formatCount(DOCUMENTS_MAX)} documents; give a lower --rate, or a shorter ${shorter}.`,
    );
  }
}

/*
 * Everything that must hold after the failure, with the database at rest:
 *
 *     nothing lost     each document whose transaction was acknowledged is there, byte for byte
 *     nothing invented each document that is there was written, byte for byte
 *     clusters         each document that is there has a cluster, and the clusters are those of the
 *                      reference clustering, in the order of the stored commits
 *     notifications    none is left
 *     fsck             finds no error
 *
 * A document whose transaction was not acknowledged may be there or not.
 */

const ROWS_PER_CALL = 5_000;
/** Where the engine keeps the write records of the clusters (figure 5 of the paper). */
const CLUSTER_RECORDS = { family: 'cells', qualifier: `${CLUSTER}:write` };

export async function checkAtRest(
  percolator: Percolator,
  store: Bigtable,
  given: { readonly documents: SyntheticDocuments; readonly arrivals: readonly DocumentArrival[] },
): Promise<CheckResult> {
  const audited = await auditAtRest(store);
  const partition = await readPartition(percolator);
  const stored = await storedDocuments(percolator);
  const rows = await clusteredRows(percolator);
  const inOrder = rows.map((row) => {
    const number = Number(row);
    return { id: documentId(number), keys: given.documents.keysOf(number) };
  });
  const clustered = new Set(rows);
  const clusters = checkPartition(partition, inOrder, 'commit order');
  const dirty = await countDirty(percolator);
  const wrong = [
    ...checkDocuments(stored, given),
    ...sentenceOn(
      [...stored.keys()].filter((row) => !clustered.has(row)),
      'that no observer clustered',
    ),
    ...(clusters.passed ? [] : [clusters.detail]),
    ...(dirty === 0 ? [] : [`${counted(dirty, 'notifications')} not cleared`]),
    ...audited.wrong,
  ];
  const acknowledged = given.arrivals.filter(({ acknowledgedMs }) => acknowledgedMs !== undefined);
  const right =
    `all ${acknowledged.length} acknowledged documents are there, all ${partition.size} are in the clusters ` +
    'that the reference clustering finds in commit order, no notification is left, and fsck finds no error';
  return { wrong, right, warnings: audited.warnings };
}

/** The rows in the order in which their clusters were first committed. */
async function clusteredRows(percolator: Percolator): Promise<readonly string[]> {
  const table = await percolator.storedName(DOCUMENTS);
  const found: { readonly row: string; readonly at: number }[] = [];
  let start = '';
  for (;;) {
    const range = { start, limit: ROWS_PER_CALL };
    const rows = await percolator.store.readRange(table, range, [CLUSTER_RECORDS]);
    for (const { key, cells } of rows) {
      found.push({ row: key, at: Math.min(...cells.map(({ timestamp }) => timestamp)) });
    }
    const last = rows.at(-1);
    if (rows.length < ROWS_PER_CALL || last === undefined) break;
    start = `${last.key}\0`;
  }
  return found.toSorted((a, b) => a.at - b.at).map(({ row }) => row);
}

async function storedDocuments(
  percolator: Percolator,
): Promise<ReadonlyMap<string, Buffer | undefined>> {
  const stored = new Map<string, Buffer | undefined>();
  await using snapshot = await percolator.snapshot();
  for await (const { row, values } of snapshot.scan({ table: DOCUMENTS, columns: [DOCUMENT] })) {
    const value = values.get(DOCUMENT);
    stored.set(row, value === undefined ? undefined : Buffer.from(value));
  }
  return stored;
}

function checkDocuments(
  stored: ReadonlyMap<string, Buffer | undefined>,
  { documents, arrivals }: Parameters<typeof checkAtRest>[2],
): readonly string[] {
  const repository = Array.from({ length: documents.repository }, (_, i) =>
    documentId(numberOf(i)),
  );
  const acknowledged = arrivals.filter(({ acknowledgedMs }) => acknowledgedMs !== undefined);
  const needed = [...repository, ...acknowledged.map(({ row }) => row)];
  const isAsWritten = (row: string): boolean =>
    stored.get(row)?.equals(encodeDocument(documents.documentOf(Number(row)))) === true;
  const mustBe = new Set(needed);
  const mayBe = new Set(arrivals.map(({ row }) => row));
  const invented = [...stored.keys()].filter(
    (row) => !mustBe.has(row) && !(mayBe.has(row) && isAsWritten(row)),
  );
  return [
    ...sentenceOn(
      needed.filter((row) => !isAsWritten(row)),
      'lost or changed',
    ),
    ...sentenceOn(invented, 'that no writer wrote'),
  ];
}

/** Nothing if there are no such documents. */
function sentenceOn(rows: readonly string[], what: string): readonly string[] {
  if (rows.length === 0) return [];
  return [`${counted(rows.length, 'documents')} ${what}, such as ${rows[0]}`];
}
