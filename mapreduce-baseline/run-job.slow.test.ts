/** Whole jobs: compared with an obvious word count, in little memory, and under failures. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import {
  MapReduceError,
  openWorkerPool,
  runChain,
  runJob,
  type JobOptions,
  type JobReport,
  type MapReduceErrorCode,
  type WorkerPool,
} from './index.ts';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';

const WORD_COUNT = new URL('testing/word-count-job.ts', import.meta.url).href;
const FAILING = new URL('testing/failing-job.ts', import.meta.url).href;

let pool: WorkerPool;
let runs = 0;
before(async () => {
  pool = await openWorkerPool({ workers: 2 });
});
after(async () => {
  await pool[Symbol.asyncDispose]();
});

type JobChanges = Partial<JobOptions> & { readonly combine?: boolean };

async function countWords(
  folder: string,
  text: string,
  changes: JobChanges = {},
): Promise<{ report: JobReport; parts: string[]; lines: string[] }> {
  const { combine = false, ...options } = changes;
  const path = join(folder, `input-${runs}`);
  const outputFolder = join(folder, `output-${runs++}`);
  await writeFile(path, text);
  const job = { url: WORD_COUNT, parameters: { combine } };
  const report = await runJob(pool, { job, inputs: [{ path }], outputFolder, ...options });
  const parts = await partsOf(outputFolder);
  return { report, parts, lines: linesOf(parts) };
}

/** The text of each part, in the order of their names. */
async function partsOf(outputFolder: string): Promise<string[]> {
  const parts = (await readdir(outputFolder)).toSorted();
  return Promise.all(parts.map((part) => readFile(`${outputFolder}/${part}`, 'utf8')));
}

function linesOf(parts: readonly string[]): string[] {
  return parts.flatMap((text) => text.split('\n').slice(0, -1));
}

function obviousWordCount(text: string): string[] {
  const words = text
    .replace(/\n$/, '')
    .split('\n')
    .flatMap((line) => line.split(' '));
  const counts = Map.groupBy(text === '' ? [] : words, (word) => word);
  return [...counts].map(([word, all]) => `${word}\t${all.length}`);
}

function failsWith(code: MapReduceErrorCode, message: RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof MapReduceError);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    return true;
  };
}

function randomText(words: number, different: number): string {
  const word = (i: number): string => `word-${Math.imul(i, 2_654_435_761) % different}`;
  return Array.from({ length: words }, (_, i) => word(i) + (i % 8 === 7 ? '\n' : ' ')).join('');
}

describe('a word count', () => {
  test('agrees with an obvious one, however it is split, partitioned, combined and grouped', async () => {
    const folder = temporaryFolder();
    const line = fc
      .array(fc.constantFrom('a', 'bb', 'to', 'be', '', 'or', 'not'))
      .map((words) => words.join(' '));
    const options = fc.record({
      splitBytes: fc.integer({ min: 1, max: 200 }),
      partitions: fc.integer({ min: 1, max: 7 }),
      grouping: fc.constantFrom('hash' as const, 'sort' as const),
      combine: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(line), options, async (lines, changes) => {
        const text = lines.map((each) => `${each}\n`).join('');
        const { lines: counts } = await countWords(folder, text, { ...changes, durable: false });
        assert.deepEqual(counts.toSorted(), obviousWordCount(text).toSorted());
      }),
      { numRuns: 25 },
    );
  });

  test('is the same in plenty of memory as in 64 KiB, where reducers really merge on disk', async () => {
    const folder = temporaryFolder();
    const text = randomText(60_000, 9000);
    const plenty = await countWords(folder, text);
    assert.equal(plenty.report.sortedRuns, 0);
    assert.deepEqual(plenty.lines.toSorted(), obviousWordCount(text).toSorted());
    for (const grouping of ['hash', 'sort'] as const) {
      const changes = { grouping, memoryBytesPerWorker: 64 * 1024, partitions: 2 };
      const { report, lines } = await countWords(folder, text, changes);
      assert.ok(report.sortedRuns > 10, `${report.sortedRuns} sorted runs`);
      assert.ok(report.merges > 2, `${report.merges} merges`);
      assert.ok(report.bytesSpilled > report.bytesShuffled / 2);
      assert.deepEqual(lines.toSorted(), plenty.lines.toSorted());
    }
  });

  test('grouped by sort has each part in byte order', async () => {
    const folder = temporaryFolder();
    const { lines } = await countWords(folder, randomText(5000, 999), {
      grouping: 'sort',
      partitions: 1,
    });
    assert.deepEqual(lines, lines.toSorted());
  });

  test('shuffles less with a combiner when words repeat', async () => {
    const folder = temporaryFolder();
    const changes = { combine: true, memoryBytesPerWorker: 64 * 1024 };
    const { report } = await countWords(folder, randomText(50_000, 10), changes);
    assert.ok(report.recordsShuffled < report.recordsEmitted / 10);
  });

  test('has the same bytes in the same parts when it is repeated', async () => {
    const folder = temporaryFolder();
    const text = randomText(20_000, 300);
    const first = await countWords(folder, text, { splitBytes: 10_000 });
    const again = await countWords(folder, text, { splitBytes: 10_000 });
    assert.ok(first.parts.length > 1);
    assert.deepEqual(first.parts, again.parts);
  });

  test('of nothing is an output folder with empty parts', async () => {
    const folder = temporaryFolder();
    const { report, parts } = await countWords(folder, '', { partitions: 3 });
    assert.deepEqual(parts, ['', '', '']);
    assert.equal(report.recordsRead, 0);
  });
});

