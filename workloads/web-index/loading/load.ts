/**
 * Loads a crawl in a process of its own, so that searches are answered meanwhile, and reports the
 * progress.
 */
import type { StoreAddress } from '#engine';
import { counted, UsageError } from '#results';
import type { Progress } from '../../harness/command-line/progress.ts';
import { Crew } from '../../harness/processes/index.ts';
import type { LoadProgress, LoadStage } from './load-status.ts';

const PIPELINE = new URL('pipeline-process.ts', import.meta.url);
/** Notes that are shown. A crawl may have a million damaged records; further notes are counted. */
const NOTES_MAX = 20;
/** Opening a store may include the recovery of a large log, and a rebuild of the index. */
const READY_MS_MAX = 600_000;

export interface CrawlLoad {
  readonly store: StoreAddress;
  readonly indexFolder: string;
  readonly inputs: readonly string[];
  /** For the terminal. */
  readonly progress: Progress;
  /** For the search page. */
  readonly page: LoadProgress;
  readonly signal: AbortSignal;
}

export interface LoadReport {
  readonly captures: number;
  /** The time until the observers are at rest, the opening of the store included. */
  readonly seconds: number;
  /** Records that were left out. */
  readonly leftOut: number;
  /** Cells whose observers have given up. */
  readonly parked: number;
}

/**
 * Resolves when all is loaded and the observers are at rest.
 * @throws UsageError if a file cannot be read, or is no WARC
 */
export async function loadInProcess(load: CrawlLoad): Promise<LoadReport> {
  const { store, indexFolder, inputs, progress, page, signal } = load;
  const startedMs = performance.now();
  const reporter = new ProgressReporter(progress, page);
  await using crew = new Crew(signal, { readyMsMax: READY_MS_MAX });
  const options: PipelineOptions = { store, indexFolder, inputs };
  const onMessage = (message: unknown): void => reporter.receive(message as FromPipeline);
  progress.phase('opening the store', 0);
  await crew.start({ name: 'the pipeline', program: PIPELINE, options, onMessage });
  progress.phase('loading', 0, 'captures');
  const parked = await crew.during(reporter.atRest);
  const seconds = (performance.now() - startedMs) / 1_000;
  await crew.stop();
  const { captures, leftOut } = reporter;
  return { captures, parked, leftOut, seconds };
}

/** Turns the messages of the pipeline into progress. */
class ProgressReporter {
  captures = 0;
  leftOut = 0;
  #notes = 0;
  readonly #progress: Progress;
  readonly #page: LoadProgress;
  #isLoading = true;
  readonly #atRest = Promise.withResolvers<number>();

  constructor(progress: Progress, page: LoadProgress) {
    this.#progress = progress;
    this.#page = page;
    this.#atRest.promise.catch(() => {}); // The caller awaits it later.
  }

  /** Resolves with the number of parked cells, when all is loaded and the observers are at rest. */
  get atRest(): Promise<number> {
    return this.#atRest.promise;
  }

  receive(message: FromPipeline): void {
    switch (message.kind) {
      case 'stages':
        this.captures = message.captures;
        this.#progress.update(this.#isLoading ? message.captures : message.results);
        this.#page.update({ stages: message.stages });
        return;
      case 'left out':
        this.leftOut++;
        this.#note(message.sentence);
        return;
      case 'in doubt':
      case 'given up':
        this.#note(message.sentence);
        return;
      case 'loaded':
        this.#isLoading = false;
        this.#progress.phase('until the observers are at rest', 0, 'results');
        return;
      case 'at rest':
        this.#progress.end();
        if (this.#notes > NOTES_MAX) {
          this.#progress.note(`and ${counted(this.#notes - NOTES_MAX, 'notes')} more`);
        }
        this.#atRest.resolve(message.parked);
        return;
      case 'refused':
        this.#atRest.reject(new UsageError(message.sentence));
    }
  }

  #note(sentence: string): void {
    if (++this.#notes <= NOTES_MAX) this.#progress.note(sentence);
  }
}

/** What a pipeline process is told at its start. */
export interface PipelineOptions {
  readonly store: StoreAddress;
  /** The folder of the serving index. */
  readonly indexFolder: string;
  /** WARC files, in the order in which they were crawled. */
  readonly inputs: readonly string[];
}

/** What it says. */
export type FromPipeline =
  | {
      readonly kind: 'stages';
      readonly captures: number;
      /** Pages that are served. */
      readonly results: number;
      readonly stages: readonly LoadStage[];
    }
  /** A record was left out, a file was read with a doubt, or an observer has given up. */
  | { readonly kind: 'left out' | 'in doubt' | 'given up'; readonly sentence: string }
  /** All captures are loaded; the observers go on. */
  | { readonly kind: 'loaded' }
  /** The observers have nothing to do. `parked`: cells whose observers have given up. */
  | { readonly kind: 'at rest'; readonly parked: number }
  /** A file cannot be read, or is no WARC; the load has ended. */
  | { readonly kind: 'refused'; readonly sentence: string };
