/**
 * Loads a crawl in a process of its own, so that searches are answered meanwhile, and tells how far
 * it is.
 */
import type { StoreAddress } from '#engine';
import { counted, UsageError } from '#results';
import type { Progress } from '../../harness/command-line/progress.ts';
import { Crew } from '../../harness/processes/index.ts';
import type { LoadProgress } from '../search-page/load-status.ts';
import type { FromPipeline, PipelineOptions } from './messages.ts';

const PIPELINE = new URL('pipeline-process.ts', import.meta.url);
/** A crawl may have a million damaged records; the rest is counted. */
const NOTES_MAX = 20;
/** Opening a store may include the recovery of a large log, and a rebuild of the index. */
const READY_MS_MAX = 600_000;

export interface Load {
  readonly store: StoreAddress;
  readonly indexFolder: string;
  readonly inputs: readonly string[];
  /** For the terminal. */
  readonly progress: Progress;
  /** For the search page. */
  readonly page: LoadProgress;
  readonly signal: AbortSignal;
}

export interface Loaded {
  readonly captures: number;
  readonly seconds: number;
  /** Records that were left out. */
  readonly notes: number;
  /** Cells whose observers have given up. */
  readonly parked: number;
}

/**
 * Resolves when all is loaded and the observers are at rest.
 * @throws UsageError if a file cannot be read
 */
export async function loadInProcess(load: Load): Promise<Loaded> {
  const { store, indexFolder, inputs, progress, page, signal } = load;
  const startedMs = performance.now();
  const following = new Following(progress, page);
  await using crew = new Crew(signal, { readyMsMax: READY_MS_MAX });
  const options: PipelineOptions = { store, indexFolder, inputs };
  const onMessage = (message: unknown): void => following.hear(message as FromPipeline);
  progress.phase('opening the store', 0);
  await crew.start({ name: 'the pipeline', program: PIPELINE, options, onMessage });
  progress.phase('loading', 0, 'captures');
  const parked = await crew.during(following.atRest);
  await crew.stop();
  const { captures, notes } = following;
  return { captures, parked, notes, seconds: (performance.now() - startedMs) / 1_000 };
}

/** Turns messages into progress. */
class Following {
  captures = 0;
  notes = 0;
  readonly #progress: Progress;
  readonly #page: LoadProgress;
  #isLoading = true;
  readonly #atRest = Promise.withResolvers<number>();

  constructor(progress: Progress, page: LoadProgress) {
    this.#progress = progress;
    this.#page = page;
    this.#atRest.promise.catch(() => {}); // The caller awaits it later.
  }

  /** The number of parked cells. */
  get atRest(): Promise<number> {
    return this.#atRest.promise;
  }

  hear(message: FromPipeline): void {
    switch (message.kind) {
      case 'stages':
        this.captures = message.captures;
        this.#progress.update(this.#isLoading ? message.captures : message.results);
        this.#page.update({ stages: message.stages });
        return;
      case 'note':
        if (++this.notes <= NOTES_MAX) this.#progress.note(message.sentence);
        return;
      case 'loaded':
        this.#isLoading = false;
        this.#progress.phase('until the observers are at rest', 0, 'results');
        return;
      case 'at rest':
        this.#progress.end();
        if (this.notes > NOTES_MAX) {
          this.#progress.note(`and ${counted(this.notes - NOTES_MAX, 'notes')} more`);
        }
        this.#atRest.resolve(message.parked);
        return;
      case 'refused':
        this.#atRest.reject(new UsageError(message.sentence));
    }
  }
}