describe('a job that meets failures', () => {
  async function runFailing(
    folder: string,
    how: 'throw' | 'kill',
    failures: number,
  ): Promise<JobReport> {
    const path = join(folder, 'input');
    await writeFile(path, 'first\nsecond\nthird\n');
    await mkdir(join(folder, 'attempts'));
    const parameters = { folder: join(folder, 'attempts'), how, failures };
    const job = { url: FAILING, parameters };
    const outputFolder = join(folder, 'output');
    return runJob(pool, {
      name: 'the failing job',
      job,
      inputs: [{ path }],
      outputFolder,
      splitBytes: 6,
    });
  }

  async function processesThatTried(folder: string): Promise<string[]> {
    const tries = await readdir(join(folder, 'attempts/first'));
    return tries.toSorted().map((name) => name.replace(/^\d+-/, ''));
  }

  test('succeeds if a task fails twice and not a third time, each time on another worker', async () => {
    const folder = temporaryFolder();
    const { failedAttempts } = await runFailing(folder, 'throw', 2);
    assert.equal(failedAttempts, 6);
    assert.deepEqual(linesOf(await partsOf(join(folder, 'output'))).toSorted(), [
      'first',
      'second',
      'third',
    ]);
    const [first, second, third] = await processesThatTried(folder);
    assert.notEqual(first, second);
    assert.notEqual(second, third);
  });

  test('succeeds if its worker is killed with SIGKILL, and the worker is replaced', async () => {
    const folder = temporaryFolder();
    const processesBefore = pool.processIds;
    const { failedAttempts } = await runFailing(folder, 'kill', 1);
    assert.equal(failedAttempts, 3);
    assert.deepEqual(linesOf(await partsOf(join(folder, 'output'))).toSorted(), [
      'first',
      'second',
      'third',
    ]);
    assert.equal(pool.processIds.length, 2);
    assert.notDeepEqual(pool.processIds, processesBefore);
  });

  test('ends with an error that names the task if one always fails, and leaves no files', async () => {
    const folder = temporaryFolder();
    await assert.rejects(
      runFailing(folder, 'throw', 99),
      failsWith('TASK_FAILED', /^map task \d of 4 of the failing job failed 4 times.*on purpose/),
    );
    assert.deepEqual((await readdir(folder)).toSorted(), ['attempts', 'input']);
  });

  test('names what a task threw, even if its cause cannot be sent to another process', async () => {
    const folder = temporaryFolder();
    await writeFile(join(folder, 'input'), 'a\n');
    const url = `data:text/javascript,${encodeURIComponent(`
      export const createJob = () => ({
        map: () => { throw new Error('the dog ate it', { cause: () => {} }); },
      });`)}`;
    const running = runJob(pool, {
      job: { url },
      inputs: [{ path: join(folder, 'input') }],
      outputFolder: join(folder, 'output'),
      attempts: 2,
    });
    await assert.rejects(running, failsWith('TASK_FAILED', /the dog ate it/));
  });

  test('starts no further tasks when one has failed too often', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'input');
    await writeFile(path, Array.from({ length: 40 }, (_, i) => `${i + 10}\n`).join(''));
    const attempts = join(folder, 'attempts');
    const parameters = { folder: attempts, how: 'throw', failures: 99, only: '10' };
    const running = runJob(pool, {
      job: { url: FAILING, parameters },
      inputs: [{ path }],
      outputFolder: join(folder, 'output'),
      splitBytes: 3,
      attempts: 1,
    });
    await assert.rejects(running, failsWith('TASK_FAILED', /failed 1 time;/));
    const tried = await readdir(attempts);
    // The other worker may run some until the coordinator knows that the first task has failed.
    assert.ok(tried.length < 20, `${tried.length} of 40 tasks were started`);
  });

  test('is refused if the output folder exists, which stays as it was', async () => {
    const folder = temporaryFolder();
    await mkdir(join(folder, 'output'));
    await writeFile(join(folder, 'output/precious'), 'data');
    await assert.rejects(runFailing(folder, 'throw', 0), failsWith('OUTPUT_EXISTS', /exists/));
    assert.deepEqual(await readdir(join(folder, 'output')), ['precious']);
  });

  test('of a chain is not started if the output folder of the chain exists', async () => {
    const folder = temporaryFolder();
    const [path, outputFolder] = [join(folder, 'input'), join(folder, 'output')];
    await writeFile(path, 'first\n');
    await mkdir(outputFolder);
    const parameters = { folder: join(folder, 'attempts'), how: 'throw', failures: 0 };
    const chain = { url: FAILING, parameters: [parameters, parameters] };
    const running = runChain(pool, { chain, inputs: [{ path }], outputFolder });
    await assert.rejects(running, failsWith('OUTPUT_EXISTS', /exists/));
    assert.deepEqual((await readdir(folder)).toSorted(), ['input', 'output']);
  });

  test('is refused if an option is out of range, by a message that names the option', async () => {
    const folder = temporaryFolder();
    for (const changes of [{ partitions: 0 }, { memoryBytesPerWorker: 10 }, { attempts: 1.5 }]) {
      const name = new RegExp(`^${Object.keys(changes)[0]} is `);
      await assert.rejects(countWords(folder, 'a\n', changes), failsWith('INVALID_ARGUMENT', name));
    }
  });
});

