/**
 * The loader: one transaction for each capture.
 *
 * A capture that is not newer than the one that is there changes nothing. So captures may be loaded
 * in any order, by several loaders at the same time, and again after a crash; the last one by the
 * crawler's clock remains.
 */
import { type Percolator, PercolatorError, type Transaction } from '#engine';
import { forEachInFlight } from '../../harness/load/for-each-in-flight.ts';
import { type Capture, compareCaptures, kindOf } from '../model/index.ts';
import { cellOf, read } from './columns.ts';
import { CAPTURE, CAPTURED } from './tables.ts';

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

export interface LoadOptions {
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
  { inFlight = 64, onLoaded = () => {}, signal }: LoadOptions = {},
): Promise<void> {
  await forEachInFlight(captures, inFlight, async (capture) => {
    signal?.throwIfAborted();
    await loadCapture(percolator, capture);
    onLoaded(capture);
  });
}
