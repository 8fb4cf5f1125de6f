/**
 * The web index as a batch: a series of MapReduces over the whole repository.
 *
 *     captures ─ page-jobs ─▶ pages ─ rank-jobs ─▶ ranks and anchors
 *                               └──────────┬──────────┘
 *                                     serve-jobs ─▶ served pages
 *
 * The batch computes the whole index, whatever has changed: a page that was crawled a moment ago is
 * served when the whole repository has been processed again.
 */
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { type ChainEngine, filesOf, type Input } from '#mapreduce';
import type { Capture, ServedPage } from '../model/index.ts';
import { captureLine, PAGE_JOBS } from './page-jobs.ts';
import { RANK_JOBS } from './rank-jobs.ts';
import { SERVE_JOBS } from './serve-jobs.ts';

export interface BatchRun {
  /** Files of `writeCaptures`. */
  readonly captures: readonly Input[];
  /** Must not exist; has the served pages when the batch has succeeded. */
  readonly outputFolder: string;
  readonly signal?: AbortSignal | undefined;
}

/** Runs all jobs. Only the served pages remain. */
export async function buildIndex(engine: ChainEngine, run: BatchRun): Promise<void> {
  const { captures, outputFolder, signal } = run;
  const target = path.resolve(outputFolder);
  await mkdir(path.dirname(target), { recursive: true });
  const work = await mkdtemp(`${target}.chains-`);
  const [pages, ranks] = [path.join(work, 'pages'), path.join(work, 'ranks')];
  try {
    await engine.run({ chain: PAGE_JOBS, inputs: captures, outputFolder: pages, signal });
    const inputs = await partsOf(pages);
    await engine.run({ chain: RANK_JOBS, inputs, outputFolder: ranks, signal });
    inputs.push(...(await partsOf(ranks)));
    await engine.run({ chain: SERVE_JOBS, inputs, outputFolder: target, signal });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Appends captures to the file as lines, the input of the batch. */
export async function writeCaptures(
  file: string,
  captures: Iterable<Capture> | AsyncIterable<Capture>,
): Promise<void> {
  await using output = await open(file, 'a');
  for await (const capture of captures) {
    // Unlike `write`, it writes everything.
    await output.writeFile(`${capture.url}\t${JSON.stringify(captureLine(capture))}\n`);
  }
}

/** The served pages in an output folder, in no particular order. */
export async function* readServed(outputFolder: string): AsyncGenerator<ServedPage> {
  for (const { path: file } of await partsOf(outputFolder)) {
    for await (const line of linesOf(file)) {
      yield JSON.parse(line.slice(line.indexOf('\t') + 1)) as ServedPage;
    }
  }
}

async function partsOf(folder: string): Promise<Input[]> {
  return (await filesOf(folder)).map((file) => ({ path: file }));
}

/** Does not use `node:readline`, which also ends lines at other characters that a text may hold. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let carry = '';
  for await (const text of createReadStream(file, 'utf8') as AsyncIterable<string>) {
    const lines = (carry + text).split('\n');
    carry = lines.pop() ?? '';
    yield* lines;
  }
}