/** The numbers of files that were seen in a folder; 0 if it was not there. */
async function partsSeenUntil(signal: AbortSignal, folder: string): Promise<Set<number>> {
  const seen = new Set<number>();
  while (!signal.aborted) {
    const names = await readdir(folder).catch(() => []);
    seen.add(names.length);
    await sleep(0);
  }
  return seen;
}

test('the output folder appears whole: a reader never sees one that lacks a part', async () => {
  const folder = temporaryFolder();
  const outputFolder = join(folder, `output-${runs}`);
  const running = countWords(folder, randomText(30_000, 5000), { partitions: 40 });
  const finished = new AbortController();
  const watching = partsSeenUntil(finished.signal, outputFolder);
  await running;
  finished.abort();
  const seen = await watching;
  assert.deepEqual(
    [...seen].filter((parts) => parts !== 0 && parts !== 40),
    [],
  );
  assert.ok((await stat(outputFolder)).isDirectory());
});

describe('a pool', () => {
  test('leaves no process running, can be disposed of twice, and takes no more tasks then', async () => {
    const folder = temporaryFolder();
    const brief = await openWorkerPool({ workers: 3 });
    const { processIds } = brief;
    assert.equal(processIds.length, 3);
    await brief[Symbol.asyncDispose]();
    await brief[Symbol.asyncDispose]();
    for (const id of processIds) assert.throws(() => process.kill(id, 0), { code: 'ESRCH' });
    await writeFile(join(folder, 'input'), 'a\n');
    const options = {
      inputs: [{ path: join(folder, 'input') }],
      outputFolder: join(folder, 'output'),
    };
    const job = { url: WORD_COUNT, parameters: { combine: false } };
    await assert.rejects(runJob(brief, { job, ...options }), failsWith('POOL_CLOSED', /disposed/));
  });

  test('fails a task that cannot be sent to a worker, and goes on with others', async () => {
    const folder = temporaryFolder();
    const inputs = [{ path: join(folder, 'input') }];
    await writeFile(join(folder, 'input'), 'a\n');
    const run = (name: string, parameters: object): Promise<JobReport> =>
      runJob(pool, {
        job: { url: WORD_COUNT, parameters },
        inputs,
        outputFolder: join(folder, name),
      });
    const unsendable = run('bad', { combine: () => false });
    await assert.rejects(unsendable, failsWith('TASK_FAILED', /could not be cloned/));
    assert.equal((await run('good', { combine: false })).groups, 1);
  });

  test('that is disposed of in the middle of a job ends its processes, and the job with an error', async () => {
    const folder = temporaryFolder();
    await writeFile(join(folder, 'input'), randomText(400_000, 1000));
    const brief = await openWorkerPool({ workers: 2 });
    const { processIds } = brief;
    const running = runJob(brief, {
      job: { url: WORD_COUNT, parameters: { combine: false } },
      inputs: [{ path: join(folder, 'input') }],
      outputFolder: join(folder, 'output'),
      splitBytes: 100_000,
    });
    const failed = assert.rejects(running, failsWith('POOL_CLOSED', /disposed/));
    await sleep(30);
    await brief[Symbol.asyncDispose]();
    await failed;
    for (const id of processIds) assert.throws(() => process.kill(id, 0), { code: 'ESRCH' });
    assert.deepEqual(await readdir(folder), ['input']);
  });

  test('ends with its process, even if that is killed with SIGKILL', async () => {
    const program = `
      const { openWorkerPool } = await import(process.argv[1]);
      const pool = await openWorkerPool({ workers: 2 });
      console.log(JSON.stringify(pool.processIds));
      setInterval(() => {}, 1000);`;
    const frontDoor = new URL('index.ts', import.meta.url).href;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program, frontDoor]);
    const [printed] = (await once(parent.stdout, 'data')) as [Buffer];
    parent.kill('SIGKILL');
    const processIds = JSON.parse(printed.toString()) as number[];
    assert.equal(processIds.length, 2);
    for (const id of processIds) await waitForEnd(id);
  });
});

/** Resolves when there is no such process; the runner's time limit says if it takes too long. */
async function waitForEnd(processId: number): Promise<void> {
  for (;;) {
    try {
      process.kill(processId, 0);
    } catch {
      return;
    }
    await sleep(10);
  }
}
