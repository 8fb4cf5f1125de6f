/**
 * A thread that loads random crawls in virtual time, one after the other, and says of each what it
 * has found. A bare `node --test` follows promises in the thread of the tests, and would slow a
 * simulation down there; `./run.sh test` does not follow them (checks/every-test-asserts.ts).
 */
import { parentPort, workerData } from 'node:worker_threads';
import { createRandom } from '#engine';
import type { Capture } from '../model/index.ts';
import { randomCrawl } from '../model/random-crawl.fixture.ts';
import { SimulatedIndex } from './simulation.fixture.ts';

export interface RandomCrawl {
  readonly seed: number;
  /** Processes that die while each part is loading. */
  readonly kills: number;
}

export interface IndexedCrawl {
  /**
   * What the checks found: after each part was loaded, while observers still ran, and at each rest.
   */
  readonly findings: readonly string[];
  /** The failures of observers. */
  readonly failures: readonly string[];
  /** Exports that have changed something. */
  readonly applied: number;
}

const CAPTURES = 50;
const PART = 25;

/** Loads the crawl in parts. */
async function indexed({ seed, kills }: RandomCrawl): Promise<IndexedCrawl> {
  const index = await SimulatedIndex.open({ seed });
  const crawl = randomCrawl(createRandom(seed), CAPTURES);
  const findings: string[] = [];
  const loaded: Capture[] = [];
  for (let start = 0; start < crawl.length; start += PART) {
    const part = crawl.slice(start, start + PART);
    await index.load(part, { kills });
    loaded.push(...part);
    findings.push(...(await index.checkLive()));
    await index.rest();
    findings.push(...(await index.checkAtRest(loaded)));
  }
  await index.close();
  const { applied } = index.serving;
  return { findings, failures: index.failures.map(String), applied };
}

// Most errors are conflicts, and no code reads their stack traces.
Error.stackTraceLimit = 0;
for (const crawl of workerData as readonly RandomCrawl[]) {
  parentPort?.postMessage(await indexed(crawl));
}
