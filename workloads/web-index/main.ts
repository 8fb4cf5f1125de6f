/**
 * `./run.sh web-index`: loads crawls into a web index while it can be searched already, and serves
 * the search page.
 *
 *     WARC files ─▶ pipeline process: loader, observers ─▶ serving index ─▶ this process: the page
 *
 * 1. Check the options and files, and open the serving index.
 * 2. Start the search page, if it is asked for, then the store and the pipeline process.
 * 3. When all is loaded and the observers are at rest, say how it went; the page stays until
 *   ctrl-C.
 *
 * A ctrl-C at any moment kills the pipeline. That loses nothing: all that it writes to the tables
 * is in transactions, and an export can be repeated.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  counted,
  flag,
  integer,
  noFsyncOption,
  onlyWith,
  outputFolder,
  runCommand,
  startProgress,
  storeOption,
  textList,
  UsageError,
  watchOption,
} from '#harness';
import { newRecord, type RunRecord } from '#results';
import { checkReadableFile } from '../harness/command-line/surroundings.ts';
import { checkStoreName, describeStore, provideStore } from '../harness/stores.ts';
import { WatchedRun, watchedProgress } from '../harness/watch/live.ts';
import { type LoadReport, loadInProcess } from './loading/load.ts';
import { LoadProgress } from './loading/load-status.ts';
import { openSearchServer } from './search-page/search-server.ts';
import { openIndexReader, openServingIndex } from './serving/sqlite-index.ts';

const specification = {
  script: 'web-index',
  description:
    'The application that Percolator was built for: crawled pages go in one by one, and can be searched a moment ' +
    'later. Loads WARC files through a pipeline of observers, and serves a search page on this machine.',
  options: {
    input: textList({
      description:
        'a WARC file, gzipped or not; may be given several times, and adds to what is there: the latest capture of ' +
        'an address counts; of captures of one moment the last one in the input counts, or any if they were loaded apart',
      placeholder: 'file',
    }),
    serve: flag({ description: 'serve the search page, from the beginning until ctrl-C' }),
    port: onlyWith(
      { serve: ['true'] },
      integer({
        description: 'port of the search page; 0 is a free one',
        default: 0,
        min: 0,
        max: 65_535,
      }),
    ),
    data: outputFolder({
      description:
        'folder of the embedded store and of what searchers read; kept, and may be used again',
      defaultText: 'a temporary one',
    }),
    watch: {
      ...watchOption,
      description:
        'serve a page of the load on this machine while it goes on, with what happens second by second: crawled, searchable, and how long the way takes',
    },
    store: storeOption(),
    noFsync: onlyWith({ store: ['embedded'] }, noFsyncOption),
  },
  examples: [
    {
      command: './run.sh web-index --input crawl.warc.gz --serve',
      does: 'Loads a crawl, and serves the search page meanwhile and after it.',
    },
    {
      command: './run.sh web-index --data web --input first.warc.gz --input second.warc.gz',
      does: 'Loads two crawls, one after the other, and keeps the index.',
    },
    {
      command: './run.sh web-index --data web --serve',
      does: 'Serves what has been loaded before.',
    },
  ],
} as const;

const LOADING = { state: 'loading', stages: [] } as const;

await runCommand(specification, async (options, { signal, commandLine }) => {
  const { input, serve, port, store: name, noFsync } = options;
  if (input.length === 0 && !(serve && options.data !== undefined)) {
    throw new UsageError(
      '--input must name a file to load; without one, --serve needs --data with the folder of an earlier load.',
    );
  }
  for (const file of input) checkReadableFile('--input', file);
  if (input.length === 0 && !existsSync(path.join(options.data ?? '', 'serving'))) {
    throw new UsageError(
      `--data must be the folder of an earlier load for --serve without --input, but there is no search index in ${JSON.stringify(options.data)}.`,
    );
  }
  if (options.data === undefined && !serve) {
    process.stderr.write(
      'What can be searched is deleted at the end: --data keeps it in a folder, and --serve searches it before.\n',
    );
  }
  using data = options.data === undefined ? temporary() : kept(options.data);
  const indexFolder = path.join(data.path, 'serving');
  // Creates the index: the reader below opens only an index that exists.
  if (input.length > 0) await (await openServingIndex(indexFolder))[Symbol.asyncDispose]();
  using index = await openIndexReader(indexFolder);
  const page = new LoadProgress(input.length > 0 ? LOADING : { ...LOADING, state: 'ready' });
  await using server = serve ? await openSearchServer({ index, progress: page, port }) : undefined;
  if (server !== undefined) process.stderr.write(`Search: ${server.url}\n`);
  if (input.length > 0) {
    const embedded = { folder: path.join(data.path, 'tables'), fsync: !noFsync };
    await using store = await provideStore(checkStoreName(name), embedded);
    const described = describeStore(name, { fsync: !noFsync });
    const about = { folder: data.path, commandLine, store: described };
    await using watched =
      options.watch === undefined ? undefined : await watchLoad(options.watch, about);
    const own = startProgress({ stream: process.stderr });
    const progress = watched === undefined ? own : watchedProgress(own, watched.run);
    try {
      const load = { store: store.address, indexFolder, inputs: input, progress, page, signal };
      const loaded = await loadInProcess(load);
      if (loaded.captures === 0 && loaded.leftOut > 0) throw nothingRead(input, loaded);
      page.update({ state: 'ready' });
      process.stdout.write(`${inWords(loaded, index.count())}\n`);
    } finally {
      progress.end();
    }
  }
  if (server !== undefined) await untilAborted(signal);
});

/** A load has no record; its page begins with that of a run that has found nothing yet. */
async function watchLoad(
  port: number,
  { folder, ...about }: Pick<RunRecord, 'commandLine' | 'store'> & { readonly folder: string },
): Promise<AsyncDisposable & { readonly run: WatchedRun }> {
  const run = await WatchedRun.open(port, (line) => void process.stderr.write(`${line}\n`));
  const header = {
    experiment: 'web-index',
    subject: { kicker: 'The web index', title: 'A crawl on its way to the searcher' },
    profile: 'custom',
    parameters: {},
    seed: 0,
    repeats: 1,
    ...about,
  } as const;
  run.onRecord(newRecord(folder, header));
  return { run, [Symbol.asyncDispose]: () => run.end('The load has ended.') };
}

interface DataFolder extends Disposable {
  readonly path: string;
}

function kept(folder: string): DataFolder {
  mkdirSync(folder, { recursive: true });
  return { path: folder, [Symbol.dispose]: () => {} };
}

/** Removed at the end, also if the process exits early. */
function temporary(): DataFolder {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'web-index-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', remove);
  return { path: folder, [Symbol.dispose]: remove };
}

function inWords({ captures, seconds, leftOut, parked }: LoadReport, results: number): string {
  const left = leftOut === 0 ? '' : ` ${counted(leftOut, 'records')} left out.`;
  const failed = parked === 0 ? '' : ` Observers have given up on ${counted(parked, 'cells')}.`;
  return `${counted(captures, 'captures')} in ${seconds.toFixed(1)} s: ${counted(results, 'results')} can be found.${left}${failed}`;
}

function nothingRead(input: readonly string[], { leftOut }: LoadReport): UsageError {
  const files = input.map((file) => JSON.stringify(file)).join(' and ');
  return new UsageError(
    `--input must hold HTTP responses that can be read, but in ${files} there is none: ${counted(leftOut, 'records')} left out.`,
  );
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}
