/**
 * The pipeline of the web index: its observers, the loader that feeds them, and how to tell that
 * they have nothing left to do.
 *
 * "Each observer is explicitly constructed in the main() of the
 * worker binary, so it is clear what observers are active" (section 2.4). No two observe the same
 * column. `─▶` is a write of the observed column, `─ ▶` a weak notification.
 *
 *     loader ─▶ capture ─▶ document processor ─▶ document ─▶ renderer ─▶ form ─▶ clustering
 *                             │  │  │               ▲                             ─ ▶ vote ─▶ election
 *                             │  │  └▶ resource ─▶ resource watcher ─ ┘                         ─ ▶ place, publish
 *                             │  └▶ redirect ─▶ redirect inversion ─ ┐
 *                             └▶ links ─▶ link inversion ─ ─ ─ ─ ─ ─ ┴ ▶ collect ─▶ collector
 *                                                                       │  │
 *        election caller ◀─ rank ◀─ ranker ◀─ sources ◀────────────────┘  │
 *           ─ ▶ vote                  │          ▲                         └▶ texts ─▶ anchor forwarder
 *                                     └▶ shares ─▶ rank spreader ─ ┘                    ─ ▶ place ─▶ anchor placer
 *
 *     publish ─▶ publisher ─▶ entry ─▶ exporter ─▶ the serving index
 */
import {
  type Observer,
  type Percolator,
  type PercolatorOptions,
  PercolatorError,
  systemClock,
  type Transaction,
  type Worker,
} from '#engine';
import { forEachInFlight } from '../../harness/load/loops.ts';
import { type Capture, compareCaptures, kindOf } from '../model/index.ts';
import type { ExportTarget } from '../serving/serving-index.ts';
import { anchorForwarder, anchorPlacer, clustering, election } from './clustering.ts';
import { cellOf, read } from '#engine/recipes';
import { documentProcessor, renderer, resourceWatcher } from './documents.ts';
import { createExporter, publisher } from './exporting.ts';
import { collector, linkInversion, redirectInversion } from './links.ts';
import { electionCaller, ranker, rankSpreader } from './ranking.ts';
import { CAPTURE, CAPTURED } from './tables.ts';

/**
 * How a database of the web index is opened. What an observer will read of a row comes with the
 * read that finds out whether it has to run, and with the first of its own (section 2.5 of the
 * paper).
 */
export const READ_AHEAD: Pick<PercolatorOptions, 'prefetch'> = { prefetch: 'learn' };

export function createObservers(serving: ExportTarget): readonly Observer[] {
  return [
    documentProcessor,
    resourceWatcher,
    renderer,
    clustering,
    election,
    redirectInversion,
    linkInversion,
    collector,
    ranker,
    rankSpreader,
    electionCaller,
    anchorForwarder,
    anchorPlacer,
    publisher,
    createExporter(serving),
  ];
}

/*
 * The loader: one transaction for each capture.
 *
 * A capture that is not newer than the one that is there changes nothing. So captures may be loaded
 * in any order, by several loaders at the same time, and again after a crash; the last one by the
 * crawler's clock remains.
 */

/** Resolves to true if it wrote the capture; to false also if it did, and the answer was lost. */
export async function loadCapture(percolator: Percolator, capture: Capture): Promise<boolean> {
  if (kindOf(capture) === 'unknown') return false; // It says nothing about the page.
  for (;;) {
    try {
      return await percolator.transact((transaction) => write(transaction, capture), {
        kind: 'load',
      });
    } catch (error) {
      // The storage lost the answer: the capture is there or not. Writing it again finds out.
      if (!(error instanceof PercolatorError) || error.code !== 'COMMIT_UNKNOWN') throw error;
    }
  }
}

async function write(transaction: Transaction, capture: Capture): Promise<boolean> {
  const { url, timeMs, ordinal } = capture;
  const known = await read(transaction, CAPTURED, url);
  if (known !== undefined && compareCaptures(known, capture) >= 0) return false;
  transaction.set(cellOf(CAPTURE, url), CAPTURE.encode(capture));
  transaction.set(cellOf(CAPTURED, url), CAPTURED.encode({ timeMs, ordinal }));
  return true;
}

export interface LoadCrawlOptions {
  /** Captures in flight. Default 64. Too few: the store idles. Too many: memory, no gain. */
  readonly inFlight?: number | undefined;
  /** Called for each capture when it is loaded. */
  readonly onLoaded?: ((capture: Capture) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Loads captures as they come. Rejects with the first error, once no capture is in flight. */
export async function loadCrawl(
  percolator: Percolator,
  captures: AsyncIterable<Capture> | Iterable<Capture>,
  { inFlight = 64, onLoaded = () => {}, signal }: LoadCrawlOptions = {},
): Promise<void> {
  await forEachInFlight(captures, inFlight, async (capture) => {
    signal?.throwIfAborted();
    await loadCapture(percolator, capture);
    onLoaded(capture);
  });
}

/** Milliseconds between two looks at the cells that rest. The first rest is about as long. */
const LOOK_MS = 50;

/**
 * Resolves when all is indexed: no cell is dirty except for parked ones. `Worker.idle` does not
 * wait for a cell that rests after a failure of its observer. But the pages of such a cell are
 * missing in the index, so a load is not over until the observer has succeeded or given up.
 * @param signal ends the waiting; needed if the worker may be stopped meanwhile
 */
export async function untilAtRest(
  worker: Worker,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  let wasFailing: boolean;
  do {
    wasFailing = worker.failing > 0;
    if (wasFailing) await systemClock.sleep(LOOK_MS, signal);
    await worker.idle(); // Also after the last success, which may have made other cells dirty.
  } while ((wasFailing || worker.failing > 0) && !signal.aborted);
}
